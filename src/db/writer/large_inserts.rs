//! The insert of a large command's new rows, on a thread and a connection of its own (`large.rs`).

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::batch::{Batch, BatchCommand, BatchPlan, Decision, RowNames};
use super::failure::{BatchFailure, BatchResult};
use super::job::Job;
use super::jobs::queue_is_full;
use super::plan::{Preinserted, insert_new_rows};
use crate::db::boot_instant::BootInstant;
use crate::db::engines::dialect;
use crate::db::engines::guarded::ExecMode;
use crate::db::{DbConnection, SetupError, thread};
use crate::fair_queue::surplus;

/// The interval at which an idle writer checks whether the rows are inserted.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// How long large commands are batches of their own after the second connection could not be opened, or hung.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);

/// Returns the connection with its transaction, and the inserted rows.
pub(super) type InsertThread = JoinHandle<BatchResult<(DbConnection, Preinserted)>>;

/// The inserts of large jobs, one at a time.
pub(super) struct LargeInserts<B: Batch> {
    pending: Option<LargeInsert<B>>,
    /// The most jobs that wait for the rows of an insert.
    max_waiting: usize,
    /// The time until which large jobs are batches of their own.
    paused_until: Option<Instant>,
}

/// A large job whose new rows are being inserted.
pub(super) struct LargeInsert<B: Batch> {
    pub job: Job<B>,
    pub thread: InsertThread,
    pub began: Instant,
    /// How often the writer's connection was opened again before the insert began.
    pub reopened: u64,
    /// Jobs that need a row of this insert.
    pub waiting: Vec<Job<B>>,
    rows: RowNames,
    /// When the writer no longer waits for the thread.
    give_up_at: Instant,
}

impl<B: Batch> LargeInsert<B> {
    fn is_due(&self) -> bool {
        self.thread.is_finished() || self.give_up_at <= Instant::now()
    }
}

impl<B: Batch> LargeInserts<B> {
    pub fn new(max_waiting: usize) -> LargeInserts<B> {
        LargeInserts {
            pending: None,
            max_waiting,
            paused_until: None,
        }
    }

    pub fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// When the pending insert is due; `None` without a pending insert.
    pub fn due_at(&self) -> Option<Instant> {
        let (insert, now) = (self.pending.as_ref()?, Instant::now());
        Some(if insert.is_due() { now } else { now + POLL_INTERVAL })
    }

    /// Takes the pending insert, if its thread has ended or hangs.
    pub fn take_due(&mut self) -> Option<LargeInsert<B>> {
        self.pending.take_if(|insert| insert.is_due())
    }

    /// Whether large jobs are batches of their own until the pause has ended.
    pub fn is_paused(&self) -> bool {
        self.paused_until.is_some_and(|end| end > Instant::now())
    }

    /// Notes that the thread inserts the new rows of the job.
    pub fn begin(&mut self, job: Job<B>, thread: InsertThread, began: Instant, reopened: u64) {
        self.pending = Some(LargeInsert {
            give_up_at: Instant::now() + job.deadline.saturating_duration_since(BootInstant::now()) / 2,
            rows: job.command.new_rows(),
            job,
            thread,
            began,
            reopened,
            waiting: Vec::new(),
        });
    }

    /// Sets aside the jobs with a row of the pending insert, and returns the rest. Refuses the surplus of the jobs set
    /// aside.
    pub fn set_aside(&mut self, jobs: Vec<Job<B>>, batch: &B) -> Vec<Job<B>> {
        let Some(insert) = &mut self.pending else {
            return jobs;
        };
        let (waiting, free): (Vec<_>, Vec<_>) = jobs
            .into_iter()
            .partition(|job| batch.needs(&job.command, &insert.rows));
        insert.waiting.extend(waiting);
        let places = surplus(insert.waiting.iter().map(|job| &job.caller), self.max_waiting);
        for at in places {
            insert.waiting.remove(at).answer(Decision::Refused(queue_is_full()));
        }
        free
    }

    /// The connection with the inserted rows. Each failure is a conflict, because nothing was decided.
    pub fn join(&mut self, thread: InsertThread) -> BatchResult<(DbConnection, Preinserted)> {
        if !thread.is_finished() {
            // The thread rolls back when it ends.
            self.pause("it hangs");
            return Err(BatchFailure::Conflict);
        }
        thread.join().unwrap_or(Err(BatchFailure::Panicked)).map_err(|failure| {
            match &failure {
                BatchFailure::Setup(error) => self.pause(&error.to_string()),
                other => log::debug!("The rows of a large command could not be inserted beside others: {other}"),
            }
            BatchFailure::Conflict
        })
    }

    fn pause(&mut self, reason: &str) {
        self.paused_until = Some(Instant::now() + RETRY_INTERVAL);
        log::warn!(
            "Requests with many consumers delay other writes for {} s, because the connection to insert their rows \
             cannot be used: {reason}",
            RETRY_INTERVAL.as_secs()
        );
    }
}

/// Starts the thread that inserts the new rows of the plan on the connection that `open` returns.
pub(super) fn start_thread<B: Batch>(
    plan: BatchPlan<B>,
    mode: ExecMode,
    open: impl FnOnce() -> BatchResult<DbConnection> + Send + 'static,
) -> Result<InsertThread, SetupError> {
    thread::spawn("placet-insert", move || {
        let mut conn = open()?;
        dialect::begin_write(&mut conn)?;
        let lock_set = plan.written.clone();
        match insert_new_rows(&mut conn, plan, mode) {
            Ok(writes) => Ok((conn, Preinserted { writes, lock_set })),
            Err(failure) => {
                // Only a rollback frees the rows now: the server notices a closed connection later.
                dialect::rollback(&mut conn)?;
                Err(failure)
            }
        }
    })
}
