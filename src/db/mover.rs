//! Moves what SQLite's log has into its file, on a thread and a connection of its own, so that hardly a commit waits for it.
//!
//! A log begins anew only when all of it was moved, and while somebody writes that is never so. So the thread moves all of it
//! when nobody has written for a moment; or where somebody always does it moves pages until few are left, and asks the
//! writer to move those between two batches. That they are on the disk before the log begins anew is SQLite's business; what
//! the thread has brought there before only leaves less to be done.

mod ask;

use std::fs::File;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::dialect::{self, Log, Move, Purpose};
use super::url::Target;
use super::{Database, DbConnection, SetupError, thread};
use ask::{Asked, Heard};

/// How long a log may get, in pages.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// With so many that are not in the file they are moved. Many of them were written several times by then, and go once.
    pub begin: i32,
    /// So many are worth it where nobody is in the way: they are moved when nobody has committed for a moment.
    pub quiet: i32,
    /// So few are left to the writer: less than a commit's time.
    pub rest: i32,
    /// From here on the writer is asked however many are left: it writes faster than the disk takes what it wrote.
    pub most: i32,
}

impl Default for Bounds {
    /// Of 4 KB each: 96 MB, 4 MB, 4 MB and 192 MB.
    fn default() -> Self {
        Bounds {
            begin: 24_000,
            quiet: 1_000,
            rest: 1_000,
            most: 48_000,
        }
    }
}

/// How often the log is looked at while there are commits, and how often where it is long and could not begin anew.
const LOOK: Duration = Duration::from_millis(20);
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// After so long without a commit nobody is in the way.
const QUIET: Duration = Duration::from_millis(100);
/// How often pages are moved at most before the writer is asked.
const ROUNDS: usize = 5;
/// How long the writer is waited for: one that does not come has no work, and is in nobody's way.
const ASK: Duration = Duration::from_millis(50);
/// How long the writer waits at most for those who read in the log that it finishes.
const READERS: Duration = Duration::from_millis(10);

/// The thread, as the writer sees it. It ends with this value.
pub struct Mover {
    asked: Arc<Asked>,
    bounds: Bounds,
    thread: Option<JoinHandle<()>>,
}

impl Mover {
    /// Starts the thread for a database that needs one.
    pub fn start(database: &Database, bounds: Bounds) -> Result<Option<Mover>, SetupError> {
        let path = match database.target() {
            Target::Sqlite(path) => path.clone(),
            #[cfg(any(feature = "postgresql", feature = "mariadb"))]
            _ => return Ok(None),
        };
        let asked = Arc::new(Asked::default());
        let mut mover = Moving {
            database: database.clone(),
            path,
            bounds,
            asked: asked.clone(),
            conn: None,
            file: None,
            tried: None,
        };
        let thread = thread::spawn("placet-mover", move || mover.work())?;
        Ok(Some(Mover {
            asked,
            bounds,
            thread: Some(thread),
        }))
    }

    /// Has commits on this connection move nothing themselves, unless the thread is gone or far behind.
    pub fn relieve(&self, conn: &mut DbConnection) -> diesel::QueryResult<()> {
        dialect::leave_log(conn, self.bounds.most.saturating_mul(2))
    }

    /// Tells the thread that there is more in the log; and where it asked for that, moves what is left on the writer's
    /// connection, whose statements wait for locks as long as `always`. False where nobody knows how long they wait now.
    pub fn after_batch(&self, conn: &mut DbConnection, always: Duration) -> bool {
        self.asked.tell_of_commit();
        self.asked.answer(|| finish(conn, always)).unwrap_or(true)
    }
}

fn finish(conn: &mut DbConnection, always: Duration) -> bool {
    let finished = dialect::wait_for_locks(conn, READERS).and_then(|()| dialect::move_log(conn, Move::All));
    if let Err(error) = finished {
        log::warn!("SQLite's log could not be finished: {error}");
    }
    dialect::wait_for_locks(conn, always).is_ok()
}

impl Drop for Mover {
    fn drop(&mut self) {
        self.asked.stop();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            log::error!("The thread that moves SQLite's log ended in a panic");
        }
    }
}

struct Moving {
    database: Database,
    path: PathBuf,
    bounds: Bounds,
    asked: Arc<Asked>,
    conn: Option<DbConnection>,
    /// The database's file, from the first move on. To close it would give back every lock that this process has on it, and
    /// SQLite's connections rely on theirs: so nobody ever does.
    file: Option<ManuallyDrop<File>>,
    /// When the log was last moved without beginning anew, and how many pages it had.
    tried: Option<(Instant, i32)>,
}

impl Moving {
    fn work(&mut self) {
        // What another process left behind is looked at first.
        let (mut again, mut pause) = (Some(LOOK), LOOK);
        while let Some(heard) = self.asked.wait_for_commit(again, pause) {
            (again, pause) = match self.look(heard) {
                Ok(log) => (self.next_look(log), LOOK),
                Err(why) => {
                    log::warn!("SQLite's log could not be moved into its file: {why}");
                    self.conn = None;
                    (Some(LOOK_AGAIN), LOOK_AGAIN)
                }
            };
        }
    }

    /// After how long the log is looked at again where no commit comes before that.
    fn next_look(&self, log: Log) -> Option<Duration> {
        let pause = if self.tried.is_some() { LOOK_AGAIN } else { QUIET };
        (log.left() >= self.bounds.quiet).then_some(pause)
    }

    /// Moves the log if it is time to. How far it is then.
    fn look(&mut self, heard: Heard) -> Result<Log, SetupError> {
        let enough = match heard {
            Heard::Commits => self.bounds.begin,
            Heard::Nothing => self.bounds.quiet,
        };
        let log = self.log(Move::Nothing)?;
        if log.left() < enough || !self.is_worth_trying(log) {
            return Ok(log);
        }
        // Where nobody commits, all of it is moved, and the next commit begins the log anew by itself.
        if self.move_most()? && heard == Heard::Commits {
            self.asked.ask(ASK);
        }
        let log = self.log(Move::Nothing)?;
        self.tried = (log.left() >= enough).then(|| (Instant::now(), log.pages));
        Ok(log)
    }

    /// Whether something may have changed since it was last tried in vain: somebody reads what was there long ago.
    fn is_worth_trying(&self, log: Log) -> bool {
        self.tried.is_none_or(|(when, pages)| {
            when.elapsed() >= LOOK_AGAIN || log.pages < pages || log.pages - pages >= self.bounds.begin
        })
    }

    /// Moves pages until few are left. False where somebody reads all the time what was there before, so that nobody could
    /// move them all; who reads for a moment is waited for by the writer.
    fn move_most(&mut self) -> Result<bool, SetupError> {
        let mut moved = self.log(Move::Nothing)?.moved;
        for _ in 0..ROUNDS {
            let log = self.log(Move::WhatCan)?;
            if self.asked.is_stopped() || log.left() > 0 && log.moved == moved {
                return Ok(false);
            }
            moved = log.moved;
            self.flush()?;
            let log = self.log(Move::Nothing)?;
            if log.left() <= self.bounds.rest || log.pages >= self.bounds.most {
                break;
            }
        }
        Ok(true)
    }

    /// Has the system write what was moved, so that the writer need not wait for it when it finishes.
    fn flush(&mut self) -> Result<(), SetupError> {
        let failed = |error: std::io::Error| SetupError::Connect {
            place: self.path.display().to_string(),
            detail: error.to_string(),
        };
        let file = match self.file.take() {
            Some(file) => file,
            None => ManuallyDrop::new(File::open(&self.path).map_err(failed)?),
        };
        let flushed = file.sync_data().map_err(failed);
        self.file = Some(file);
        flushed
    }

    fn log(&mut self, what: Move) -> Result<Log, SetupError> {
        let conn = match self.conn.take() {
            Some(conn) => conn,
            // Not counted among the statements of requests.
            None => dialect::connect(self.database.target(), Purpose::Write, self.database.lock_timeout())?,
        };
        let conn = self.conn.insert(conn);
        Ok(dialect::move_log(conn, what)?.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
