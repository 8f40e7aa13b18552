//! Large commands on a database server: their new rows are inserted on a connection of their own, while the writer goes
//! on with other commands.
//!
//! Naively, a command with a thousand consumers is one batch, and each claim that comes after it waits until thousands of
//! rows are written.
//!
//! Most of these rows are new ones, of consumers and their allocations. They block only commands for the same consumers,
//! so they can be inserted early, as a locked batch does (`pessimistic.rs`). Commands that need one of these consumers
//! are set aside until the transaction ends.
//!
//! Happy path: plan on the snapshot, and insert the new rows on the second connection, in a thread. When they are there,
//! the writer catches up and plans again, writes what is left (the providers' generations and its own row), and commits.
//! Only that last part delays others.
//!
//! Unhappy path: whatever fails rolls the transaction back, and the command is committed as a batch of its own.
//!
//! Measured with 32 clients that claim for one consumer each, beside one that claims for a thousand: the 99th percentile
//! of the small claims, divided by what it is without the large ones. On PostgreSQL it fell from 6.6 to 2.3, on MariaDB
//! from 9.2 to 2.2, and twice as many small claims were granted. SQLite has one writer at a time, so it gains nothing.

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::batch::{BatchCommand, Decision, HeldRows};
use super::failure::BatchFailure;
use super::pessimistic::Preinserted;
use super::plan::insert_new_rows;
use super::{Batch, BatchResult, Job, Writer, answer, catch_panic, commands, connect, refuse, refuse_expired};
use crate::db::engines::dialect;
use crate::db::engines::guarded::{ExecMode, GuardedWrite};
use crate::db::{DbConnection, thread};

/// A large job whose new rows are being inserted.
pub(super) struct LargeInsert<B: Batch> {
    job: Job<B>,
    /// The rows that it inserts.
    rows: HeldRows,
    thread: InsertThread,
    /// Jobs that need one of the rows.
    waiting: Vec<Job<B>>,
}

/// How often the writer looks whether the rows are inserted, if nothing else occupies it.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Returns the connection with the transaction, and what is inserted.
type InsertThread = JoinHandle<BatchResult<(DbConnection, Preinserted)>>;

impl<B: Batch> Writer<B> {
    /// When a large job may begin or end; `None` if there is none.
    pub(super) fn large_due_at(&self) -> Option<Instant> {
        match &self.large {
            None => self.waiting.large_due_at(),
            Some(insert) if insert.thread.is_finished() => Some(Instant::now()),
            Some(_) => Some(Instant::now() + POLL_INTERVAL),
        }
    }

    /// Begins or ends a large job, if one is due.
    pub(super) fn advance_large(&mut self) {
        let began = Instant::now();
        if let Some(insert) = self.large.take_if(|insert| insert.thread.is_finished()) {
            self.finish_large(insert);
        } else if self.large.is_none()
            && let Some(job) = self.waiting.take_large()
        {
            self.begin_large(job);
        } else {
            return;
        }
        self.waiting.release_large(began);
    }

    /// Begins to insert the rows of a large job, or commits it if it has none that can be inserted early.
    fn begin_large(&mut self, job: Job<B>) {
        let mut jobs = self.park(vec![job]);
        match self.start_insert(&jobs) {
            Ok(Some(thread)) => {
                self.large = jobs.pop().map(|job| LargeInsert {
                    rows: job.command.new_rows(),
                    job,
                    thread,
                    waiting: Vec::new(),
                });
            }
            Ok(None) => self.commit_batch(jobs),
            Err(failure) => {
                log::debug!("A large command is committed as a batch of its own: {failure}");
                self.commit_batch(jobs);
            }
        }
    }

    /// Starts the thread that inserts the new rows of the jobs. `None` if there are no jobs, if they cannot be planned, or
    /// if their plan inserts nothing.
    fn start_insert(&mut self, jobs: &[Job<B>]) -> BatchResult<Option<InsertThread>> {
        if jobs.is_empty() || self.commit_thread.is_none() || !jobs.iter().all(Job::is_plannable) {
            return Ok(None);
        }
        self.connected()?;
        let Some(plan) = self.plan(&commands(jobs))? else {
            return Ok(None);
        };
        if !plan.writes.iter().any(GuardedWrite::inserts_only) {
            return Ok(None);
        }
        let (database, lock_wait) = (self.database.clone(), self.lock_wait);
        let thread: InsertThread = thread::spawn("placet-insert", move || {
            let lock_set = plan.lock_set(false).clone();
            let (mut conn, capabilities) = connect(&database, None)?;
            dialect::set_lock_timeout(&mut conn, lock_wait)?;
            dialect::begin_write(&mut conn)?;
            let writes = insert_new_rows(&mut conn, plan, ExecMode::in_transaction(capabilities))?;
            Ok((conn, Preinserted { writes, lock_set }))
        })?;
        Ok(Some(thread))
    }

    /// Sets the jobs aside that need a row which is being inserted, and returns the others.
    pub(super) fn set_aside(&mut self, jobs: Vec<Job<B>>) -> Vec<Job<B>> {
        let Some(insert) = &mut self.large else {
            return jobs;
        };
        let (waiting, free): (Vec<_>, Vec<_>) = jobs
            .into_iter()
            .partition(|job| self.batch.needs(&job.command, &insert.rows));
        insert.waiting.extend(waiting);
        free
    }

    /// Commits a large job whose rows are inserted. After a failure it is committed as a batch of its own.
    fn finish_large(&mut self, insert: LargeInsert<B>) {
        let LargeInsert {
            job,
            thread,
            waiting,
            rows: _,
        } = insert;
        self.waiting.defer(waiting);
        let jobs = refuse_expired(vec![job]);
        let inserted = thread.join().unwrap_or(Err(BatchFailure::Panicked));
        if jobs.is_empty() {
            return;
        }
        let committed = match inserted {
            Ok((conn, preinserted)) => self.commit_inserted(&jobs, conn, &preinserted),
            // Nothing was decided, whatever the error is.
            Err(failure) => {
                log::debug!("The rows of a large command could not be inserted beside others: {failure}");
                Err(BatchFailure::Conflict)
            }
        };
        match committed {
            Ok(decisions) => answer(jobs, decisions),
            Err(failure) if failure.is_retryable() => {
                jobs.iter().for_each(|job| job.gate.reopen());
                self.commit_batch(jobs);
            }
            Err(failure) => refuse(jobs, &failure.into_error()),
        }
    }

    /// Writes what is left of a job on the connection with its transaction, and commits.
    fn commit_inserted(
        &mut self,
        jobs: &[Job<B>],
        conn: DbConnection,
        preinserted: &Preinserted,
    ) -> BatchResult<Vec<Decision<B::Answer>>> {
        let own = self.conn.replace(conn);
        let executed = catch_panic(|| self.execute_preinserted(jobs, preinserted));
        let ended = self.end(jobs, executed);
        self.conn = own;
        ended
    }
}
