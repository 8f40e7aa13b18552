//! A running model, and the end of the service: the end waits for the writer's thread.

use std::thread::JoinHandle;

use crate::db::{Database, ServingLock};

/// The writer's thread, to join when the service ends.
pub struct Running {
    pub(super) thread: JoinHandle<()>,
    pub(super) database: Database,
    /// Keeps the lock on the file until the service ends.
    pub(super) _lock: Option<ServingLock>,
}

impl Running {
    /// Waits until the writer has executed its queue, and closes the database. An embedded database is one file after
    /// closing. Drop every `Model` first, or this function never returns.
    ///
    /// # Errors
    /// The panic in which the writer ended.
    pub fn finish(self) -> std::thread::Result<()> {
        let ended = self.thread.join();
        self.database.close();
        ended
    }
}
