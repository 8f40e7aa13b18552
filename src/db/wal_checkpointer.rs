//! Checkpoints SQLite's write-ahead log (WAL) on a thread and a connection of its own, so that commits hardly ever wait
//! for a checkpoint.
//!
//! Naively, SQLite checkpoints: the commit that finds the WAL too long copies the pages into the database file. No
//! request is answered during the copying. With 4,000 pages the copying took 60 ms, several times a second under load.
//!
//! A second thread can copy pages while the writer commits (a passive checkpoint). But the WAL restarts from its
//! beginning only when all pages are copied and no reader uses the WAL. While the writer commits, there are always new
//! pages, so the WAL grows.
//!
//! So this thread copies nearly all pages. The writer copies the rest between two batches, at the thread's request
//! ([`handshake`]).
//!
//! Happy path: after 100 ms without a commit the thread copies all pages itself, and the next commit restarts the WAL.
//! Under steady load the thread copies pages until few are left, flushes the database file, and asks the writer.
//!
//! Unhappy path: a long-running reader pins old pages. The WAL grows until the reader ends, and no commit waits. A full
//! disk: before each batch the writer tries to copy all pages, and refuses the batch if the disk is still full. So
//! regained room goes to the database first, and not to the WAL.
//!
//! If the thread is gone or far behind, SQLite's own checkpoint takes over at twice [`WalLimits::force_pages`].
//!
//! SQLite ensures durability by flushing the database file before restarting the WAL. The flush here only shortens
//! SQLite's flush.

mod handshake;
mod room;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::engines::dialect::{self, CheckpointMode, OpenMode, WalStatus};
use super::{Database, DbConnection, SetupError, thread};
use crate::db::connect::url::connect_error;
use crate::db::file::paths::FilePaths;
use handshake::{Handshake, Wakeup};
use room::DiskRoom;
pub use room::WalLimits;

/// The interval at which the WAL is polled while the writer commits.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The pause after an incomplete checkpoint.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// The writer is idle after this time without a commit.
const IDLE_AFTER: Duration = Duration::from_millis(100);
/// The maximum number of passive checkpoints before the writer is requested to copy the rest.
const PASSIVE_ROUNDS: usize = 5;
/// How long the thread waits for the writer to begin. A writer that does not begin has no batch, so the WAL does not
/// grow.
const WRITER_TIMEOUT: Duration = Duration::from_millis(50);
/// The interval at which the file and the log are inspected, with or without commits.
const INSPECT_INTERVAL: Duration = Duration::from_secs(1);
/// How long the writer waits for readers of the WAL when it copies the rest.
const READER_TIMEOUT: Duration = Duration::from_millis(10);

/// The writer's handle of the checkpoint thread. Dropping the handle ends the thread.
pub struct WalCheckpointer {
    handshake: Arc<Handshake>,
    limits: WalLimits,
    paths: FilePaths,
    /// Whether a commit found the disk full, and not all pages were copied since.
    is_disk_full: bool,
    thread: Option<JoinHandle<()>>,
}

impl WalCheckpointer {
    /// Starts the thread. `None` on a server, which checkpoints by itself.
    pub fn start(database: &Database, limits: WalLimits) -> Result<Option<WalCheckpointer>, SetupError> {
        let Some(path) = database.target().file() else {
            return Ok(None);
        };
        let paths = FilePaths::of(path).map_err(|error| connect_error(path, &error))?;
        let handshake = Arc::new(Handshake::default());
        let mut checkpointer = CheckpointThread::new(database.clone(), paths.clone(), limits, handshake.clone());
        let thread = thread::spawn("placet-checkpt", move || checkpointer.run())?;
        Ok(Some(WalCheckpointer {
            handshake,
            limits,
            paths,
            is_disk_full: false,
            thread: Some(thread),
        }))
    }

    /// Raises the limit at which commits on this connection checkpoint by themselves, so SQLite checkpoints only a much
    /// too long WAL.
    pub fn defer_auto_checkpoint(&self, conn: &mut DbConnection) -> diesel::QueryResult<()> {
        dialect::set_wal_limit(conn, self.limits.force_pages.saturating_mul(2))
    }

    /// Reports that a batch found the disk full.
    pub fn note_full_disk(&mut self) {
        self.is_disk_full = true;
    }

    /// After a full disk: copies the pages into the database before the WAL takes more room.
    ///
    /// # Errors
    /// If the disk is still full.
    pub fn before_batch(&mut self, conn: &mut DbConnection) -> diesel::QueryResult<()> {
        if self.is_disk_full {
            let wal = dialect::wal_checkpoint(conn, CheckpointMode::Passive)?;
            self.is_disk_full = wal.remaining() > 0;
        }
        Ok(())
    }

    /// Whether the disk has room for further commits. A successful commit does not prove free room: the commit may fit
    /// into the present WAL.
    pub fn has_room(&self) -> bool {
        DiskRoom::of(&self.paths).is_ok_and(DiskRoom::is_enough)
    }

    /// Reports a commit to the thread. At the thread's request, copies the rest of the pages on the writer's
    /// connection. False if the connection's `lock_timeout` could not be restored afterwards.
    pub fn after_batch(&self, conn: &mut DbConnection, lock_timeout: Duration) -> bool {
        self.handshake.notify_commit();
        self.handshake.serve(|| finish(conn, lock_timeout)).unwrap_or(true)
    }
}

/// Copies the rest of the pages, so that the next commit restarts the WAL.
fn finish(conn: &mut DbConnection, lock_timeout: Duration) -> bool {
    let finished = dialect::set_lock_timeout(conn, READER_TIMEOUT)
        .and_then(|()| dialect::wal_checkpoint(conn, CheckpointMode::Restart));
    if let Err(error) = finished {
        log::warn!("The checkpoint of SQLite's WAL could not be finished and will be tried again: {error}");
    }
    dialect::set_lock_timeout(conn, lock_timeout).is_ok()
}

impl Drop for WalCheckpointer {
    fn drop(&mut self) {
        self.handshake.stop();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            log::error!(
                "The thread placet-checkpt, which checkpoints SQLite's WAL, ended in a panic, a defect of placet: report \
                 it with the lines before this one"
            );
        }
    }
}

/// The state of the thread.
struct CheckpointThread {
    database: Database,
    paths: FilePaths,
    /// The limits on a disk with enough room.
    roomy_limits: WalLimits,
    handshake: Arc<Handshake>,
    conn: Option<DbConnection>,
    /// The last incomplete checkpoint.
    incomplete: Option<Incomplete>,
    inspected: Instant,
}

#[derive(Clone, Copy)]
struct Incomplete {
    at: Instant,
    /// The length of the WAL at this moment.
    pages: i32,
}

impl CheckpointThread {
    fn new(database: Database, paths: FilePaths, limits: WalLimits, handshake: Arc<Handshake>) -> CheckpointThread {
        CheckpointThread {
            database,
            paths,
            roomy_limits: limits,
            handshake,
            conn: None,
            incomplete: None,
            inspected: Instant::now(),
        }
    }

    fn run(&mut self) {
        // The first round polls, because an earlier process may have left a long WAL.
        let (mut timeout, mut pause) = (Some(POLL_INTERVAL), POLL_INTERVAL);
        while let Some(wakeup) = self.handshake.wait_for_commit(timeout, pause) {
            // The remains of a lost or damaged file stay unchanged.
            if self.database.guard().has_failed() {
                (timeout, pause) = (None, RETRY_INTERVAL);
                continue;
            }
            (timeout, pause) = match self.checkpoint_if_due(wakeup) {
                Ok(wal) => (Some(self.next_timeout(wal)), POLL_INTERVAL),
                Err(_) if self.database.guard().has_failed() => (None, RETRY_INTERVAL),
                // Tried again soon after a batch: regained room must not be left to the WAL alone. The writer logs the
                // full disk.
                Err(SetupError::Database(error)) if dialect::is_disk_full(&error) => {
                    (Some(RETRY_INTERVAL), POLL_INTERVAL)
                }
                Err(error) => {
                    log::warn!("SQLite's WAL could not be checkpointed and will be tried again in a second: {error}");
                    self.conn = None;
                    (Some(RETRY_INTERVAL), RETRY_INTERVAL)
                }
            };
        }
    }

    fn inspect(&mut self) -> Result<(), SetupError> {
        if let Some(conn) = &mut self.conn {
            self.database.guard().inspect(conn)?;
            self.inspected = Instant::now();
        }
        Ok(())
    }

    /// The time until the WAL is polled even without a commit.
    fn next_timeout(&self, wal: WalStatus) -> Duration {
        match self.incomplete {
            _ if wal.remaining() < self.limits().idle_checkpoint_pages => INSPECT_INTERVAL,
            Some(_) => RETRY_INTERVAL,
            None => IDLE_AFTER,
        }
    }

    /// Checkpoints the WAL if the WAL is long enough, and returns the status after the checkpoint.
    ///
    /// The file is inspected before pages are copied into the file. A copied page may cover the only visible damage,
    /// such as a damaged header, while further damaged pages remain.
    fn checkpoint_if_due(&mut self, wakeup: Wakeup) -> Result<WalStatus, SetupError> {
        let limit = match wakeup {
            Wakeup::Commits => self.limits().checkpoint_pages,
            Wakeup::Idle => self.limits().idle_checkpoint_pages,
        };
        let wal = self.checkpoint(CheckpointMode::Noop)?;
        let is_due = wal.remaining() >= limit && self.is_worth_trying(wal);
        if is_due || self.inspected.elapsed() >= INSPECT_INTERVAL {
            self.inspect()?;
        }
        if !is_due || self.database.guard().has_failed() {
            return Ok(wal);
        }
        // If the writer is idle, all pages are copied here, and its next commit restarts the WAL by itself.
        if self.copy_pages()? && wakeup == Wakeup::Commits {
            self.handshake.request(WRITER_TIMEOUT);
        }
        let wal = self.checkpoint(CheckpointMode::Noop)?;
        self.incomplete = (wal.remaining() >= limit).then(|| Incomplete {
            at: Instant::now(),
            pages: wal.pages,
        });
        Ok(wal)
    }

    /// The limits with the present room on the disk.
    fn limits(&self) -> WalLimits {
        DiskRoom::of(&self.paths).map_or(self.roomy_limits, |room| self.roomy_limits.within(room))
    }

    /// Whether the reader that made the last checkpoint incomplete may be gone.
    fn is_worth_trying(&self, wal: WalStatus) -> bool {
        self.incomplete.is_none_or(|incomplete| {
            incomplete.at.elapsed() >= RETRY_INTERVAL
                || wal.pages < incomplete.pages
                || wal.pages - incomplete.pages >= self.limits().checkpoint_pages
        })
    }

    /// Copies pages until few are left. False if a long-running reader pins old pages. For short readers the writer
    /// itself waits.
    fn copy_pages(&mut self) -> Result<bool, SetupError> {
        let mut copied = self.checkpoint(CheckpointMode::Noop)?.checkpointed;
        for _ in 0..PASSIVE_ROUNDS {
            let wal = self.checkpoint(CheckpointMode::Passive)?;
            if self.handshake.is_stopped() || wal.remaining() > 0 && wal.checkpointed == copied {
                return Ok(false);
            }
            copied = wal.checkpointed;
            // The writer then has less to flush while it copies the rest.
            let flushed = self.database.guard().flush();
            flushed.map_err(|error| connect_error(&self.paths.database, &error))?;
            let wal = self.checkpoint(CheckpointMode::Noop)?;
            let limits = self.limits();
            if wal.remaining() <= limits.remainder_pages || wal.pages >= limits.force_pages {
                break;
            }
        }
        Ok(true)
    }

    fn checkpoint(&mut self, mode: CheckpointMode) -> Result<WalStatus, SetupError> {
        let conn = match self.conn.take() {
            Some(conn) => conn,
            None => self.database.connect_uncounted(OpenMode::Write)?,
        };
        let conn = self.conn.insert(conn);
        Ok(dialect::wal_checkpoint(conn, mode)
            .inspect_err(|error| self.database.guard().note_error(&error.to_string()))?)
    }
}

#[cfg(test)]
mod tests;
