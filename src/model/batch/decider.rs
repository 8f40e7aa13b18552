//! Decides the commands of a batch in order, and writes the net effect. `db::writer` calls this.
//!
//! Naively, a batch begins a transaction, locks and reads every row that the commands name, decides, and writes. On a
//! server each step is a round trip, and the locks are held during all steps.
//!
//! The snapshot already shows most of these rows. So decisions are optimistic: decide on the snapshot, and let a guard
//! on each written row check that the row is as in the snapshot.
//! - Some commands read nothing at all. They are planned before BEGIN (`batch_plan`; `optimistic` says which).
//! - Further claims, and releases, read their consumers in the transaction, and take the providers from the snapshot
//!   (`transaction`).
//!
//! Only written rows have a guard. So the batch is decided on rows that its own transaction reads (`batch_rows`) in
//! these cases:
//! - A command does more than claim or release, and was not planned.
//! - A guard failed, because a different writer committed in between.
//! - The snapshot is invalid.
//!
//! A refusal writes nothing, so no guard would notice an outdated snapshot. A command that is refused on the snapshot
//! is left out of the batch, and verified outside of the batch (`refusals`).

mod batch_plan;
mod in_batch;
mod transaction;

use std::collections::BTreeSet;
use std::sync::Arc;

use self::transaction::StateSource;
use super::batch_rows;
use super::collation::CollatedNames;
use super::command::{Answer, Command};
use super::decide::Rules;
use super::footprint::{Footprint, Reach};
use super::optimistic;
use super::save::OwnerIds;
use super::state::State;
use crate::db::change_feed::Revisions;
use crate::db::engines::dialect::{self, Precision};
use crate::db::writer::{Batch, BatchChange, BatchPlan, Decision, Executed, LockSet, RowNames};
use crate::db::{Commit, DbConnection, DbResult, WriteError, fault};
use crate::error::Error;
use crate::model::planner::in_batch::PlanInBatch;
use crate::model::snapshot::committed::Committed;
use crate::model::snapshot::comparison;
use crate::model::snapshot::follower::Follower;
use crate::model::snapshot::stamp::Stamp;
use crate::model::snapshot::store::{IDLE_POLLS, SnapshotStore};
use crate::mutants::{self, Mutant};
use crate::search::{ProviderId, Snapshot};

/// Implements [`Batch`] for placet's commands, on the writer's thread.
pub struct Decider {
    store: Arc<SnapshotStore>,
    /// Reloads an invalid snapshot in the background.
    follower: Follower,
    /// Whether the database belongs to this process alone, so there is no change feed to follow.
    exclusive: bool,
    /// The number of polls of the change feed in a row without a commit of a peer.
    idle_polls: u32,
    /// Ids of projects, users and consumer types from the lookups of earlier plans.
    owner_ids: OwnerIds,
    /// The last `dialect::data_version`.
    data_version: Option<i64>,
    rules: Rules,
    precision: Precision,
    /// The providers whose rows differed from this snapshot in the last transaction, if nothing was committed. The next
    /// [`Batch::follow`] corrects the snapshot.
    differing: Option<(Arc<Snapshot>, BTreeSet<ProviderId>)>,
    /// The rows that the last plan inside a batch names.
    planned_rows: RowNames,
    #[cfg(feature = "mutants")]
    earlier_reads: super::mutant::EarlierReads,
}

impl Decider {
    /// `data_version` is the version of the writer's connection before the store was loaded.
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
            differing: None,
            planned_rows: RowNames::default(),
            #[cfg(feature = "mutants")]
            earlier_reads: Default::default(),
        }
    }

    /// Whether an active mutant falsifies the reads of `follow` and `run`. Plans would bypass these reads.
    fn mutant_forbids_plans(&self) -> bool {
        mutants::is(Mutant::UsageFirst) || mutants::is(Mutant::SubtractUnremoved)
    }

    /// Calls `follow`, which applies the commits of peers, and counts the polls in a row without a commit.
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

    /// Has the next [`Batch::follow`] correct the snapshot.
    fn note_differing(&mut self, shown: &Arc<Snapshot>, differing: BTreeSet<ProviderId>) {
        if !differing.is_empty() && !self.store.is_invalid() {
            self.differing = Some((Arc::clone(shown), differing));
        }
    }

    /// The providers that other transactions are known to have locked.
    fn held_providers(&self) -> Arc<BTreeSet<String>> {
        Arc::new(self.store.held().providers.clone())
    }

    /// Decides a command on the state that the earlier commands left. `source` is the origin of the state. A refusal on
    /// the snapshot is not verified, whether or not a held row is the cause.
    fn decide(&self, state: &mut State, stamp: &Stamp, command: &Command, source: StateSource) -> Decision<Answer> {
        let searched = command.load.searched;
        if searched.is_some_and(|searched| searched != *stamp) && !mutants::is(Mutant::TrustIdle) {
            return Decision::Unverified;
        }
        state.waits_for_held = false;
        match command.decide(state, &self.rules) {
            Ok(answer) => Decision::Granted(answer),
            Err(_) if source == StateSource::Snapshot => Decision::Unverified,
            Err(_) if state.waits_for_held => Decision::Held,
            Err(refusal) => Decision::Refused(refusal),
        }
    }

    /// As [`Batch::run`], but a constraint that refused a row is an error of the database.
    fn decide_in_transaction(
        &mut self,
        conn: &mut DbConnection,
        commands: &[&Command],
        from_database: bool,
    ) -> std::result::Result<Executed<Self>, WriteError> {
        if let Some(request) = planned_in_batch(commands) {
            return self.plan_in_batch(conn, request);
        }
        let held = self.held_providers();
        let footprint = Command::footprint(commands, Some(&held));
        if commands.len() == 1 && names_one_consumer_twice(conn, &footprint) {
            return Ok(in_batch::unchanged(Decision::Refused(Error::StaleConsumerGeneration {
                expected: "0".to_owned(),
                got: "None".to_owned(),
            })));
        }
        let source = if footprint.reach > Reach::Claims || from_database || !self.store.may_decide() {
            StateSource::Database
        } else {
            StateSource::Snapshot
        };
        self.decide_and_save(conn, commands, &footprint, Arc::clone(&held), (source, false))
    }

    /// Has the snapshot reloaded in the background if no decision may rest on the snapshot.
    fn wake_if_outdated(&self) {
        if !self.store.may_decide() {
            self.follower.wake();
        }
    }

    /// On SQLite, which has no change feed to follow: notices the commit of a different program.
    fn note_foreign_commits(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        let version = dialect::data_version(conn)?;
        if self.exclusive && version != self.data_version {
            self.store.note_foreign_commit();
        }
        self.data_version = version;
        Ok(())
    }
}

/// The command, if the command is planned inside the batch. Such a command is a batch of its own.
fn planned_in_batch<'a>(commands: &[&'a Command]) -> Option<&'a PlanInBatch> {
    match commands {
        [command] => command.get(),
        _ => None,
    }
}

/// Whether the commands name a consumer in two spellings that are equal to MariaDB. OpenStack Placement handles the
/// claims in order, and refuses the second claim as stale.
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
        self.plan_on(self.store.newest(), commands, Some(conn))
    }

    fn speculate(&mut self, change: &Committed, commit: &Commit, commands: &[&Command]) -> Option<BatchPlan<Self>> {
        if self.mutant_forbids_plans() || !optimistic::fits_one_batch(commands) {
            return None;
        }
        let base = self.store.speculate(change, commit)?;
        self.plan_on(base, commands, None).ok().flatten()
    }

    fn run(
        &mut self,
        conn: &mut DbConnection,
        commands: &[&Command],
        from_database: bool,
    ) -> std::result::Result<Executed<Self>, WriteError> {
        match self.decide_in_transaction(conn, commands, from_database) {
            // The writes of a single command cannot violate each other's constraints. So a different process wrote the
            // row first, or two names that the rules tell apart are equal to the database.
            Err(WriteError::Database(error))
                if commands.len() == 1 && dialect::has_other_writers(conn) && fault::is_constraint(&error) =>
            {
                Err(WriteError::Constraint(error))
            }
            executed => executed,
        }
    }

    fn publish(&mut self, conn: Option<&mut DbConnection>, mut change: Committed, commit: &Commit) {
        change.warnings.iter().for_each(|warning| log::warn!("{warning}"));
        let differs_from = change.differs_from.take();
        let published = if self.store.publish(change, commit) {
            Ok(())
        } else {
            match conn.map(|conn| self.store.reload_suspects(conn, &BTreeSet::new())) {
                Some(reloaded) => reloaded.map(drop).map_err(|error| error.to_string()),
                None => Err("the connection is committing the next batch".to_owned()),
            }
        };
        if let Err(reason) = published {
            log::warn!(
                "A committed change could not be read back; reads wait until the snapshot is reloaded: {reason}"
            );
            self.invalidate();
        } else if let Some(shown) = differs_from {
            self.store.note_differing_rows(&shown, &commit.writer);
        }
    }

    fn follow(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        #[cfg(feature = "mutants")]
        self.earlier_reads.read(conn)?;
        self.note_foreign_commits(conn)?;
        if !self.exclusive && !self.store.is_invalid() {
            self.count_idle_polls(|store| store.try_follow(conn))?;
        }
        if let Some((shown, differing)) = self.differing.take() {
            comparison::correct(&self.store, conn, &shown, differing)?;
        }
        // The batch does not wait for a reload. Until the reload, batches are decided on rows of their own transaction.
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

    fn named_rows(&self, commands: &[&Command]) -> RowNames {
        match planned_in_batch(commands) {
            Some(_) => self.planned_rows.clone(),
            None => Command::footprint(commands, None).rows(),
        }
    }

    fn find_held(&mut self, conn: &mut DbConnection, rows: &RowNames) -> DbResult<RowNames> {
        batch_rows::held_rows(conn, &self.store.newest(), rows)
    }

    fn note_held(&mut self, rows: &RowNames) {
        self.store.note_held(rows);
    }

    fn provider_name(&self, uuid: &str) -> Option<String> {
        let snapshot = self.store.newest();
        snapshot.by_uuid(uuid).map(|slot| snapshot.name(slot).to_string())
    }

    fn needs(&self, command: &Command, rows: &RowNames) -> bool {
        Command::footprint(&[command], Some(&rows.providers)).needs(rows)
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
