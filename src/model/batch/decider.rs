//! Decides the commands of a batch in order, and writes their net effect. `db::writer` calls it.
//!
//! Naively, a batch begins a transaction, locks and reads every row that its commands name, decides, and writes. On a
//! server each of these steps is a round trip, and the locks are held during all of them.
//!
//! The snapshot already shows most of these rows. So decisions are optimistic: decide on the snapshot, and let a
//! guard on each written row check that the row still is what the snapshot showed.
//! - Some commands read nothing at all. They are planned before BEGIN (`plan`; `optimistic` says which).
//! - Other claims, and releases, read their consumers in the transaction, and take the providers from the snapshot
//!   (`run`).
//!
//! A guard exists only for rows that are written. So the batch is decided on rows that its own transaction reads
//! (`batch_rows`) in these cases:
//! - A command does more than claim or release, and was not planned.
//! - A guard failed, because another writer committed in between.
//! - The snapshot is invalid.
//!
//! A refusal writes nothing, so no guard would notice that the snapshot was out of date. A command that is refused on the
//! snapshot is left out of the batch, and verified outside of it (`refusals`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::base::Base;
use super::batch_rows::{self, RowAccess};
use super::collation::CollatedNames;
use super::command::{Answer, Command};
use super::decide::{Rules, decide};
use super::footprint::Footprint;
use super::optimistic;
use super::save::{self, Committed, OwnerIds, save};
use super::state::{ConsumerRow, State};
use crate::db::change_feed::Revisions;
use crate::db::engines::dialect::{self, Precision};
use crate::db::writer::{Batch, BatchChange, BatchPlan, Decision, Executed, HeldRows, LockSet};
use crate::db::{Commit, DbConnection, DbResult, WriteError, fault};
use crate::error::Error;
use crate::model::snapshot::follower::Follower;
use crate::model::snapshot::store::{IDLE_POLLS, SnapshotStore};
use crate::mutants::{self, Mutant};
use crate::search::{ProviderId, Snapshot};

/// Implements [`Batch`] for placet's commands. It lives on the writer's thread.
pub struct Decider {
    store: Arc<SnapshotStore>,
    /// Reloads an invalid snapshot in the background.
    follower: Follower,
    /// Whether the database belongs to this process alone, so that there is no change feed to follow.
    exclusive: bool,
    /// How many polls of the change feed in a row found no commit of a peer.
    idle_polls: u32,
    /// Ids of projects, users and consumer types that earlier plans looked up.
    owner_ids: OwnerIds,
    /// The last `dialect::data_version`.
    data_version: Option<i64>,
    rules: Rules,
    precision: Precision,
    #[cfg(feature = "mutants")]
    earlier_reads: super::mutant::EarlierReads,
}

/// Where the providers of a batch's state come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StateSource {
    Snapshot,
    Database,
}

impl Decider {
    /// `data_version` is that of the writer's connection before the store was loaded.
    pub fn new(
        store: Arc<SnapshotStore>,
        follower: Follower,
        exclusive: bool,
        data_version: Option<i64>,
        rules: Rules,
        precision: Precision,
    ) -> Decider {
        Decider {
            store,
            follower,
            exclusive,
            idle_polls: 0,
            owner_ids: OwnerIds::default(),
            data_version,
            rules,
            precision,
            #[cfg(feature = "mutants")]
            earlier_reads: Default::default(),
        }
    }

    /// Whether a mutant is active that falsifies what `follow` and `run` read. Plans would bypass it.
    fn mutant_forbids_plans(&self) -> bool {
        mutants::is(Mutant::UsageFirst) || mutants::is(Mutant::SubtractUnremoved)
    }

    /// Calls `follow`, which applies what peers committed, and counts the polls in a row that found no commit.
    fn count_idle_polls<T>(&mut self, follow: impl FnOnce(&SnapshotStore) -> DbResult<T>) -> DbResult<T> {
        let before = self.store.revisions();
        let followed = follow(&self.store)?;
        self.idle_polls = if self.store.revisions() == before {
            self.idle_polls.saturating_add(1)
        } else {
            0
        };
        Ok(followed)
    }

    /// Has the snapshot reloaded in the background if no decision may rest on it.
    fn wake_if_outdated(&self) {
        if !self.store.may_decide() {
            self.follower.wake();
        }
    }

    /// On SQLite, where no change feed is followed: notices that another program has committed.
    fn note_foreign_commits(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        let version = dialect::data_version(conn)?;
        if self.exclusive && version != self.data_version {
            self.store.note_foreign_commit();
        }
        self.data_version = version;
        Ok(())
    }

    /// The state that `run` decides on: consumers always from the database, providers from `source`.
    fn load_state(&self, conn: &mut DbConnection, footprint: &Footprint<'_>, source: StateSource) -> DbResult<State> {
        if !footprint.removed_classes.is_empty() {
            // No constraint ties an inventory to its class, so no writer may add one while the class is removed.
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
        let descriptions = batch_rows::descriptions(conn, footprint, &base)?;
        let standing = batch_rows::standing(conn, footprint, &base, &descriptions)?;
        let mut state = State::new(base, consumers, now.and_utc());
        state.names_first = dialect::checks_names_first(conn);
        state.folding = dialect::folding(conn);
        state.class_users = batch_rows::class_users(conn, footprint, providers_max)?;
        state.trait_users = batch_rows::trait_users(conn, footprint, providers_max)?;
        state.trait_times = batch_rows::trait_times(conn, footprint)?;
        state.descriptions = descriptions;
        state.standing = standing;
        state.answers = batch_rows::answers(conn, footprint)?;
        state.limits = batch_rows::limits(conn, footprint)?;
        (state.workloads, state.workload_names) = batch_rows::workloads(conn, footprint)?;
        Ok(state)
    }

    /// Decides the commands and writes what the granted ones change.
    ///
    /// A command that is refused on the snapshot is left out, because the snapshot may be out of date. A failed guard is
    /// different: statements were written by then, so the writer must roll back first.
    fn decide_and_save(
        &mut self,
        conn: &mut DbConnection,
        commands: &[&Command],
        footprint: &Footprint<'_>,
        source: StateSource,
    ) -> std::result::Result<Executed<Decider>, WriteError> {
        let mut state = self.load_state(conn, footprint, source)?;
        let stamp = self.store.stamp();
        let decisions = commands.iter().map(|command| {
            if command.is_outdated(&stamp) {
                return Decision::Unverified;
            }
            let decided = decide(&mut state, &self.rules, command);
            match (decided, source) {
                (Ok(answer), _) => Decision::Granted(answer),
                (Err(_), StateSource::Snapshot) => Decision::Unverified,
                (Err(refusal), StateSource::Database) => Decision::Refused(refusal),
            }
        });
        let decisions = decisions.collect();
        let mut change = save(conn, &state)?;
        if source == StateSource::Database {
            // A plan of these commands may have found that an id has another name.
            let rows = state.consumers.values().filter_map(|entry| entry.now.as_ref());
            self.owner_ids.forget(rows);
            if let Some(committed) = &mut change {
                reload_foreign_changes(&self.store.newest(), &state, committed);
            }
        }
        Ok(Executed { decisions, change })
    }

    /// A plan on the snapshot `base`. `find_owner_ids` completes the ids of the consumers' owners, and returns false if it
    /// cannot find all of them.
    ///
    /// The peers' revisions that the writer compares were read before `base`, and the stamp is read after it. So if both are
    /// as expected, no peer has committed between the search of a claim and its guards.
    fn plan_on(
        &mut self,
        base: Arc<Snapshot>,
        commands: &[&Command],
        find_owner_ids: impl FnOnce(&mut OwnerIds, &[&ConsumerRow]) -> DbResult<bool>,
    ) -> DbResult<Option<BatchPlan<Self>>> {
        let now = self.precision.row_time();
        let mut state = State::new(Base::Snapshot(base), BTreeMap::new(), now.and_utc());
        let stamp = self.store.stamp();
        let decisions = commands.iter().map(|command| {
            if command.is_outdated(&stamp) {
                return Decision::Unverified;
            }
            decide(&mut state, &self.rules, command).map_or(Decision::Unverified, Decision::Granted)
        });
        let decisions = decisions.collect();
        // A warning depends on usage, and the snapshot may show more than is used now.
        if !optimistic::keeps_classes(&state) || !state.warnings.is_empty() {
            return Ok(None);
        }
        let consumers = state.consumers.values();
        let rows: Vec<&ConsumerRow> = consumers.filter_map(|entry| entry.now.as_ref()).collect();
        if !find_owner_ids(&mut self.owner_ids, &rows)? {
            return Ok(None);
        }
        let (writes, change) = save::plan(self.precision, &state, &self.owner_ids);
        let written: LockSet = state.written_providers().map(|id| id.0).collect();
        let contended = if self.exclusive {
            LockSet::new()
        } else {
            let contended = self.store.contended_providers();
            written
                .iter()
                .copied()
                .filter(|id| contended.contains(&ProviderId(*id)))
                .collect()
        };
        Ok(Some(BatchPlan {
            decisions,
            change,
            writes,
            now,
            written,
            contended,
        }))
    }
}

/// Whether the commands name one consumer in two spellings that MariaDB takes for the same. OpenStack Placement handles
/// them one after the other, and refuses the second claim as stale.
fn names_one_consumer_twice(conn: &DbConnection, footprint: &Footprint<'_>) -> bool {
    if footprint.consumers.len() < 2 || dialect::compares_exactly(conn) {
        return false;
    }
    let consumers: Vec<&str> = footprint.consumers.iter().copied().collect();
    CollatedNames::distinct(conn, &consumers).is_err()
}

impl BatchChange for Committed {
    fn encode(&self) -> String {
        crate::model::snapshot::change::encode(self)
    }
}

impl Batch for Decider {
    type Command = Command;
    type Answer = Answer;
    type Change = Committed;

    fn plan(&mut self, conn: &mut DbConnection, commands: &[&Command]) -> DbResult<Option<BatchPlan<Self>>> {
        if !self.store.may_decide() || self.mutant_forbids_plans() || !optimistic::fits_one_batch(commands) {
            return Ok(None);
        }
        self.plan_on(self.store.newest(), commands, |owner_ids, rows| {
            owner_ids.load_missing(conn, rows)
        })
    }

    fn speculate(&mut self, change: &Committed, commit: &Commit, commands: &[&Command]) -> Option<BatchPlan<Self>> {
        if self.mutant_forbids_plans() || !optimistic::fits_one_batch(commands) {
            return None;
        }
        let base = self.store.speculate(change, commit)?;
        self.plan_on(base, commands, |owner_ids, rows| Ok(owner_ids.has_all(rows)))
            .ok()
            .flatten()
    }

    fn run(
        &mut self,
        conn: &mut DbConnection,
        commands: &[&Command],
        from_database: bool,
    ) -> std::result::Result<Executed<Self>, WriteError> {
        let footprint = Footprint::of(commands);
        if commands.len() == 1 && names_one_consumer_twice(conn, &footprint) {
            return Ok(Executed {
                decisions: vec![Decision::Refused(Error::StaleConsumerGeneration {
                    expected: "0".to_owned(),
                    got: "None".to_owned(),
                })],
                change: None,
            });
        }
        let source = if footprint.beyond_claims || from_database || !self.store.may_decide() {
            StateSource::Database
        } else {
            StateSource::Snapshot
        };
        match self.decide_and_save(conn, commands, &footprint, source) {
            // The writes of a single command cannot violate each other's constraints, so another process wrote the
            // row first.
            Err(WriteError::Database(error))
                if commands.len() == 1 && dialect::has_other_writers(conn) && fault::is_constraint(&error) =>
            {
                Err(WriteError::Conflict)
            }
            executed => executed,
        }
    }

    fn publish(&mut self, conn: Option<&mut DbConnection>, change: Committed, commit: &Commit) {
        change.warnings.iter().for_each(|warning| log::warn!("{warning}"));
        if self.store.publish(change, commit) {
            return;
        }
        let reason = match conn.map(|conn| self.store.reload(conn)) {
            Some(Ok(())) => return,
            Some(Err(error)) => error.to_string(),
            None => "the connection is committing the next batch".to_owned(),
        };
        log::warn!("A committed change could not be read back; reads wait until the snapshot is reloaded: {reason}");
        self.invalidate();
    }

    fn follow(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        #[cfg(feature = "mutants")]
        self.earlier_reads.read(conn)?;
        self.note_foreign_commits(conn)?;
        if !self.exclusive && !self.store.is_invalid() {
            self.count_idle_polls(|store| store.try_follow(conn))?;
        }
        // The batch does not wait for a reload: until then it decides on rows that it reads itself.
        self.wake_if_outdated();
        Ok(())
    }

    fn expected_peers(&self) -> Option<Revisions> {
        let are_peers_idle = self.idle_polls >= IDLE_POLLS && self.store.may_decide() && !self.mutant_forbids_plans();
        are_peers_idle.then(|| self.store.revisions())
    }

    fn lock(&mut self, conn: &mut DbConnection, lock_set: &LockSet) -> DbResult<()> {
        let ids: Vec<i32> = lock_set.iter().copied().collect();
        batch_rows::lock_providers(conn, &ids)
    }

    fn held_rows(&mut self, conn: &mut DbConnection, commands: &[&Command]) -> DbResult<HeldRows> {
        let footprint = Footprint::of(commands);
        let providers = footprint.known_providers(&self.store.newest());
        batch_rows::held_rows(conn, &providers, &footprint)
    }

    fn needs(&self, command: &Command, rows: &HeldRows) -> bool {
        let footprint = Footprint::of(&[command]);
        let providers = footprint.known_providers(&self.store.newest());
        providers.iter().any(|id| rows.providers.contains(id))
            || footprint.consumers.iter().any(|uuid| rows.consumers.contains(*uuid))
    }

    fn catch_up(&mut self, conn: &mut DbConnection) -> DbResult<bool> {
        self.count_idle_polls(|store| store.catch_up(conn))
    }

    fn reconnected(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        self.store.revalidate(conn)?;
        // The numbers of two connections cannot be compared.
        self.data_version = None;
        self.wake_if_outdated();
        Ok(())
    }

    fn invalidate(&mut self) {
        self.store.invalidate();
        self.follower.wake();
    }
}

/// Marks for reload every provider whose row in the database differs from the snapshot: a foreign writer changed it and
/// recorded no delta. A delta of this batch must not be added to such an outdated row.
fn reload_foreign_changes(snapshot: &Snapshot, state: &State, committed: &mut Committed) {
    let mut changed = BTreeSet::new();
    for (id, entry) in &state.providers {
        let Some(base) = &entry.base else { continue };
        let snapshot_row = snapshot.by_id(*id).map(|slot| snapshot.row(slot));
        if snapshot_row.as_ref() != Some(base) && entry.now.is_some() {
            changed.insert(*id);
        }
    }
    committed
        .rewritten
        .retain(|rewritten| !changed.contains(&rewritten.delta.provider));
    committed.reload.extend(changed);
    committed
        .deltas
        .retain(|delta| !committed.reload.contains(&delta.provider));
}
