//! The rules of traits. A provider's generation moves only where its set of traits changes.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::model::Moment;
use crate::model::command::{Answer, Ensured};
use crate::model::state::State;
use crate::model::traits::{Clear, Delete, Ensure, ProviderTraits, Replace, Trait};
use crate::search::{ProviderId, TraitId};

/// Custom traits begin so; all others are standard ones (os-traits).
const CUSTOM: &str = "CUSTOM_";

pub fn replace(state: &mut State, replace: &Replace) -> Result<ProviderTraits> {
    let id = super::resource_providers::find(state, &replace.provider)?;
    if state
        .provider(id)
        .is_some_and(|row| row.generation != replace.generation)
    {
        return Err(Error::StaleProviderGeneration);
    }
    let wanted: BTreeSet<&str> = replace.traits.iter().map(String::as_str).collect();
    let unknown: Vec<&str> = wanted
        .iter()
        .copied()
        .filter(|name| state.trait_id(name).is_none())
        .collect();
    if !unknown.is_empty() {
        return Err(Error::UnknownTraits {
            names: unknown.join(", "),
        });
    }
    let ids = wanted.iter().filter_map(|name| state.trait_id(name)).collect();
    set(state, id, ids);
    let traits = wanted
        .iter()
        .map(|name| Trait {
            name: (*name).into(),
            modified: since(state, name),
        })
        .collect();
    let generation = state.provider(id).map_or(0, |row| row.generation);
    Ok(ProviderTraits { generation, traits })
}

pub fn clear(state: &mut State, clear: &Clear) -> Result<()> {
    let id = super::resource_providers::find(state, &clear.provider)?;
    set(state, id, BTreeSet::new());
    Ok(())
}

fn set(state: &mut State, id: ProviderId, traits: BTreeSet<TraitId>) {
    if state.provider(id).is_some_and(|row| row.traits != traits) {
        state.edit(id, |row| row.traits = traits);
        state.move_generation(id);
    }
}

pub fn ensure(state: &mut State, ensure: &Ensure) -> Answer {
    let created = state.trait_id(&ensure.name).is_none();
    if created {
        state.add_trait(&ensure.name);
    }
    Answer::Ensured(Ensured {
        created,
        since: since(state, &ensure.name),
    })
}

/// Since when a trait is there.
fn since(state: &State, name: &str) -> Moment {
    state.trait_times.get(name).copied().unwrap_or(state.now)
}

pub fn delete(state: &mut State, delete: &Delete) -> Result<()> {
    let name = &delete.name;
    let id = state
        .trait_id(name)
        .ok_or_else(|| Error::TraitNotFound { name: name.clone() })?;
    if !name.starts_with(CUSTOM) {
        return Err(Error::CannotDeleteStandardTrait { name: name.clone() });
    }
    if state.trait_in_use(id) {
        return Err(Error::TraitInUse { name: name.clone() });
    }
    state.delete_trait(id);
    Ok(())
}
