//! What claims of consumers that are all new write, as parts of one statement: all of it guarded, none of it read before.

use super::owners::Owners;
use super::{Committed, Ids, allocations, committed, consumers, resource_providers};
use crate::db::together::Part;
use crate::model::state::State;

/// The parts in the order in which locks are taken everywhere: consumers before providers. `owners`: of all consumers.
pub fn plan(state: &State, owners: &Owners) -> (Vec<Part>, Committed) {
    let parts = vec![
        consumers::inserted(state, owners),
        allocations::nothing_held(state),
        resource_providers::moved(state),
        allocations::inserted(state),
    ];
    (parts, committed(state, &Ids::default()))
}
