//! One transaction of the writer: decides what to write, writes it, commits, and publishes the change.

use diesel::QueryResult;

use super::failure::BatchFailure;
use super::identity::{Commit, Identity};
use super::plan::TransactionInput;
use super::queue::CommitGate;
use super::{Batch, BatchResult, CommitStrategy, Job, RunOutcome, Writer, catch_panic, commands, require_conn};
use crate::db::DbConnection;
use crate::db::engines::dialect;
use crate::db::engines::dialect::Capabilities;
use crate::db::engines::guarded::ExecMode;
use crate::error::Result;

/// What a transaction wrote, before COMMIT.
pub(super) struct Executed<B: Batch> {
    /// An answer for each command.
    pub answers: Vec<Result<B::Answer>>,
    /// `None` if there is nothing to commit.
    pub change: Option<B::Change>,
}

/// How a transaction ended.
pub(super) enum TransactionEnd {
    /// COMMIT was not sent, so nothing happened.
    NotCommitted(BatchFailure),
    /// COMMIT was sent, with this result.
    CommitSent(QueryResult<()>),
}

impl<B: Batch> Writer<B> {
    /// Makes one attempt to commit the jobs, and returns an answer for each.
    ///
    /// `jobs` may change: jobs that join the transaction are added. If batches are pipelined, jobs of earlier batches
    /// are answered and removed.
    pub(super) fn transaction(
        &mut self,
        jobs: &mut Vec<Job<B>>,
        strategy: CommitStrategy,
    ) -> BatchResult<Vec<Result<B::Answer>>> {
        let commands = commands(jobs);
        let is_plannable =
            strategy < CommitStrategy::FromDatabase && commands.iter().all(|command| B::is_plannable(command));
        if is_plannable && self.batch.needs_locks(&commands, strategy == CommitStrategy::Locked) {
            return self.commit_locked(jobs);
        }
        let executed = match self.transaction_input(&commands, is_plannable)? {
            TransactionInput::Plan { plan, expected_peers } if self.can_pipeline(jobs) => {
                return self.run_pipeline(jobs, plan, expected_peers.as_ref());
            }
            TransactionInput::Plan { plan, expected_peers } => {
                let prepared = self.prepare(&plan.change, plan.writes, plan.now, expected_peers.as_ref())?;
                let conn = require_conn(&mut self.conn)?;
                let mode = ExecMode::with_begin(self.capabilities);
                if mode != ExecMode::CombinedWithBegin {
                    dialect::begin_write(conn)?;
                }
                let executed = Executed {
                    answers: plan.answers.into_iter().map(Ok).collect(),
                    change: Some(plan.change),
                };
                catch_panic(|| prepared.write(conn, mode).map(|()| executed))
            }
            TransactionInput::Commands { refused } => {
                let from_database = refused || strategy == CommitStrategy::FromDatabase;
                let conn = require_conn(&mut self.conn)?;
                dialect::begin_write(conn)?;
                catch_panic(|| execute(&mut self.batch, &mut self.identity, conn, &commands, from_database))
            }
        };
        self.end(jobs, executed)
    }

    /// Ends a transaction: commits and publishes what was executed, or rolls back. `executed` is `None` after a panic.
    pub(super) fn end(
        &mut self,
        jobs: &[Job<B>],
        executed: Option<BatchResult<Executed<B>>>,
    ) -> BatchResult<Vec<Result<B::Answer>>> {
        let conn = require_conn(&mut self.conn)?;
        let Executed { answers, change } = match executed.unwrap_or(Err(BatchFailure::Panicked)) {
            Ok(executed) => executed,
            Err(failure) => return self.settle(TransactionEnd::NotCommitted(failure)).map(|_| Vec::new()),
        };
        let Some(change) = change else {
            dialect::checked_rollback(conn)?;
            return Ok(answers);
        };
        let ended = send_commit(conn, jobs.iter().map(|job| &job.gate), self.capabilities);
        let commit = self.settle(ended)?;
        self.publish(change, &commit);
        Ok(answers)
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
            TransactionEnd::CommitSent(Ok(())) => {}
        }
        Ok(self.identity.committed())
    }

    fn roll_back(&mut self) {
        let is_rolled_back = |conn| dialect::rollback(conn).is_ok();
        if !self.conn.as_mut().is_some_and(is_rolled_back) {
            self.conn = None;
        }
    }

    /// Applies a committed change to the snapshot. If that fails, the snapshot is invalidated, so that no answer is
    /// stale.
    pub(super) fn publish(&mut self, change: B::Change, commit: &Commit) {
        let published = catch_panic(|| self.batch.publish(change, commit));
        let reason = match (published, self.conn.as_mut()) {
            (Some(true), _) => return,
            (Some(false), Some(conn)) => match catch_panic(|| self.batch.reload(conn)) {
                Some(Ok(())) => return,
                Some(Err(error)) => error.to_string(),
                None => "a defect of placet".to_owned(),
            },
            (Some(false), None) => "the connection is committing the next batch".to_owned(),
            (None, _) => "a defect of placet".to_owned(),
        };
        log::warn!("A committed change could not be read back; reads wait until the snapshot is reloaded: {reason}");
        self.batch.invalidate();
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
    match batch.run(conn, commands, from_database)? {
        RunOutcome::Conflict => Err(BatchFailure::Conflict),
        RunOutcome::Decided { answers, change } => {
            if let Some(change) = &change {
                identity.record(conn, &batch.encode(change))?;
            }
            Ok(Executed { answers, change })
        }
    }
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
