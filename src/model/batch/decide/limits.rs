//! The rule of normal limits: the class exists, and the caller names the generation of the present limit.

use crate::error::{Error, Result};
use crate::model::batch::state::State;
use crate::model::limits::{Limit, LimitRow, Set};

/// `PUT /v1/limits/{class}`.
///
/// # Errors
/// [`Error::ClassNotFound`], [`Error::StaleLimitGeneration`].
pub fn set(state: &mut State, set: &Set) -> Result<Limit> {
    if state.class_id(&set.class).is_none() {
        return Err(Error::ClassNotFound {
            name: set.class.clone(),
        });
    }
    let row = state.limit(&set.class);
    let current = row.map(|row| row.generation);
    if current != set.generation {
        let text = |generation: Option<i64>| generation.map_or_else(|| "null".to_owned(), |it| it.to_string());
        return Err(Error::StaleLimitGeneration {
            class: set.class.clone(),
            actual: text(current),
            given: text(set.generation),
        });
    }
    // An equal limit changes nothing.
    if let Some(row) = row.filter(|row| row.normal == set.normal) {
        return Ok(Limit::new(&set.class, Some(row)));
    }
    let new = LimitRow {
        generation: current.map_or(1, |generation| generation + 1),
        normal: set.normal,
    };
    state.set_limit(&set.class, new);
    Ok(Limit::new(&set.class, Some(new)))
}
