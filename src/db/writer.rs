//! The only writer of a process: a thread with its own connection that commits commands from a bounded queue.
//!
//! All commands that are queued when the writer begins a batch share one transaction (group commit). The transaction
//! also raises the revision of this writer's row in `placet_writers`, and inserts a row of `placet_changes` that says
//! what it changed. Other processes read both as a change feed ([`super::change_feed`]).
//!
//! Happy path: the batch is planned on the snapshot, written with guards by one statement (`plan.rs`), committed,
//! published into the snapshot, and answered. On a database server the next batch is planned during the commit
//! (`pipeline.rs`).
//!
//! Unhappy paths:
//! - a command is refused on the snapshot: the batch is written without it, and its caller verifies the refusal;
//! - a row is held by another transaction: the commands that need it are parked (`held_rows.rs`);
//! - a guard fails: the batch is tried again by the next [`CommitStrategy`], until its commands' deadlines pass;
//! - the database refuses something, and one command may be the cause: the batch is halved until that one is alone;
//! - COMMIT ends with an error: its outcome is in doubt, and a fence decides it (`in_doubt.rs`).
//!
//! The writer does not know what a command means: the [`Batch`] does.

mod answer_pruning;
mod batch;
mod commit_thread;
pub mod failure;
mod heartbeat;
mod held_rows;
mod held_rows_log;
pub mod identity;
mod in_doubt;
mod large;
mod pessimistic;
mod pipeline;
mod plan;
pub mod pruning;
pub mod queue;
mod retrying;
mod settings;
pub mod statistics;
mod strategy;
#[cfg(test)]
mod tests;
mod transaction;
mod waiting;
pub mod write_state;

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::boot_instant::BootInstant;
use super::engines::dialect;
use super::engines::dialect::Capabilities;
use super::wal_checkpointer::WalCheckpointer;
pub use super::wal_checkpointer::WalLimits;
use super::{Database, DbConnection, SetupError, thread};
use crate::error::Error;
use crate::mutants::{self, Mutant};
use answer_pruning::AnswerPruning;
pub use batch::{Batch, BatchChange, BatchCommand, Decision, Executed, LockSet, RowNames};
use commit_thread::CommitThread;
use failure::BatchFailure;
use held_rows::Parked;
use identity::Identity;
use large::LargeInserts;
pub use plan::BatchPlan;
use queue::{Job, WriterHandle, queue};
pub use settings::WriterSettings;
use statistics::WriterStatistics;
use strategy::CommitStrategy;
use waiting::Waiting;

/// The pause before a batch or a connection attempt is retried.
const RETRY_PAUSE: Duration = Duration::from_millis(20);
/// The time between two heartbeats. With each one, the writer prunes changes and writers that are too old to be
/// followed.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(60);
/// The same while the database refuses writes: each heartbeat tries whether that is over.
const TRIAL_INTERVAL: Duration = Duration::from_secs(2);

/// Starts the writer's thread. Returns when `build` has made the batch, with what else it made.
///
/// `build` runs on the writer's thread and connection, after the writer's row was inserted. What it allocates is
/// later freed by the same thread, so that an allocator with an arena for each thread can use that memory again.
pub fn start<B: Batch, T: Send + 'static>(
    database: Database,
    settings: &WriterSettings,
    build: impl FnOnce(&mut DbConnection) -> std::result::Result<(B, T), SetupError> + Send + 'static,
) -> std::result::Result<(WriterHandle<B>, T, JoinHandle<()>), SetupError> {
    let (handle, jobs) = queue(settings);
    let (settings, statistics) = (settings.clone(), Arc::clone(handle.statistics()));
    let (report, started) = channel();
    let thread = thread::spawn("placet-writer", move || {
        match Writer::new(database, &settings, jobs, statistics, build) {
            Ok((writer, built)) => {
                if report.send(Ok(built)).is_ok() {
                    let _guard = thread::StopOnPanic;
                    writer.run();
                }
            }
            // Without a receiver the caller is gone, and needs no report.
            Err(error) => drop(report.send(Err(error))),
        }
    })?;
    let built = started.recv().map_err(|_| SetupError::Thread {
        detail: "the writer met a defect of placet while it read the tables: report it with the lines before this one"
            .to_owned(),
    })?;
    Ok((handle, built?, thread))
}

/// Opens the writer's connection, and queries what it can do in one round trip.
fn connect(
    database: &Database,
    checkpointer: Option<&WalCheckpointer>,
) -> std::result::Result<(DbConnection, Capabilities), SetupError> {
    let mut conn = database.connect()?;
    if let Some(checkpointer) = checkpointer {
        checkpointer.defer_auto_checkpoint(&mut conn)?;
    }
    let capabilities = dialect::capabilities(&mut conn)?;
    Ok((conn, capabilities))
}

struct Writer<B: Batch> {
    database: Database,
    /// `None` while the commit thread uses it, and from its loss until the next attempt.
    conn: Option<DbConnection>,
    /// What the connection can do in one round trip.
    capabilities: Capabilities,
    /// Writes and commits plans while the next batch is planned. `None` if that is not worth a thread, as on SQLite,
    /// or if the thread panicked.
    commit_thread: Option<CommitThread>,
    /// `None` on engines that checkpoint by themselves.
    checkpointer: Option<WalCheckpointer>,
    identity: Identity,
    batch: B,
    waiting: Waiting<B>,
    large: LargeInserts<B>,
    /// How often the connection was opened after it was lost.
    reconnects: u64,
    /// Peers are known to have committed what the snapshot lacks: the change feed is read before the next plan.
    is_stale: bool,
    /// Jobs that are no longer in the queue wait for the current batch to end.
    has_waiters: bool,
    /// How many batches were planned during the commit of the one before, and submitted after it.
    pipelined: u64,
    /// `commit_timeout`.
    timeout: Duration,
    /// Jobs that wait for rows which other transactions have locked.
    parked: Parked<B>,
    /// How long a statement waits for a lock.
    lock_wait: Duration,
    last_heartbeat: Instant,
    answer_pruning: AnswerPruning,
    statistics: Arc<WriterStatistics>,
}

type BatchResult<T> = std::result::Result<T, BatchFailure>;

impl<B: Batch> Writer<B> {
    fn new<T>(
        database: Database,
        settings: &WriterSettings,
        queue: Receiver<Job<B>>,
        statistics: Arc<WriterStatistics>,
        build: impl FnOnce(&mut DbConnection) -> std::result::Result<(B, T), SetupError>,
    ) -> std::result::Result<(Writer<B>, T), SetupError> {
        let checkpointer = WalCheckpointer::start(&database, settings.wal)?;
        let (mut conn, capabilities) = connect(&database, checkpointer.as_ref())?;
        let identity = Identity::register(&mut conn)?;
        database.guard().begin(&database, identity.id())?;
        let lock_wait = dialect::LOCK_WAIT.min(database.lock_timeout());
        dialect::set_lock_timeout(&mut conn, lock_wait)?;
        let (batch, built) = build(&mut conn)?;
        let commit_thread = capabilities.compound_writes.then(CommitThread::start).transpose()?;
        let writer = Writer {
            database,
            conn: Some(conn),
            capabilities,
            commit_thread,
            checkpointer,
            identity,
            batch,
            waiting: Waiting::new(queue, settings.commit_timeout),
            large: LargeInserts::default(),
            reconnects: 0,
            is_stale: false,
            has_waiters: false,
            pipelined: 0,
            timeout: settings.commit_timeout,
            parked: Parked::new(settings.queue_size),
            lock_wait,
            last_heartbeat: Instant::now(),
            answer_pruning: AnswerPruning::new(settings.claim_memory),
            statistics,
        };
        Ok((writer, built))
    }

    fn run(mut self) {
        while self.wait_for_jobs() {
            let jobs = self.waiting.take_small(&[]);
            let (plannable, unplannable): (Vec<_>, Vec<_>) = jobs.into_iter().partition(Job::is_plannable);
            self.has_waiters = !unplannable.is_empty();
            self.commit_batch(plannable);
            self.has_waiters = false;
            self.commit_batch(unplannable);
            self.advance_large();
            mutants::panic_as(Mutant::PanicInWriter);
        }
    }

    /// Commits the jobs that need no held row, and parks the others.
    fn commit_batch(&mut self, jobs: Vec<Job<B>>) {
        let jobs = self.park(jobs);
        self.statistics.parked.set(self.parked.count());
        if !jobs.is_empty() {
            let began = Instant::now();
            self.commit_or_refuse(jobs);
            self.statistics.batch_times.record_time(began.elapsed());
            self.notify_checkpointer();
        }
    }

    /// Reports the commit to the checkpointer, and finishes its checkpoint on request. Runs after the callers of the
    /// batch were answered, so that none of them waits for it.
    fn notify_checkpointer(&mut self) {
        let (Some(checkpointer), Some(conn)) = (&self.checkpointer, &mut self.conn) else {
            return;
        };
        if !checkpointer.after_batch(conn, self.lock_wait) {
            self.conn = None;
        }
    }

    /// Waits until there are jobs to commit; false once the queue is closed and nothing waits or is parked. Sends the
    /// heartbeat when it is due, with or without jobs.
    fn wait_for_jobs(&mut self) -> bool {
        loop {
            let until_heartbeat = self.heartbeat_interval().saturating_sub(self.last_heartbeat.elapsed());
            if until_heartbeat.is_zero() {
                self.last_heartbeat = Instant::now();
                self.heartbeat();
            }
            self.prune_answers();
            self.retry_parked();
            self.statistics.parked.set(self.parked.count());
            if self.has_due() {
                return true;
            }
            let due_at = self.parked.due_at().into_iter().chain(self.large_due_at());
            let until_due = due_at.min().map(|at| at.saturating_duration_since(Instant::now()));
            let until_upkeep = until_heartbeat.min(self.answer_pruning.until_due());
            match self.waiting.wait(until_upkeep.min(until_due.unwrap_or(until_upkeep))) {
                Ok(()) => return true,
                Err(RecvTimeoutError::Disconnected) => match until_due {
                    Some(until_due) if self.has_unanswered() => std::thread::sleep(until_due),
                    _ => return false,
                },
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Whether a job that was taken from the queue has no answer yet.
    fn has_unanswered(&self) -> bool {
        self.waiting.has_deferred() || self.parked.count() > 0 || self.large_due_at().is_some()
    }

    /// Answers each job with its decision. A job that may be granted when a held row is free is parked, once the tables
    /// have said so.
    fn answer(&mut self, jobs: Vec<Job<B>>, decisions: Vec<Decision<B::Answer>>) {
        for (job, decision) in jobs.into_iter().zip(decisions) {
            match decision {
                Decision::Held if job.from_database => self.parked.push(vec![job]),
                Decision::Held => job.answer(Decision::Unverified),
                decision => job.answer(decision),
            }
        }
    }

    /// Whether a job that was taken from the queue may be committed now.
    fn has_due(&self) -> bool {
        self.waiting.has_deferred() || self.large_due_at().is_some_and(|at| at <= Instant::now())
    }

    /// The connection, opened again if it was lost. After a failover or a restore, the database may lack what the
    /// snapshot shows.
    fn connected(&mut self) -> BatchResult<&mut DbConnection> {
        if self.conn.is_none() {
            let (mut conn, capabilities) = connect(&self.database, self.checkpointer.as_ref())?;
            dialect::set_lock_timeout(&mut conn, self.lock_wait)?;
            catch_panic(|| self.batch.reconnected(&mut conn)).ok_or(BatchFailure::Panicked)??;
            self.capabilities = capabilities;
            self.conn = Some(conn);
            self.reconnects += 1;
        }
        require_conn(&mut self.conn)
    }

    /// Reads the change feed, outside of a transaction.
    fn follow(&mut self) -> BatchResult<()> {
        self.connected()?;
        let conn = require_conn(&mut self.conn)?;
        catch_panic(|| self.batch.follow(conn)).ok_or(BatchFailure::Panicked)??;
        Ok(())
    }
}

/// Refuses the jobs whose deadline has passed, and returns the rest.
fn refuse_expired<B: Batch>(jobs: Vec<Job<B>>) -> Vec<Job<B>> {
    refuse_expired_with(jobs, |_| "The database is too slow to keep up.".to_owned())
}

/// The same, with the detail for each of the jobs.
fn refuse_expired_with<B: Batch>(jobs: Vec<Job<B>>, detail: impl Fn(&Job<B>) -> String) -> Vec<Job<B>> {
    let (timely, expired): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.deadline > BootInstant::now());
    for job in expired {
        let detail = detail(&job);
        job.answer(Decision::Refused(Error::Busy { detail }));
    }
    timely
}

fn commands<B: Batch>(jobs: &[Job<B>]) -> Vec<&B::Command> {
    jobs.iter().map(|job| &job.command).collect()
}

/// The connection, which [`Writer::connected`] opened at the beginning of the attempt.
fn require_conn(conn: &mut Option<DbConnection>) -> BatchResult<&mut DbConnection> {
    conn.as_mut().ok_or(BatchFailure::Conflict)
}

/// Answers all jobs with an error: nothing of them was committed, or the outcome is unknown.
fn refuse<B: Batch>(jobs: Vec<Job<B>>, error: &Error) {
    log::error!(
        "A batch of {} commands was not committed: {}",
        jobs.len(),
        error.for_log()
    );
    for job in jobs {
        job.answer(Decision::Refused(error.clone()));
    }
}

/// Runs code that may panic because of a defect, which must not end the writer. `None` if it panicked.
fn catch_panic<T>(run: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).ok()
}
