//! The writes of a plan, which is a batch that was decided before BEGIN. Nothing is read, and every write is guarded.

use super::owner_ids::OwnerIds;
use super::{Committed, NewRowIds, allocations, committed_change, consumers, inventories, resource_providers};
use crate::db::engines::dialect::Precision;
use crate::db::engines::guarded::GuardedWrite;
use crate::model::batch::state::State;

/// The writes, in the order in which all writers lock: consumers before providers. All consumers of `state` are new
/// and get allocations, and `owner_ids` has the ids of all their names.
pub fn plan(precision: Precision, state: &State, owner_ids: &OwnerIds) -> (Vec<GuardedWrite>, Committed) {
    let mut writes = Vec::new();
    let has_claims = !state.consumers.is_empty();
    if has_claims {
        writes.push(consumers::planned_insert(state, owner_ids));
        writes.push(allocations::assert_no_allocations(state));
    }
    writes.extend(inventories::assert_class_names(state));
    writes.push(resource_providers::planned_generations(state));
    if has_claims {
        writes.push(allocations::planned_insert(state));
    }
    writes.extend(inventories::planned_update(state));
    (writes, committed_change(precision, state, &NewRowIds::default()))
}
