//! Which providers a batch locks before it is planned: the contended ones, which other processes update at the moment.
//!
//! Planning optimistically at a contended provider fails again and again, because another process commits between the
//! decision and the write. `db::writer` therefore locks the set first and plans afterwards.

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
    /// The providers that were contended when it was chosen.
    contended: HashSet<ProviderId>,
    /// The providers to lock.
    providers: BTreeSet<ProviderId>,
}

impl LockSet {
    /// Chooses the set for the commands: the contended providers among those that they touch, or all of those after a
    /// `conflict`. Returns whether there is anything to lock.
    pub fn choose(&mut self, store: &SnapshotStore, commands: &[&Command], conflict: bool) -> bool {
        self.contended = store.contended_providers();
        self.providers.clear();
        if conflict || !self.contended.is_empty() {
            let is_locked = |id: &ProviderId| conflict || self.contended.contains(id);
            self.providers = touched(store, commands).into_iter().filter(is_locked).collect();
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
        let is_free = |id: &ProviderId| self.providers.contains(id) || !self.contended.contains(id);
        touched(store, &[command]).iter().all(is_free)
    }
}

/// The providers that the commands touch and that the snapshot has.
fn touched(store: &SnapshotStore, commands: &[&Command]) -> Vec<ProviderId> {
    let (newest, footprint) = (store.newest(), Footprint::of(commands));
    let slots = footprint.providers.iter().filter_map(|uuid| newest.by_uuid(uuid));
    slots.map(|slot| newest.id(slot)).collect()
}
