//! A model that runs: what its end waits for.

use std::thread::JoinHandle;

use crate::db::{Database, ServingLock};

/// Whether other processes may serve the same database.
pub enum Serving {
    /// Only this process, as long as it holds the lock on the file. The change feed is not read.
    Exclusive { _lock: ServingLock },
    /// Any number of processes. The change feed is read before a request is answered from the snapshot.
    Shared,
}

impl From<Option<ServingLock>> for Serving {
    fn from(lock: Option<ServingLock>) -> Serving {
        lock.map_or(Serving::Shared, |lock| Serving::Exclusive { _lock: lock })
    }
}

/// The writer's thread, to join when the service ends.
pub struct Running {
    pub(super) thread: JoinHandle<()>,
    pub(super) database: Database,
    /// Keeps the lock on the file until the service ends.
    pub(super) _serving: Serving,
}

impl Running {
    /// Waits until the writer has executed its queue, and closes the database: an embedded one is then one file. Drop
    /// every `Model` first, or this never returns.
    ///
    /// # Errors
    /// The panic in which the writer ended.
    pub fn finish(self) -> std::thread::Result<()> {
        let ended = self.thread.join();
        self.database.close();
        ended
    }
}
