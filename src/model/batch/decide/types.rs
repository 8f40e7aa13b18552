//! The rules of types: the caller names the generation of the present type. A type may be deleted while providers have
//! the type, because a type without a row is a type without properties.

use super::Rules;
use crate::error::{Error, Result};
use crate::model::batch::command::Write;
use crate::model::batch::footprint::Footprint;
use crate::model::batch::state::State;
use crate::model::types::{Delete, Set, ShownType, TypeRow, not_found};

impl Write for Set {
    type Answer = ShownType;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.own.entry::<TypeRow>(&self.name);
    }

    /// # Errors
    /// [`Error::StaleGeneration`].
    fn decide(&self, state: &mut State, _: &Rules) -> Result<ShownType> {
        let row = state.own.tables.row::<TypeRow>(&self.name).cloned();
        let current = row.as_ref().map(|row| row.generation);
        if current != self.generation {
            return Err(stale(&self.name, current, self.generation));
        }
        // Equal properties change nothing.
        if let Some(row) = row.filter(|row| row.properties == self.properties) {
            return Ok(row.shown(&self.name));
        }
        let new = TypeRow {
            generation: current.map_or(1, |generation| generation + 1),
            properties: self.properties.clone(),
        };
        state.own.tables.entry(&self.name).now = Some(new.clone());
        Ok(new.shown(&self.name))
    }
}

impl Write for Delete {
    type Answer = ();

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.own.entry::<TypeRow>(&self.name);
    }

    /// # Errors
    /// [`Error::NotFound`], [`Error::StaleGeneration`].
    fn decide(&self, state: &mut State, _: &Rules) -> Result<()> {
        let row = state.own.tables.row::<TypeRow>(&self.name);
        let current = row.ok_or_else(|| not_found(&self.name))?.generation;
        if self.generation.is_some_and(|known| known != current) {
            return Err(stale(&self.name, Some(current), self.generation));
        }
        state.own.tables.entry::<TypeRow>(&self.name).now = None;
        Ok(())
    }
}

fn stale(name: &str, current: Option<i64>, known: Option<i64>) -> Error {
    Error::stale_generation(format!("The type {name}"), current, known)
}
