//! What a batch that was decided before its transaction writes, as parts of one statement: all of it guarded, none of it read
//! before.

use super::owners::Owners;
use super::{Committed, Ids, allocations, committed_by, consumers, inventories, resource_providers};
use crate::db::dialect::Precision;
use crate::db::together::Part;
use crate::model::state::State;

/// The parts in the order in which locks are taken everywhere: consumers before providers. `owners`: of all consumers, who
/// are new and claim something.
pub fn plan(precision: Precision, state: &State, owners: &Owners) -> (Vec<Part>, Committed) {
    let mut parts = Vec::new();
    let claims = !state.consumers.is_empty();
    if claims {
        parts.push(consumers::inserted(state, owners));
        parts.push(allocations::nothing_held(state));
    }
    parts.extend(inventories::called_so(state));
    parts.push(resource_providers::moved(state));
    if claims {
        parts.push(allocations::inserted(state));
    }
    parts.extend(inventories::rewritten(state));
    (parts, committed_by(precision, state, &Ids::default()))
}
