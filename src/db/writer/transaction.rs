//! One transaction of the writer: decides what to write, writes it, commits, and publishes the change.

use diesel::QueryResult;

use super::batch::{BatchChange, Decision, Executed};
use super::failure::BatchFailure;
use super::identity::{Commit, Identity};
use super::plan::BatchPlan;
use super::queue::CommitGate;
use super::{Batch, BatchResult, CommitStrategy, Job, Writer, catch_panic, commands, require_conn};
use crate::db::DbConnection;
use crate::db::change_feed::Revisions;
use crate::db::engines::dialect;
use crate::db::engines::dialect::Capabilities;
use crate::db::engines::guarded::ExecMode;

/// How a transaction ended.
pub(super) enum TransactionEnd {
    /// COMMIT was not sent, so nothing happened.
    NotCommitted(BatchFailure),
    /// COMMIT was sent, with this result.
    CommitSent(QueryResult<()>),
}

impl<B: Batch> Writer<B> {
    /// Makes one attempt to commit the jobs, and returns a decision for each.
    ///
    /// `jobs` may change: jobs that join the transaction are added. If batches are pipelined, jobs of earlier batches
    /// are answered and removed.
    pub(super) fn transaction(
        &mut self,
        jobs: &mut Vec<Job<B>>,
        strategy: CommitStrategy,
    ) -> BatchResult<Vec<Decision<B::Answer>>> {
        self.database.guard().check_writable()?;
        if let (Some(checkpointer), Some(conn)) = (&self.checkpointer, &mut self.conn) {
            checkpointer.before_batch(conn)?;
        }
        self.connected()?;
        let is_plannable = strategy < CommitStrategy::FromDatabase && jobs.iter().all(Job::is_plannable);
        let expected_peers = self.batch.expected_peers().filter(|_| is_plannable && !self.is_stale);
        if expected_peers.is_none() {
            self.follow()?;
            self.is_stale = false;
        }
        if is_plannable {
            if let Some(plan) = self.plan(&commands(jobs))? {
                return self.commit_plan(jobs, plan, expected_peers.as_ref(), strategy);
            }
            if expected_peers.is_some() {
                self.follow()?;
            }
        }
        let conn = require_conn(&mut self.conn)?;
        dialect::begin_write(conn)?;
        let from_database = strategy == CommitStrategy::FromDatabase;
        let (batch, identity) = (&mut self.batch, &mut self.identity);
        let executed = catch_panic(|| execute(batch, identity, conn, &commands(jobs), from_database));
        self.end(jobs, executed)
    }

    /// Commits a plan: under locks if it writes contended providers, or after a conflict; otherwise at once.
    fn commit_plan(
        &mut self,
        jobs: &mut Vec<Job<B>>,
        plan: BatchPlan<B>,
        expected_peers: Option<&Revisions>,
        strategy: CommitStrategy,
    ) -> BatchResult<Vec<Decision<B::Answer>>> {
        if plan.writes.is_empty() {
            return Ok(plan.decisions);
        }
        let locks_all = strategy == CommitStrategy::Locked;
        if !plan.lock_set(locks_all).is_empty() {
            return self.commit_locked(jobs, plan, locks_all);
        }
        if self.can_pipeline(jobs) {
            return self.run_pipeline(jobs, plan, expected_peers);
        }
        let prepared = self.prepare(&plan.change, plan.writes, plan.now, expected_peers)?;
        let conn = require_conn(&mut self.conn)?;
        let mode = ExecMode::with_begin(self.capabilities);
        if mode != ExecMode::CombinedWithBegin {
            dialect::begin_write(conn)?;
        }
        let executed = Executed {
            decisions: plan.decisions,
            change: Some(plan.change),
        };
        let executed = catch_panic(|| prepared.write(conn, mode).map(|()| executed));
        self.end(jobs, executed)
    }

    /// Ends a transaction: commits and publishes what was executed, or rolls back. `executed` is `None` after a panic.
    pub(super) fn end(
        &mut self,
        jobs: &[Job<B>],
        executed: Option<BatchResult<Executed<B>>>,
    ) -> BatchResult<Vec<Decision<B::Answer>>> {
        let conn = require_conn(&mut self.conn)?;
        let Executed { decisions, change } = match executed.unwrap_or(Err(BatchFailure::Panicked)) {
            Ok(executed) => executed,
            Err(failure) => return self.settle(TransactionEnd::NotCommitted(failure)).map(|_| Vec::new()),
        };
        let Some(change) = change else {
            dialect::checked_rollback(conn)?;
            if decisions.iter().any(Decision::is_refused) {
                // A caller that plans again sees at least the rows that refused its plan.
                catch_panic(|| self.batch.follow(conn)).ok_or(BatchFailure::Panicked)??;
            }
            return Ok(decisions);
        };
        let ended = send_commit(conn, jobs.iter().map(|job| &job.gate), self.capabilities);
        let commit = self.settle(ended)?;
        self.statistics.batch_sizes.record_size(jobs.len());
        self.publish(change, &commit);
        Ok(decisions)
    }

    /// Settles the outcome of a transaction: returns the commit, or an error if nothing of the batch was committed or
    /// the outcome stays unknown.
    pub(super) fn settle(&mut self, ended: TransactionEnd) -> BatchResult<Commit> {
        match ended {
            TransactionEnd::NotCommitted(failure) => {
                self.roll_back();
                return Err(failure);
            }
            TransactionEnd::CommitSent(Err(error)) if dialect::was_rolled_back(&error) => {
                return Err(BatchFailure::Conflict);
            }
            TransactionEnd::CommitSent(Err(error)) if dialect::is_disk_full(&error) => {
                // A fence could not be written either.
                self.roll_back();
                return Err(error.into());
            }
            TransactionEnd::CommitSent(Err(error)) => self.resolve_in_doubt(error)?,
            // A commit into a file that was removed or replaced is lost with this process.
            TransactionEnd::CommitSent(Ok(())) => self
                .database
                .guard()
                .check_path()
                .map_err(|error| BatchFailure::UnknownOutcome(error.detail()))?,
        }
        self.statistics.writes.accepted();
        Ok(self.identity.committed())
    }

    fn roll_back(&mut self) {
        let is_rolled_back = |conn| dialect::rollback(conn).is_ok();
        if !self.conn.as_mut().is_some_and(is_rolled_back) {
            self.conn = None;
        }
    }

    /// Applies a committed change to the snapshot. If that panics, the snapshot is invalidated, so that no answer is
    /// stale.
    pub(super) fn publish(&mut self, change: B::Change, commit: &Commit) {
        if catch_panic(|| self.batch.publish(self.conn.as_mut(), change, commit)).is_none() {
            log::warn!("A defect of placet: a commit could not be shown; reads wait until the snapshot is reloaded");
            self.batch.invalidate();
        }
    }
}

/// Decides and writes the commands inside the transaction. The first row that it locks is the writer's own.
fn execute<B: Batch>(
    batch: &mut B,
    identity: &mut Identity,
    conn: &mut DbConnection,
    commands: &[&B::Command],
    from_database: bool,
) -> BatchResult<Executed<B>> {
    if !identity.raise_revision(conn)? {
        return Err(BatchFailure::IdentityLost);
    }
    let executed = batch.run(conn, commands, from_database)?;
    if let Some(change) = &executed.change {
        identity.record(conn, change.encode())?;
    }
    Ok(executed)
}

/// Sends COMMIT, unless a command of the batch was cancelled.
pub(super) fn send_commit<'a>(
    conn: &mut DbConnection,
    mut gates: impl Iterator<Item = &'a CommitGate>,
    capabilities: Capabilities,
) -> TransactionEnd {
    if gates.all(CommitGate::begin_commit) {
        TransactionEnd::CommitSent(dialect::commit_prepared(conn, capabilities))
    } else {
        TransactionEnd::NotCommitted(BatchFailure::Cancelled)
    }
}
