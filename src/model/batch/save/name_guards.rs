//! Guards of the names behind the ids in a batch's rows: the classes and owners.
//!
//! Naively, an id from an earlier lookup stands for its name for ever. But a foreign writer may rename a class, or
//! delete projects without consumers, and a database may reuse an id. No foreign key ties an allocation to its class or
//! a consumer to its project, and no generation moves. The claim would be written for a different class or tenant.

use std::collections::BTreeSet;

use super::consumers::new_consumers;
use super::owner_ids::{KINDS, Kind, OwnerIds};
use crate::db::engines::guarded::GuardedWrite;
use crate::db::engines::rows::{CountMatches, Value};
use crate::db::statements::names;
use crate::model::batch::state::State;
use crate::model::standard::FIRST_CUSTOM_CLASS;
use crate::search::ClassId;

/// Guard: the classes of the written inventories and allocations have the same names as in the decision. Standard
/// classes are never renamed.
pub fn class_names(state: &State) -> GuardedWrite {
    let allocated = state.consumers.values().filter(|entry| entry.replaced);
    let allocated = allocated.flat_map(|entry| entry.allocations.iter().map(|(_, class, _)| *class));
    let inventories = state
        .providers
        .values()
        .flat_map(|entry| entry.rewritten.iter().copied());
    let custom: BTreeSet<ClassId> = allocated
        .chain(inventories)
        .filter(|class| class.0 >= FIRST_CUSTOM_CLASS)
        .collect();
    let named = custom
        .iter()
        .map(|class| (class.0, state.class_name(*class).to_string()));
    assert_named(names::RESOURCE_CLASSES, named.collect())
}

/// Guard: the ids of projects, users and consumer types have the names in the rows of a plan's new consumers.
pub fn owner_names(state: &State, owner_ids: &OwnerIds) -> [GuardedWrite; 3] {
    KINDS.map(|kind| {
        let table = match kind {
            Kind::Project => names::PROJECTS,
            Kind::User => names::USERS,
            Kind::ConsumerType => names::CONSUMER_TYPES,
        };
        let named = |row| Some((owner_ids.id(kind, row)?, kind.name(row)?.to_owned()));
        assert_named(table, new_consumers(state).filter_map(|(_, row)| named(row)).collect())
    })
}

/// Guard: each id has its name.
fn assert_named(rows: CountMatches, named: BTreeSet<(i32, String)>) -> GuardedWrite {
    let row = |(id, name): (i32, String)| vec![Value::Int(id.into()), Value::Text(name)];
    GuardedWrite::AssertMatches(rows, named.into_iter().map(row).collect())
}
