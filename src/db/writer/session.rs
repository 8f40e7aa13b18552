//! One transaction of the writer: decide, write, commit, and publish the change.
//!
//! A session is the writer's connection, identity and batch, because every transaction needs all three.

use std::sync::Arc;
use std::time::Duration;

use diesel::QueryResult;

use super::batch::{Batch, BatchChange, BatchPlan, Decision, Executed, RowNames};
use super::commit_gate::CommitGate;
use super::connection::WriterConnection;
use super::failure::{BatchFailure, BatchResult, catch_panic, write_refusal};
use super::identity::{Commit, Identity};
use super::in_doubt;
use super::job::Job;
use super::jobs::commands;
use super::plan::PreparedWrite;
use super::settings::WriterSettings;
use super::statistics::WriterStatistics;
use crate::db::change_feed::Revisions;
use crate::db::engines::dialect::{self, Capabilities};
use crate::db::engines::guarded::ExecMode;
use crate::db::{Database, DbConnection, DbResult, SetupError};
use crate::mutants::{self, Mutant};

/// How a transaction ended.
pub(super) enum TransactionEnd {
    /// COMMIT was not sent, so nothing happened.
    NotCommitted(BatchFailure),
    /// COMMIT was sent, with this result.
    CommitSent(QueryResult<()>),
}

pub(super) struct WriteSession<B: Batch> {
    pub connection: WriterConnection,
    pub identity: Identity,
    pub batch: B,
    /// Peers have commits that the snapshot lacks: the change feed is read before the next plan.
    is_stale: bool,
    /// How long a COMMIT in doubt is asked about.
    commit_timeout: Duration,
    pub statistics: Arc<WriterStatistics>,
}

impl<B: Batch> WriteSession<B> {
    /// Opens the connection, and registers the writer. `build` makes the batch, and a value for the caller.
    pub fn open<T>(
        database: Database,
        settings: &WriterSettings,
        statistics: Arc<WriterStatistics>,
        build: impl FnOnce(&mut DbConnection) -> Result<(B, T), SetupError>,
    ) -> Result<(WriteSession<B>, T), SetupError> {
        let (connection, identity, (batch, built)) = WriterConnection::open(database, settings.wal, build)?;
        let session = WriteSession {
            connection,
            identity,
            batch,
            is_stale: false,
            commit_timeout: settings.commit_timeout,
            statistics,
        };
        Ok((session, built))
    }

    /// Opens the connection again after a loss.
    pub fn reopen(&mut self) -> BatchResult<()> {
        self.connection.reopen(&mut self.batch)
    }

    /// Reads the change feed, outside of a transaction.
    pub fn follow(&mut self) -> BatchResult<()> {
        self.reopen()?;
        let conn = self.connection.require()?;
        catch_panic(|| self.batch.follow(conn))??;
        self.is_stale = false;
        Ok(())
    }

    /// The revisions that a plan expects of the peers; `None` if the change feed is read before the plan.
    pub fn expected_peers(&self) -> Option<Revisions> {
        self.batch.expected_peers().filter(|_| !self.is_stale)
    }

    /// Plans the jobs on the snapshot.
    pub fn plan(&mut self, jobs: &[Job<B>]) -> BatchResult<Option<BatchPlan<B>>> {
        let conn = self.connection.require()?;
        Ok(catch_panic(|| self.batch.plan(conn, &commands(jobs)))??)
    }

    /// Writes a plan and commits.
    pub fn commit_plan(
        &mut self,
        jobs: &[Job<B>],
        plan: BatchPlan<B>,
        expected_peers: Option<&Revisions>,
    ) -> BatchResult<Vec<Decision<B::Answer>>> {
        let prepared = PreparedWrite::new(&mut self.identity, &plan.change, plan.writes, plan.now, expected_peers)?;
        let mode = ExecMode::with_begin(self.connection.capabilities);
        let conn = self.connection.require()?;
        if mode != ExecMode::CombinedWithBegin {
            dialect::begin_write(conn)?;
        }
        let written = catch_panic(|| prepared.write(conn, mode)).flatten();
        let executed = written.map(|()| Executed {
            decisions: plan.decisions,
            change: Some(plan.change),
        });
        self.end(jobs, executed)
    }

    /// Decides and writes the commands inside the transaction, and commits.
    pub fn run(&mut self, jobs: &[Job<B>], from_database: bool) -> BatchResult<Vec<Decision<B::Answer>>> {
        let conn = self.connection.require()?;
        dialect::begin_write(conn)?;
        let execute = || {
            // The writer's own row is locked first.
            if !self.identity.raise_revision(conn)? {
                return Err(BatchFailure::IdentityLost);
            }
            let executed = self.batch.run(conn, &commands(jobs), from_database)?;
            if let Some(change) = &executed.change {
                self.identity.record(conn, change.encode())?;
            }
            Ok(executed)
        };
        let executed = catch_panic(execute).flatten();
        self.end(jobs, executed)
    }

    /// Ends a transaction: commits and publishes its change, or rolls back.
    pub fn end(
        &mut self,
        jobs: &[Job<B>],
        executed: BatchResult<Executed<B>>,
    ) -> BatchResult<Vec<Decision<B::Answer>>> {
        let Executed { decisions, change } = match executed {
            Ok(executed) => executed,
            Err(failure) => return self.settle(TransactionEnd::NotCommitted(failure)).map(|_| Vec::new()),
        };
        let capabilities = self.connection.capabilities;
        let conn = self.connection.require()?;
        let Some(change) = change else {
            dialect::checked_rollback(conn)?;
            if decisions.iter().any(Decision::is_refused) {
                // A caller that plans again sees at least the rows that refused its plan.
                catch_panic(|| self.batch.follow(conn))??;
            }
            return Ok(decisions);
        };
        let ended = send_commit(conn, jobs.iter().map(|job| &job.gate), capabilities);
        let commit = self.settle(ended)?;
        self.publish(jobs.len(), change, &commit);
        Ok(decisions)
    }

    /// Settles the outcome of a transaction: returns the commit, or an error if nothing of the batch was committed or
    /// the outcome stays unknown.
    pub fn settle(&mut self, ended: TransactionEnd) -> BatchResult<Commit> {
        match ended {
            TransactionEnd::NotCommitted(failure) => {
                self.connection.roll_back();
                return Err(failure);
            }
            TransactionEnd::CommitSent(Err(error)) if dialect::was_rolled_back(&error) => {
                return Err(BatchFailure::Conflict);
            }
            TransactionEnd::CommitSent(Err(error)) if dialect::is_disk_full(&error) => {
                // A fence could not be written either.
                self.connection.roll_back();
                return Err(error.into());
            }
            TransactionEnd::CommitSent(Err(error)) => self.resolve_in_doubt(error)?,
            // A commit into a file that was removed or replaced is lost with this process.
            TransactionEnd::CommitSent(Ok(())) => self
                .connection
                .check_path()
                .map_err(|error| BatchFailure::UnknownOutcome(error.detail()))?,
        }
        self.statistics.writes.accepted();
        Ok(self.identity.committed())
    }

    /// Decides by a fence whether a batch was committed, after COMMIT ended with `error`. `Ok` after a commit.
    fn resolve_in_doubt(&mut self, error: diesel::result::Error) -> BatchResult<()> {
        log::warn!("COMMIT ended with an error, and placet is finding out whether it happened: {error}");
        if let Some(refusal) = write_refusal(&error) {
            self.statistics.writes.refused(refusal);
        }
        self.connection.conn = None;
        // A fence is a commit that the snapshot lacks.
        self.is_stale = true;
        let (connection, identity, batch) = (&mut self.connection, &mut self.identity, &mut self.batch);
        let resolved = in_doubt::resolve(connection, identity, batch, self.commit_timeout, error);
        if matches!(resolved, Err(BatchFailure::UnknownOutcome(_))) {
            self.batch.invalidate();
        }
        resolved
    }

    /// Applies a committed change to the snapshot. A panic invalidates the snapshot, so that no answer is stale.
    pub fn publish(&mut self, batch_size: usize, change: B::Change, commit: &Commit) {
        self.statistics.batch_sizes.record_size(batch_size);
        if catch_panic(|| self.batch.publish(self.connection.conn.as_mut(), change, commit)).is_err() {
            log::warn!("A defect of placet: a commit could not be shown; reads wait until the snapshot is reloaded");
            self.batch.invalidate();
        }
    }

    /// Repairs the session after a failed attempt, as far as the failure asks for a repair.
    pub fn note_failure(&mut self, failure: &BatchFailure) {
        self.note_refusal(failure);
        self.connection.note_failure(failure);
        if matches!(failure, BatchFailure::IdentityLost) {
            self.register_again();
        }
        if failure.is_conflict() {
            self.statistics.conflicts.increment();
        }
        self.note_stale(failure);
    }

    /// Lets the next plan follow the peers, if the failure says that the snapshot lacks commits.
    pub fn note_stale(&mut self, failure: &BatchFailure) {
        self.is_stale |= matches!(failure, BatchFailure::Stale);
    }

    /// Notes why the database refuses writes, if the failure says so.
    pub fn note_refusal(&self, failure: &BatchFailure) {
        if let Some(refusal) = failure.write_refusal() {
            self.statistics.writes.refused(refusal);
        }
    }

    /// Registers a new writer, and invalidates the snapshot. Called if the writer's row is not as this writer left the
    /// row: the database was restored, or a peer pruned the row.
    pub fn register_again(&mut self) {
        log::warn!(
            "The row of this process in placet_writers was changed or removed (restored backup?): registering again \
             and reloading the snapshot"
        );
        self.batch.invalidate();
        let conn = self.connection.conn.as_mut();
        match conn
            .filter(|_| !mutants::is(Mutant::KeepIdentity))
            .map(Identity::register)
        {
            None => {}
            Some(Ok(identity)) => self.identity = identity,
            Some(Err(error)) => {
                log::warn!("Registering in placet_writers failed, and is retried with the next batch: {error}")
            }
        }
    }

    /// The rows among `rows` that concurrent transactions have locked. `None` if the database does not say.
    pub fn find_held(&mut self, rows: &RowNames) -> Option<RowNames> {
        self.probe(|batch, _, conn| batch.find_held(conn, rows))
    }

    /// Whether a concurrent transaction has locked this writer's own row, so that no batch can be committed. True if
    /// the database does not say.
    pub fn is_own_row_held(&mut self) -> bool {
        self.probe(|_, identity, conn| identity.is_row_held(conn))
            .unwrap_or(true)
    }

    /// The result of a probe. `None` after a failure, which the next attempt meets and reports.
    fn probe<T>(&mut self, probe: impl FnOnce(&mut B, &Identity, &mut DbConnection) -> DbResult<T>) -> Option<T> {
        self.reopen()
            .and_then(|()| Ok(probe(&mut self.batch, &self.identity, self.connection.require()?)?))
            .inspect_err(|failure| {
                log::debug!("The locked rows could not be probed: {failure}");
                if failure.is_connection_lost() {
                    self.connection.conn = None;
                }
            })
            .ok()
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
