//! Decides a batch in its transaction, on consumers that are read there, and writes the net effect.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Decider;
use crate::db::engines::dialect;
use crate::db::writer::Executed;
use crate::db::{DbConnection, DbResult, WriteError};
use crate::model::batch::base::{Base, is_shown};
use crate::model::batch::batch_rows::{self, RowAccess};
use crate::model::batch::command::Command;
use crate::model::batch::footprint::Footprint;
use crate::model::batch::own_rows::OwnRows;
use crate::model::batch::save::{OwnerIds, save};
use crate::model::batch::state::State;
use crate::model::snapshot::committed::Committed;
use crate::search::Snapshot;

/// The origin of the providers in a batch's state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum StateSource {
    Snapshot,
    Database,
}

impl Decider {
    /// The state for `run`: consumers always from the database, providers from `source`.
    fn load_state(&self, conn: &mut DbConnection, footprint: &Footprint<'_>, source: StateSource) -> DbResult<State> {
        if !footprint.removed_classes.is_empty() {
            // No constraint ties an inventory to its class: no writer may add an inventory while the class is removed.
            dialect::hold_writers(conn)?;
        }
        let newest = self.store.newest();
        // If the snapshot is invalid, the ids of classes may have changed as well.
        let known = self.store.may_decide().then(|| newest.catalog());
        let now = dialect::row_time(conn);
        let consumers = batch_rows::consumers(conn, footprint, RowAccess::Locked { now })?;
        #[cfg(feature = "mutants")]
        let consumers = self.earlier_reads.replace_allocations(consumers);
        let base = match source {
            StateSource::Snapshot => Base::Snapshot(newest),
            StateSource::Database => {
                let rows = batch_rows::providers(conn, footprint, &consumers, known, RowAccess::Locked { now })?;
                Base::Rows(Arc::new(rows))
            }
        };
        #[cfg(feature = "mutants")]
        let base = self.earlier_reads.replace_usage(base);
        let providers_max = base.provider_count();
        let mut own = OwnRows::read(conn, footprint, &base)?;
        own.read_answers(conn, footprint)?;
        let mut state = State::new(base, consumers, own, now.and_utc());
        state.names_first = dialect::checks_names_first(conn);
        state.class_users = batch_rows::class_users(conn, footprint, providers_max)?;
        state.trait_users = batch_rows::trait_users(conn, footprint, providers_max)?;
        state.trait_times = batch_rows::trait_times(conn, footprint)?;
        Ok(state)
    }

    /// Decides the commands, and writes the changes of the granted commands. A dry run is decided on the same locked
    /// rows, and writes nothing.
    ///
    /// A command that is refused on the snapshot is left out, because the snapshot may be out of date. After a failed
    /// guard the writer must roll back first, because statements have been written.
    pub(super) fn decide_and_save(
        &mut self,
        conn: &mut DbConnection,
        commands: &[&Command],
        footprint: &Footprint<'_>,
        held: Arc<BTreeSet<String>>,
        (source, is_dry_run): (StateSource, bool),
    ) -> std::result::Result<Executed<Decider>, WriteError> {
        let mut state = self.load_state(conn, footprint, source)?;
        state.held = held;
        let stamp = self.store.stamp();
        let decide = |command: &&Command| self.decide(&mut state, &stamp, command, source);
        let decisions = commands.iter().map(decide).collect();
        let mut change = if is_dry_run { None } else { save(conn, &state)? };
        if source == StateSource::Database && change.is_none() {
            let newest = self.store.newest();
            self.note_differing(&newest, state.differing_from(&newest, footprint));
            // As below. The state has no names of refused consumers, so all names are dropped.
            self.owner_ids = OwnerIds::default();
        } else if source == StateSource::Database {
            // A plan of these commands may have found a different name for an id.
            let rows = state.consumers.values().filter_map(|entry| entry.now.as_ref());
            self.owner_ids.forget(rows);
            if let Some(committed) = &mut change {
                // Read before the snapshot, which shows at least these revisions.
                let shown = self.store.revisions();
                let differs = reload_foreign_changes(&self.store.newest(), &state, committed);
                committed.differs_from = (differs && !self.store.is_invalid()).then_some(shown);
            }
        }
        Ok(Executed { decisions, change })
    }
}

/// Marks for reload every provider whose row differs from the snapshot: a peer's commit is not applied yet, or a
/// foreign writer recorded no delta. A delta of this batch must not be added to an outdated row. Returns whether a row
/// differs by more than the time.
fn reload_foreign_changes(snapshot: &Snapshot, state: &State, committed: &mut Committed) -> bool {
    let (mut changed, mut differs) = (BTreeSet::new(), false);
    for (id, entry) in &state.providers {
        let Some(base) = &entry.base else { continue };
        let snapshot_row = snapshot.by_id(*id).map(|slot| snapshot.row(slot));
        if snapshot_row.as_ref() != Some(base) && entry.now.is_some() {
            changed.insert(*id);
            differs |= !is_shown(snapshot, base);
        }
    }
    committed
        .rewritten
        .retain(|rewritten| !changed.contains(&rewritten.delta.provider));
    committed.reload.extend(changed);
    committed
        .deltas
        .retain(|delta| !committed.reload.contains(&delta.provider));
    differs
}
