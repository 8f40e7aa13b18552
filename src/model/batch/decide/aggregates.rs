//! The rules of aggregates. Naming an aggregate creates the aggregate. From 1.19 a request names the provider's
//! generation: the generation is checked, and moves with every request.

use super::Rules;
use super::resource_providers::find;
use crate::error::{Error, Result};
use crate::model::aggregates::{ProviderAggregates, Replace};
use crate::model::batch::command::{Load, Write};
use crate::model::batch::footprint::{Footprint, Reach};
use crate::model::batch::state::State;

/// `PUT …/aggregates`.
impl Write for Replace {
    type Answer = ProviderAggregates;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.providers.insert(&self.provider);
        footprint.aggregates.extend(self.aggregates.iter().map(String::as_str));
    }

    fn load(&self) -> Load {
        Load::of(self.aggregates.len(), Reach::All)
    }

    fn decide(&self, state: &mut State, _: &Rules) -> Result<ProviderAggregates> {
        let id = find(state, &self.provider)?;
        let generation = state.provider(id).map_or(0, |row| row.generation);
        if self.generation.is_some_and(|expected| expected != generation) {
            return Err(Error::StaleProviderGeneration);
        }
        let moves = state.check_moves(self.generation.map(|_| id).into_iter().collect())?;
        let aggregates = self
            .aggregates
            .iter()
            .map(|uuid| state.ensure_aggregate(uuid))
            .collect();
        state.edit(id, |row| row.aggregates = aggregates);
        state.move_generations(moves);
        Ok(ProviderAggregates {
            generation: state.provider(id).map_or(generation, |row| row.generation),
            aggregates: self.aggregates.iter().map(|uuid| uuid.as_str().into()).collect(),
        })
    }
}
