//! The one writer of a process: a thread with a connection of its own that takes commands from a bounded queue.
//!
//! Whatever waits when it turns to the queue becomes one transaction. In it the writer raises the revision of its own
//! row and leaves a row that says what changed, so that any process can follow (ARCHITECTURE.md, rule 3). What a batch
//! is, it does not know.

mod ahead;
mod batch;
mod doubt;
mod hand;
mod house;
mod patience;
mod plan;
mod transaction;
mod turn;

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::dialect::AtOnce;
use super::failure::Failure;
use super::identity::Identity;
pub use super::mover::Bounds;
use super::mover::Mover;
use super::queue::{Job, WriterHandle, queue};
use super::{Database, DbConnection, SetupError, dialect, thread};
use crate::error::{Error, Result};
pub use batch::{Batch, Ran};
use hand::Hand;
pub use plan::{Plan, Planned};
use transaction::Written;

/// How the writer works.
#[derive(Debug, Clone)]
pub struct WriterSettings {
    /// Commands that may wait; one more is refused at once.
    pub queue_size: usize,
    /// How long a command may wait for its turn, and a batch may try to be committed.
    pub commit_timeout: Duration,
    /// How long SQLite's log may get.
    pub log: Bounds,
}

/// The most commands in one transaction: enough to make its fixed cost vanish, few enough to stay quick.
const BATCH_MAX: usize = 256;
/// How long the writer waits before it tries a batch or a connection again.
const PAUSE: Duration = Duration::from_millis(20);
/// How often the writer says that it lives, and clears away what nobody will follow any more.
const HOUSEKEEPING: Duration = Duration::from_secs(60);

/// Starts the writer's thread, and waits until the batch is built: there, on the writer's own connection, after its row is
/// there. What it keeps in memory the same thread replaces later, so that allocators that have memory for each thread use it
/// again. With the batch comes what else is made of it.
pub fn start<B: Batch, T: Send + 'static>(
    database: Database,
    settings: &WriterSettings,
    batch: impl FnOnce(&mut DbConnection) -> std::result::Result<(B, T), SetupError> + Send + 'static,
) -> std::result::Result<(WriterHandle<B>, T, JoinHandle<()>), SetupError> {
    let (handle, jobs) = queue(settings);
    let settings = settings.clone();
    let (tell, told) = channel();
    let thread = thread::spawn("placet-writer", move || {
        match Writer::new(database, &settings, jobs, batch) {
            Ok((writer, made)) => {
                if tell.send(Ok(made)).is_ok() {
                    writer.work();
                }
            }
            // Whoever is not there any more need not be told.
            Err(error) => drop(tell.send(Err(error))),
        }
    })?;
    let made = told.recv().map_err(|_| SetupError::Thread {
        detail: "the writer met a defect of placet while it read the tables: report it with the lines before this one"
            .to_owned(),
    })?;
    Ok((handle, made?, thread))
}

/// A connection for the writer, and what can be done on it at once.
fn connect(database: &Database, mover: Option<&Mover>) -> std::result::Result<(DbConnection, AtOnce), SetupError> {
    let mut conn = database.connect()?;
    if let Some(mover) = mover {
        mover.relieve(&mut conn)?;
    }
    let at_once = dialect::at_once(&mut conn)?;
    Ok((conn, at_once))
}

struct Writer<B: Batch> {
    database: Database,
    /// `None` after it was lost, until the next try, and while it is handed over.
    conn: Option<DbConnection>,
    /// What `dialect` says of the connection.
    at_once: AtOnce,
    /// Who writes plans while others are decided, where that takes time.
    hand: Option<Hand>,
    /// Where the engine leaves its log to us.
    mover: Option<Mover>,
    identity: Identity,
    batch: B,
    queue: Receiver<Job<B>>,
    /// Jobs that were taken from the queue for a turn that was not theirs: the next ones.
    aside: Vec<Job<B>>,
    /// Others were seen to have committed something, which is to be followed.
    behind: bool,
    /// Somebody waits who was taken from the queue before, for the end of what is carried out.
    others_wait: bool,
    /// How many batches were decided behind another one, and committed or tried after it.
    successors: u64,
    patience: Duration,
    /// Whether the session waits for locks less long than it does as a rule.
    hurried: bool,
    kept_house: Instant,
}

type Attempt<T> = std::result::Result<T, Failure>;

/// How a batch is tried: each way is longer than the one before it, and less easily overtaken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Way {
    /// Commands that may be planned are, and they wait for a turn only where one is known to be needed.
    Short,
    /// They wait for a turn.
    InTurn,
    /// All is decided on the database.
    OnDatabase,
}

impl Way {
    /// After a try that failed. Being behind changes nothing the first time: then others are followed.
    fn after(self, failure: &Failure, was_behind: bool, may_be_planned: bool) -> Way {
        match failure {
            Failure::Behind if !was_behind => self,
            Failure::Behind | Failure::Undecided => Way::OnDatabase,
            _ if !failure.is_somebody_in_the_way() => self,
            _ if self == Way::Short && may_be_planned => Way::InTurn,
            _ => Way::OnDatabase,
        }
    }
}

impl<B: Batch> Writer<B> {
    fn new<T>(
        database: Database,
        settings: &WriterSettings,
        queue: Receiver<Job<B>>,
        batch: impl FnOnce(&mut DbConnection) -> std::result::Result<(B, T), SetupError>,
    ) -> std::result::Result<(Writer<B>, T), SetupError> {
        let mover = Mover::start(&database, settings.log)?;
        let (mut conn, at_once) = connect(&database, mover.as_ref())?;
        let identity = Identity::register(&mut conn)?;
        let (batch, made) = batch(&mut conn)?;
        let hand = at_once.writes.then(Hand::start).transpose()?;
        let writer = Writer {
            database,
            conn: Some(conn),
            at_once,
            hand,
            mover,
            identity,
            batch,
            queue,
            aside: Vec::new(),
            behind: false,
            others_wait: false,
            successors: 0,
            patience: settings.commit_timeout,
            hurried: false,
            kept_house: Instant::now(),
        };
        Ok((writer, made))
    }

    fn work(mut self) {
        while let Some(first) = self.next() {
            let room = BATCH_MAX.saturating_sub(1 + self.aside.len());
            let waiting: Vec<Job<B>> = std::mem::take(&mut self.aside)
                .into_iter()
                .chain([first])
                .chain(self.queue.try_iter().take(room))
                .collect();
            let (plannable, others): (Vec<_>, Vec<_>) =
                waiting.into_iter().partition(|job| B::may_be_planned(&job.command));
            let others_wait = !others.is_empty();
            for (jobs, others_wait) in [(plannable, others_wait), (others, false)] {
                let timely = in_time(jobs);
                if !timely.is_empty() {
                    self.others_wait = others_wait;
                    self.carry_out(timely);
                    self.calm_down();
                    self.see_to_the_log();
                }
            }
        }
    }

    /// Nobody waits for this: those of the batch are answered.
    fn see_to_the_log(&mut self) {
        let (Some(mover), Some(conn)) = (&self.mover, &mut self.conn) else {
            return;
        };
        if !mover.after_batch(conn, self.database.lock_timeout()) {
            self.conn = None;
        }
    }

    /// The next job; `None` when there will be no more. Keeps house when it is time, whether there is work or not.
    fn next(&mut self) -> Option<Job<B>> {
        loop {
            let left = HOUSEKEEPING.saturating_sub(self.kept_house.elapsed());
            if left.is_zero() {
                self.kept_house = Instant::now();
                self.keep_house();
            }
            if let Some(job) = self.aside.pop() {
                return Some(job);
            }
            match self.queue.recv_timeout(left) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// The connection, made anew where it was lost. What a new one shows may be another database's past.
    fn connected(&mut self) -> Attempt<&mut DbConnection> {
        if self.conn.is_none() {
            let (conn, at_once) = connect(&self.database, self.mover.as_ref())?;
            self.at_once = at_once;
            self.conn = Some(conn);
            self.batch.doubt();
        }
        ready(&mut self.conn)
    }

    fn follow(&mut self) -> Attempt<()> {
        self.connected()?;
        let conn = ready(&mut self.conn)?;
        contain(|| self.batch.follow(conn)).ok_or(Failure::Panicked)??;
        Ok(())
    }

    /// Commits the jobs together; where the database refuses them, halves them until the guilty one stands alone.
    fn carry_out(&mut self, mut jobs: Vec<Job<B>>) {
        match self.try_until_patience_ends(&mut jobs) {
            Ok(answers) => {
                for (job, result) in jobs.into_iter().zip(answers) {
                    job.answer(result);
                }
            }
            Err(failure) if jobs.len() > 1 && failure.may_be_one_commands_fault() => {
                let second = jobs.split_off(jobs.len() / 2);
                let others_wait = std::mem::replace(&mut self.others_wait, true);
                self.carry_out(jobs);
                self.others_wait = others_wait;
                self.carry_out(second);
            }
            Err(failure) => refuse(jobs, &failure.into_error()),
        }
    }

    /// Tries to commit the jobs. Who cannot wait any longer is refused meanwhile, and is none of them afterwards.
    fn try_until_patience_ends(&mut self, jobs: &mut Vec<Job<B>>) -> Attempt<Vec<Result<B::Answer>>> {
        let (mut way, mut was_behind) = (Way::Short, false);
        loop {
            let may_be_planned = jobs.iter().all(|job| B::may_be_planned(&job.command));
            let successors = self.successors;
            let failure = match self.hurry(jobs).and_then(|()| self.transaction(jobs, way)) {
                Ok(answers) => return Ok(answers),
                Err(failure) => failure,
            };
            if failure.lost_connection() {
                self.conn = None;
            }
            if matches!(failure, Failure::Displaced) {
                self.take_new_identity();
            }
            self.behind |= matches!(failure, Failure::Behind);
            if !failure.may_be_tried_again() {
                return Err(failure);
            }
            jobs.iter().for_each(|job| job.permit.reopen());
            let (waiting, late): (Vec<_>, Vec<_>) = jobs.drain(..).partition(Job::is_waited_for);
            *jobs = waiting;
            if !late.is_empty() {
                refuse(late, &failure.for_the_impatient());
            }
            if jobs.is_empty() {
                return Ok(Vec::new());
            }
            log::debug!("A batch is tried again: {failure}");
            if way == Way::OnDatabase || !failure.is_somebody_in_the_way() {
                std::thread::sleep(PAUSE);
            }
            if self.successors != successors {
                // The jobs are others than those that were tried before.
                (way, was_behind) = (Way::Short, false);
            }
            way = way.after(&failure, was_behind, may_be_planned);
            was_behind |= matches!(failure, Failure::Behind);
        }
    }
}

/// Those that can still wait; the others are refused.
fn in_time<B: Batch>(jobs: Vec<Job<B>>) -> Vec<Job<B>> {
    let (timely, late): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.deadline > Instant::now());
    for job in late {
        job.answer(Err(Error::Busy {
            detail: "The database is too slow to keep up.".to_owned(),
        }));
    }
    timely
}

fn commands<B: Batch>(jobs: &[Job<B>]) -> Vec<&B::Command> {
    jobs.iter().map(|job| &job.command).collect()
}

/// A connection that was just made sure of.
fn ready(conn: &mut Option<DbConnection>) -> Attempt<&mut DbConnection> {
    conn.as_mut().ok_or(Failure::Overtaken)
}

/// Tells them all that nothing of theirs was done, or why nobody knows.
fn refuse<B: Batch>(jobs: Vec<Job<B>>, error: &Error) {
    log::error!("A batch of {} changes was not committed: {error}", jobs.len());
    for job in jobs {
        job.answer(Err(error.clone()));
    }
}

/// Runs what may meet a defect of placet: a panic must not end the writer. `None` where it panicked.
fn contain<T>(run: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).ok()
}
