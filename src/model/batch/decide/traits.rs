//! The rules of traits. A provider's generation moves only if the set of traits changes.

use std::collections::BTreeSet;

use super::Rules;
use super::resource_providers::find;
use crate::error::{Error, Result};
use crate::model::Moment;
use crate::model::batch::command::{Ensured, Load, Write};
use crate::model::batch::footprint::{Footprint, Reach};
use crate::model::batch::state::State;
use crate::model::traits::{Clear, Delete, Ensure, ProviderTraits, Replace, Trait};
use crate::mutants::{self, Mutant};
use crate::search::{ProviderId, TraitId};

/// The prefix of custom traits. All traits without the prefix are standard (os-traits).
const CUSTOM_PREFIX: &str = "CUSTOM_";

/// `PUT …/traits`.
impl Write for Replace {
    type Answer = ProviderTraits;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.providers.insert(&self.provider);
        footprint.traits.extend(self.traits.iter().map(String::as_str));
    }

    fn load(&self) -> Load {
        Load::of(self.traits.len(), Reach::All)
    }

    fn decide(&self, state: &mut State, _: &Rules) -> Result<ProviderTraits> {
        let id = find(state, &self.provider)?;
        if state.provider(id).is_some_and(|row| row.generation != self.generation) {
            return Err(Error::StaleProviderGeneration);
        }
        replace(state, id, &self.traits)?;
        let requested: BTreeSet<&str> = self.traits.iter().map(String::as_str).collect();
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
}

/// `DELETE …/traits`.
impl Write for Clear {
    type Answer = ();

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.providers.insert(&self.provider);
    }

    fn decide(&self, state: &mut State, _: &Rules) -> Result<()> {
        let id = find(state, &self.provider)?;
        set(state, id, BTreeSet::new())
    }
}

/// Replaces the traits of a provider.
///
/// # Errors
/// [`Error::UnknownTraits`].
pub fn replace(state: &mut State, id: ProviderId, names: &[String]) -> Result<()> {
    let requested: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let unknown = requested.iter().copied().filter(|name| state.trait_id(name).is_none());
    let unknown: Vec<&str> = unknown.collect();
    if !unknown.is_empty() {
        return Err(Error::UnknownTraits {
            names: unknown.join(", "),
        });
    }
    let ids = requested.iter().filter_map(|name| state.trait_id(name)).collect();
    set(state, id, ids)
}

/// Sets the provider's traits, and moves the generation if the traits differ.
fn set(state: &mut State, id: ProviderId, traits: BTreeSet<TraitId>) -> Result<()> {
    if state.provider(id).is_some_and(|row| row.traits != traits) {
        state.edit_and_move(id, |row| row.traits = traits)?;
    }
    Ok(())
}

/// `PUT /traits/{name}`: creates the trait unless the trait exists.
impl Write for Ensure {
    type Answer = Ensured;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.traits.insert(&self.name);
    }

    fn decide(&self, state: &mut State, _: &Rules) -> Result<Ensured> {
        mutants::panic_as(Mutant::PanicInDecision);
        let created = state.trait_id(&self.name).is_none();
        if created {
            state.add_trait(&self.name);
        }
        Ok(Ensured {
            created,
            since: created_at(state, &self.name),
        })
    }
}

fn created_at(state: &State, name: &str) -> Moment {
    state.trait_times.get(name).copied().unwrap_or(state.now)
}

/// `DELETE /traits/{name}`.
impl Write for Delete {
    type Answer = ();

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.removed_traits.push(&self.name);
    }

    fn decide(&self, state: &mut State, _: &Rules) -> Result<()> {
        let name = &self.name;
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
}
