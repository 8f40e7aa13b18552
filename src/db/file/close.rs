//! A clean stop: closes the connections, and leaves an embedded database as one file.
//!
//! SQLite copies the log into the file and removes the log when the last connection is closed. Naively, the writer's
//! end is enough. But a reader of the pool or the follower may outlive the writer, and may still be open at the end of
//! the process. The log stays, and the file alone lacks acknowledged rows. So a stop waits for all connections first.

use std::time::{Duration, Instant};

use crate::db::engines::dialect::{self, CheckpointMode, OpenMode};
use crate::db::{Database, SetupError};

use super::paths::FilePaths;

/// How long a stop waits until the connections of this process are closed. Every read of a local file is shorter.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval of the looks.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

impl Database {
    /// Closes the connections of an embedded database, and copies its log into the file. Does nothing on a server.
    ///
    /// The writer must have ended, and so must every further user of this database.
    pub fn close(self) {
        let Some(Ok(paths)) = self.target().file().map(FilePaths::of) else {
            return;
        };
        let guard = self.guard().clone();
        drop(guard.check_path());
        if guard.end() {
            log::info!(
                "Every row is in {}, although its log was removed",
                paths.database.display()
            );
            return;
        }
        if guard.has_failed() {
            log::warn!(
                "{} and {} stay as they are, because the file was lost or damaged",
                paths.database.display(),
                paths.log.display()
            );
            return;
        }
        if let Err(error) = self.close_file() {
            log::warn!("SQLite's log could not be copied into the database at the end: {error}");
        }
        if paths.log_bytes() > 0 {
            log::warn!(
                "{} has rows that {} lacks: copy or move both files together, or start placet and stop it again",
                paths.log.display(),
                paths.database.display()
            );
        }
    }

    fn close_file(self) -> Result<(), SetupError> {
        let (target, lock_timeout, is_unused) = (self.target().clone(), self.lock_timeout(), self.is_unused());
        // Closes the unused connections of the pool.
        drop(self);
        let began = Instant::now();
        while !is_unused() && began.elapsed() < CLOSE_TIMEOUT {
            std::thread::sleep(POLL_INTERVAL);
        }
        let mut conn = dialect::connect(&target, OpenMode::Write, lock_timeout)?;
        // Closing the last connection does the same, unless a foreign program has the file open.
        dialect::wal_checkpoint(&mut conn, CheckpointMode::Truncate)?;
        Ok(())
    }
}
