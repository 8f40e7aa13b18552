//! The rules of aggregates. Naming an aggregate creates the aggregate. From 1.19 a request names the provider's
//! generation: the generation is checked, and moves with every request.

use std::collections::BTreeSet;

use crate::error::{Error, Result};
use crate::model::aggregates::{ProviderAggregates, Replace};
use crate::model::batch::state::State;

/// `PUT …/aggregates`.
pub fn replace(state: &mut State, replace: &Replace) -> Result<ProviderAggregates> {
    let id = super::resource_providers::find(state, &replace.provider)?;
    let generation = state.provider(id).map_or(0, |row| row.generation);
    if replace.generation.is_some_and(|expected| expected != generation) {
        return Err(Error::StaleProviderGeneration);
    }
    let moves = state.check_moves(replace.generation.map(|_| id).into_iter().collect())?;
    let aggregates: BTreeSet<_> = replace
        .aggregates
        .iter()
        .map(|uuid| state.ensure_aggregate(uuid))
        .collect();
    state.edit(id, |row| row.aggregates = aggregates);
    state.move_generations(moves);
    let generation = state.provider(id).map_or(generation, |row| row.generation);
    Ok(ProviderAggregates {
        generation,
        aggregates: replace.aggregates.iter().map(|uuid| uuid.as_str().into()).collect(),
    })
}
