//! The lock set: the providers that a batch locks, because other processes update them at the moment or because its
//! optimistic attempt met a conflict.
//!
//! Naively, the batch would be planned optimistically again. On a contended provider such plans fail again and again,
//! because another process commits between the decision and the write. So the plan that `db::writer` commits is made
//! under these locks.

use std::collections::{BTreeSet, HashSet};

use super::batch_rows;
use super::command::Command;
use super::footprint::Footprint;
use crate::db::{DbConnection, DbResult};
use crate::model::snapshot::store::SnapshotStore;
use crate::search::ProviderId;

/// The lock set that was chosen last.
#[derive(Default)]
pub struct LockSet {
    /// The providers that were contended when the set was chosen.
    contended: HashSet<ProviderId>,
    /// The providers to lock.
    providers: BTreeSet<ProviderId>,
}

impl LockSet {
    /// Chooses which of the providers that the commands touch are locked: the contended ones, or after a conflict all.
    /// Returns whether there is anything to lock.
    pub fn choose(&mut self, store: &SnapshotStore, commands: &[&Command], after_conflict: bool) -> bool {
        self.contended = store.contended_providers();
        self.providers.clear();
        if after_conflict || !self.contended.is_empty() {
            let is_included = |id: &ProviderId| after_conflict || self.contended.contains(id);
            self.providers = touched(store, commands).into_iter().filter(is_included).collect();
        }
        !self.providers.is_empty()
    }

    /// Locks the rows of the set, inside the transaction.
    pub fn lock(&self, conn: &mut DbConnection) -> DbResult<()> {
        let ids: Vec<i32> = self.providers.iter().map(|id| id.0).collect();
        batch_rows::lock_providers(conn, &ids)
    }

    /// Whether every contended provider that the command touches is in the set.
    pub fn covers(&self, store: &SnapshotStore, command: &Command) -> bool {
        // A provider that is not contended needs no lock.
        let is_covered = |id: &ProviderId| !self.contended.contains(id) || self.providers.contains(id);
        touched(store, &[command]).iter().all(is_covered)
    }
}

/// The providers that the commands touch and that the snapshot has.
fn touched(store: &SnapshotStore, commands: &[&Command]) -> Vec<ProviderId> {
    let (newest, footprint) = (store.newest(), Footprint::of(commands));
    let slots = footprint.providers.iter().filter_map(|uuid| newest.by_uuid(uuid));
    slots.map(|slot| newest.id(slot)).collect()
}
