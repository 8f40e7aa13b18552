//! The rules of traits. A provider's generation moves only if the set of traits changes.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::model::Moment;
use crate::model::batch::command::{Answer, Ensured};
use crate::model::batch::state::State;
use crate::model::traits::{Clear, Delete, Ensure, ProviderTraits, Replace, Trait};
use crate::mutants::{self, Mutant};
use crate::search::{ProviderId, TraitId};

/// The prefix of custom traits. All traits without the prefix are standard (os-traits).
const CUSTOM_PREFIX: &str = "CUSTOM_";

/// `PUT …/traits`.
pub fn replace(state: &mut State, replace: &Replace) -> Result<ProviderTraits> {
    let id = super::resource_providers::find(state, &replace.provider)?;
    if state
        .provider(id)
        .is_some_and(|row| row.generation != replace.generation)
    {
        return Err(Error::StaleProviderGeneration);
    }
    let requested: BTreeSet<&str> = replace.traits.iter().map(String::as_str).collect();
    let unknown: Vec<&str> = requested
        .iter()
        .copied()
        .filter(|name| state.trait_id(name).is_none())
        .collect();
    if !unknown.is_empty() {
        return Err(Error::UnknownTraits {
            names: unknown.join(", "),
        });
    }
    let ids = requested.iter().filter_map(|name| state.trait_id(name)).collect();
    set(state, id, ids)?;
    let traits = requested
        .iter()
        .map(|name| Trait {
            name: (*name).into(),
            modified: created_at(state, name),
        })
        .collect();
    let generation = state.provider(id).map_or(0, |row| row.generation);
    Ok(ProviderTraits { generation, traits })
}

/// `DELETE …/traits`.
pub fn clear(state: &mut State, clear: &Clear) -> Result<()> {
    let id = super::resource_providers::find(state, &clear.provider)?;
    set(state, id, BTreeSet::new())
}

/// Sets the provider's traits, and moves the generation if the traits differ.
fn set(state: &mut State, id: ProviderId, traits: BTreeSet<TraitId>) -> Result<()> {
    if state.provider(id).is_some_and(|row| row.traits != traits) {
        let moves = state.check_moves(vec![id])?;
        state.edit(id, |row| row.traits = traits);
        state.move_generations(moves);
    }
    Ok(())
}

/// `PUT /traits/{name}`: creates the trait unless the trait exists.
pub fn ensure(state: &mut State, ensure: &Ensure) -> Answer {
    mutants::panic_as(Mutant::PanicInDecision);
    let created = state.trait_id(&ensure.name).is_none();
    if created {
        state.add_trait(&ensure.name);
    }
    Answer::Ensured(Ensured {
        created,
        since: created_at(state, &ensure.name),
    })
}

fn created_at(state: &State, name: &str) -> Moment {
    state.trait_times.get(name).copied().unwrap_or(state.now)
}

/// `DELETE /traits/{name}`.
pub fn delete(state: &mut State, delete: &Delete) -> Result<()> {
    let name = &delete.name;
    let id = state
        .trait_id(name)
        .ok_or_else(|| Error::TraitNotFound { name: name.clone() })?;
    if !name.starts_with(CUSTOM_PREFIX) {
        return Err(Error::CannotDeleteStandardTrait { name: name.clone() });
    }
    if state.trait_in_use(id) {
        return Err(Error::TraitInUse { name: name.clone() });
    }
    state.delete_trait(id);
    Ok(())
}
