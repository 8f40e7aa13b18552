//! The rules of declared domains: the caller names the generation of the present row.
//!
//! No generation of a provider moves, although hosts change domains. A placement of the same moment may go by the old
//! domains, and is shown as a violation.

use super::Rules;
use crate::error::{Error, Result};
use crate::model::batch::command::Write;
use crate::model::batch::footprint::Footprint;
use crate::model::batch::state::State;
use crate::model::domains::{DeclaredDomain, DeclaredKey, Delete, DomainRow, Set};
use crate::search::Domain;

impl Write for Set {
    type Answer = DeclaredDomain;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.own.entry::<DomainRow>(self.key.as_str());
    }

    /// # Errors
    /// [`Error::StaleGeneration`].
    fn decide(&self, state: &mut State, _: &Rules) -> Result<DeclaredDomain> {
        let row = state.own.tables.row::<DomainRow>(self.key.as_str()).cloned();
        let current = row.as_ref().map(|row| row.generation);
        if current != self.generation {
            return Err(stale(&self.key, current, self.generation));
        }
        let domain = self.key.domain();
        // An equal aggregate changes nothing.
        if let Some(row) = row.filter(|row| row.aggregate == self.aggregate) {
            return Ok(DeclaredDomain { domain, row });
        }
        let row = DomainRow {
            generation: current.map_or(1, |generation| generation + 1),
            aggregate: self.aggregate.clone(),
        };
        state.own.tables.entry(self.key.as_str()).now = Some(row.clone());
        Ok(DeclaredDomain { domain, row })
    }
}

impl Write for Delete {
    type Answer = ();

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.own.entry::<DomainRow>(self.key.as_str());
    }

    /// # Errors
    /// [`Error::NotFound`], [`Error::StaleGeneration`].
    fn decide(&self, state: &mut State, _: &Rules) -> Result<()> {
        let row = state.own.tables.row::<DomainRow>(self.key.as_str());
        let current = row.ok_or_else(|| self.key.not_found())?.generation;
        if self.generation.is_some_and(|known| known != current) {
            return Err(stale(&self.key, Some(current), self.generation));
        }
        state.own.tables.entry::<DomainRow>(self.key.as_str()).now = None;
        Ok(())
    }
}

fn stale(key: &DeclaredKey, current: Option<i64>, known: Option<i64>) -> Error {
    let Domain { dimension, path } = key.domain();
    Error::stale_generation(format!("The domain {path} of {dimension}"), current, known)
}
