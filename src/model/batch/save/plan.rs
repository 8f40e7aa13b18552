//! The writes of a plan, which is a batch decided before BEGIN. Nothing is read, and every write is guarded.

use super::owner_ids::OwnerIds;
use super::{
    NewRowIds, allocations, committed_change, consumers, inventories, name_guards, resource_providers, workloads,
};
use crate::db::engines::dialect::Precision;
use crate::db::engines::guarded::GuardedWrite;
use crate::model::batch::state::State;
use crate::model::claims::memory;
use crate::model::snapshot::committed::Committed;

/// The writes, in the order in which all writers lock: consumers before providers. All consumers of `state` are new and
/// get allocations, all workloads are new, and `owner_ids` has the ids of all names.
pub fn plan(precision: Precision, state: &State, owner_ids: &OwnerIds) -> (Vec<GuardedWrite>, Committed) {
    let ids = NewRowIds::default();
    let mut writes = Vec::from(name_guards::owner_names(state, owner_ids));
    let [workloads, replicas] = workloads::insert(&state.own.workloads);
    writes.extend([
        consumers::insert(consumers::new_consumers(state), owner_ids),
        allocations::assert_no_allocations(state),
        name_guards::class_names(state),
        resource_providers::move_generations(state),
        workloads,
        replicas,
        allocations::insert(allocations::new_allocations(state), &ids),
        inventories::update(state),
        memory::insert(&state.own.answers),
    ]);
    writes.retain(|write| !write.is_empty());
    (writes, committed_change(precision, state, &ids))
}
