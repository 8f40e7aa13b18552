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
//! - A command was refused. A refusal writes nothing, so no guard would notice that the snapshot was out of date.
//! - The snapshot is invalid.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::base::Base;
use super::batch_rows;
use super::collation::CollatedNames;
use super::command::{Answer, Command};
use super::decide::{Rules, decide};
use super::footprint::Footprint;
use super::lock_set::LockSet;
use super::optimistic;
use super::save::{self, Committed, OwnerIds, Saved, save};
use super::state::{ConsumerRow, State};
use crate::db::change_feed::Revisions;
use crate::db::engines::dialect::{self, Precision};
use crate::db::writer::{Batch, BatchPlan, PlanOutcome, RunOutcome};
use crate::db::{Commit, DbConnection, DbResult, fault};
use crate::error::{Error, Result};
use crate::model::snapshot::follower::Follower;
use crate::model::snapshot::store::{IDLE_POLLS, SnapshotStore};
use crate::mutants::{self, Mutant};
use crate::search::{Catalog, Snapshot};

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
    /// The store's count of reloads when `owner_ids` was last used. After a reload the database may be another one,
    /// with other ids.
    owner_ids_reload_count: u64,
    lock_set: LockSet,
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
    pub fn new(
        store: Arc<SnapshotStore>,
        follower: Follower,
        exclusive: bool,
        rules: Rules,
        precision: Precision,
    ) -> Decider {
        Decider {
            store,
            follower,
            exclusive,
            idle_polls: 0,
            owner_ids: OwnerIds::default(),
            owner_ids_reload_count: 0,
            lock_set: LockSet::default(),
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

    /// The state that `run` decides on: consumers always from the database, providers from `source`.
    fn load_state(&self, conn: &mut DbConnection, footprint: &Footprint<'_>, source: StateSource) -> DbResult<State> {
        if !footprint.removed_classes.is_empty() {
            // No constraint ties an inventory to its class, so no writer may add one while the class is removed.
            dialect::hold_writers(conn)?;
        }
        let newest = self.store.newest();
        let now = dialect::row_time(conn);
        let consumers = batch_rows::consumers(conn, footprint, now)?;
        #[cfg(feature = "mutants")]
        let consumers = self.earlier_reads.replace_allocations(consumers);
        let base = match source {
            StateSource::Snapshot => Base::Snapshot(newest),
            StateSource::Database if self.store.is_invalid() => {
                // The ids of classes may have changed as well: read the catalog again.
                Base::Rows(batch_rows::providers(conn, footprint, &consumers, &Catalog::default())?)
            }
            StateSource::Database => Base::Rows(batch_rows::providers(conn, footprint, &consumers, newest.catalog())?),
        };
        #[cfg(feature = "mutants")]
        let base = self.earlier_reads.replace_usage(base);
        let providers_max = base.provider_count();
        let mut state = State::new(base, consumers, now.and_utc());
        state.names_first = dialect::checks_names_first(conn);
        state.class_users = batch_rows::class_users(conn, footprint, providers_max)?;
        state.trait_users = batch_rows::trait_users(conn, footprint, providers_max)?;
        state.trait_times = batch_rows::trait_times(conn, footprint)?;
        Ok(state)
    }

    /// Decides on the snapshot if possible, and falls back to the database in the same transaction if that refused a
    /// command. A failed guard is different: statements were written by then, so the writer must roll back first.
    fn attempt_with_fallback(
        &self,
        conn: &mut DbConnection,
        commands: &[&Command],
        footprint: &Footprint<'_>,
        from_database: bool,
    ) -> DbResult<Attempt> {
        if !footprint.beyond_claims && !from_database && !self.store.is_invalid() {
            let attempt = self.attempt(conn, commands, footprint, StateSource::Snapshot)?;
            if !matches!(attempt, Attempt::RefusedOnSnapshot) {
                return Ok(attempt);
            }
        }
        self.attempt(conn, commands, footprint, StateSource::Database)
    }

    /// Decides and writes once, on the providers of `source`.
    fn attempt(
        &self,
        conn: &mut DbConnection,
        commands: &[&Command],
        footprint: &Footprint<'_>,
        source: StateSource,
    ) -> DbResult<Attempt> {
        let mut state = self.load_state(conn, footprint, source)?;
        let answers: Vec<Result<Answer>> = commands
            .iter()
            .map(|command| decide(&mut state, &self.rules, command))
            .collect();
        if source == StateSource::Snapshot && answers.iter().any(|answer| answer.is_err()) {
            return Ok(Attempt::RefusedOnSnapshot);
        }
        match save(conn, &state)? {
            Saved::Conflict => Ok(Attempt::Conflict),
            Saved::Written { wrote: false, .. } => Ok(Attempt::Decided {
                answers,
                committed: None,
            }),
            Saved::Written { mut committed, .. } => {
                if source == StateSource::Database {
                    reload_foreign_changes(&self.store.newest(), &state, &mut committed);
                }
                Ok(Attempt::Decided {
                    answers,
                    committed: Some(committed),
                })
            }
        }
    }

    /// A plan on the snapshot `base`. `find_owner_ids` completes the ids of the consumers' owners, and returns false
    /// if it cannot find all of them.
    fn plan_on(
        &mut self,
        base: Arc<Snapshot>,
        commands: &[&Command],
        find_owner_ids: impl FnOnce(&mut OwnerIds, &[&ConsumerRow]) -> DbResult<bool>,
    ) -> DbResult<PlanOutcome<Self>> {
        let now = self.precision.row_time();
        let mut state = State::new(Base::Snapshot(base), BTreeMap::new(), now.and_utc());
        let answers = commands.iter().map(|command| decide(&mut state, &self.rules, command));
        let Ok(answers) = answers.collect::<Result<Vec<Answer>>>() else {
            return Ok(PlanOutcome::Refused);
        };
        // A warning depends on usage, and the snapshot may show more than is used now.
        if !optimistic::keeps_classes(&state) || !state.warnings.is_empty() {
            return Ok(PlanOutcome::MissingData);
        }
        let consumers = state.consumers.values();
        let rows: Vec<&ConsumerRow> = consumers.filter_map(|entry| entry.now.as_ref()).collect();
        let reload_count = self.store.reload_count();
        if self.owner_ids_reload_count != reload_count {
            self.owner_ids_reload_count = reload_count;
            self.owner_ids = OwnerIds::default();
        }
        if !find_owner_ids(&mut self.owner_ids, &rows)? {
            return Ok(PlanOutcome::MissingData);
        }
        let (writes, change) = save::plan(self.precision, &state, &self.owner_ids);
        Ok(PlanOutcome::Plan(BatchPlan {
            answers,
            change,
            writes,
            now,
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

/// The outcome of one attempt of `run`.
enum Attempt {
    /// Decided, and written unless there is no change.
    Decided {
        answers: Vec<Result<Answer>>,
        committed: Option<Committed>,
    },
    /// A command was refused on the snapshot, which may be out of date. Nothing has been written.
    RefusedOnSnapshot,
    /// A guard failed. The transaction must be rolled back.
    Conflict,
}

impl Batch for Decider {
    type Command = Command;
    type Answer = Answer;
    type Change = Committed;

    fn is_plannable(command: &Command) -> bool {
        optimistic::is_eligible(command)
    }

    fn plan(&mut self, conn: &mut DbConnection, commands: &[&Command]) -> DbResult<PlanOutcome<Self>> {
        if self.store.is_invalid() || self.mutant_forbids_plans() || !optimistic::fits_one_batch(commands) {
            return Ok(PlanOutcome::MissingData);
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
        match self.plan_on(base, commands, |owner_ids, rows| Ok(owner_ids.has_all(rows))) {
            Ok(PlanOutcome::Plan(plan)) => Some(plan),
            _ => None,
        }
    }

    fn run(
        &mut self,
        conn: &mut DbConnection,
        commands: &[&Command],
        from_database: bool,
    ) -> DbResult<RunOutcome<Self>> {
        let footprint = Footprint::of(commands);
        if commands.len() == 1 && names_one_consumer_twice(conn, &footprint) {
            return Ok(RunOutcome::Decided {
                answers: vec![Err(Error::StaleConsumerGeneration {
                    expected: "0".to_owned(),
                    got: "None".to_owned(),
                })],
                change: None,
            });
        }
        let attempt = match self.attempt_with_fallback(conn, commands, &footprint, from_database) {
            // The writes of a single command cannot violate each other's constraints, so another process wrote the
            // row first.
            Err(error) if commands.len() == 1 && dialect::has_other_writers(conn) && fault::is_constraint(&error) => {
                Attempt::Conflict
            }
            result => result?,
        };
        Ok(match attempt {
            Attempt::Decided { answers, committed } => RunOutcome::Decided {
                answers,
                change: committed,
            },
            Attempt::RefusedOnSnapshot | Attempt::Conflict => RunOutcome::Conflict,
        })
    }

    fn encode(&self, change: &Committed) -> String {
        crate::model::snapshot::change::encode(change)
    }

    fn publish(&mut self, change: Committed, commit: &Commit) -> bool {
        change.warnings.iter().for_each(|warning| log::warn!("{warning}"));
        self.store.publish(change, commit)
    }

    fn reload(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        self.store.reload(conn)
    }

    fn follow(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        #[cfg(feature = "mutants")]
        self.earlier_reads.read(conn)?;
        if self.store.is_invalid() {
            // The batch does not wait for the reload: until then it decides on rows that it reads itself.
            self.follower.wake();
        } else if !self.exclusive {
            self.count_idle_polls(|store| store.follow(conn))?;
        }
        Ok(())
    }

    fn expected_peers(&self) -> Option<Revisions> {
        let are_peers_idle = self.idle_polls >= IDLE_POLLS && !self.store.is_invalid() && !self.mutant_forbids_plans();
        are_peers_idle.then(|| self.store.revisions())
    }

    fn needs_locks(&mut self, commands: &[&Command], after_conflict: bool) -> bool {
        let may_plan = !self.exclusive && !self.store.is_invalid() && !self.mutant_forbids_plans();
        may_plan && self.lock_set.choose(&self.store, commands, after_conflict)
    }

    fn lock(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        self.lock_set.lock(conn)
    }

    fn can_join(&self, command: &Command) -> bool {
        Self::is_plannable(command) && self.lock_set.covers(&self.store, command)
    }

    fn catch_up(&mut self, conn: &mut DbConnection) -> DbResult<bool> {
        self.count_idle_polls(|store| store.catch_up(conn))
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
