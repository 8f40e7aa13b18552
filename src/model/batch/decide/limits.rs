//! The rule of normal limits: the class exists, and the caller names the generation of the present limit.

use super::Rules;
use crate::error::{Error, Result};
use crate::model::batch::command::Write;
use crate::model::batch::footprint::Footprint;
use crate::model::batch::state::State;
use crate::model::limits::{Limit, LimitRow, Set};
use crate::search::{ClassId, NormalLimit};

impl Write for Set {
    type Answer = Limit;

    fn add_to<'a>(&'a self, footprint: &mut Footprint<'a>) {
        footprint.own.entry::<LimitRow>(&self.class);
    }

    /// # Errors
    /// [`Error::ClassNotFound`], [`Error::StaleGeneration`].
    fn decide(&self, state: &mut State, _: &Rules) -> Result<Limit> {
        if state.class_id(&self.class).is_none() {
            return Err(Error::ClassNotFound {
                name: self.class.clone(),
            });
        }
        let row = state.own.tables.row::<LimitRow>(&self.class).copied();
        let current = row.map(|row| row.generation);
        if current != self.generation {
            let noun = format!("The normal limit of {}", self.class);
            return Err(Error::stale_generation(noun, current, self.generation));
        }
        // An equal limit changes nothing.
        if let Some(row) = row.filter(|row| row.normal == self.normal) {
            return Ok(Limit::new(&self.class, Some(row)));
        }
        let new = LimitRow {
            generation: current.map_or(1, |generation| generation + 1),
            normal: self.normal,
        };
        state.own.tables.entry(&self.class).now = Some(new);
        Ok(Limit::new(&self.class, Some(new)))
    }
}

/// Whether any class may have a normal limit.
pub fn has_any(state: &State) -> bool {
    let named = state.own.tables.entries::<LimitRow>();
    named.is_some_and(|limits| !limits.is_empty()) || state.base.catalog().has_normal_limits()
}

/// The normal limit of a class now.
pub fn of_class(state: &State, class: ClassId) -> Option<NormalLimit> {
    let name = state.class_name(class);
    let named = state.own.tables.entries::<LimitRow>();
    match named.and_then(|limits| limits.get(&*name)) {
        Some(entry) => entry.now.and_then(|row| row.normal),
        None => state.base.catalog().normal_limit(&name),
    }
}
