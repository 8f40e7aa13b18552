//! Whether the database answers this process and accepts writes, and whether searches need the database.

use std::time::Duration;

use super::snapshot::follower::Follower;
use crate::db::Database;
use crate::db::writer::write_state::WriteRefusal;
use crate::error::Result;
use crate::model::Model;

/// Shows whether the database answers. Clones show the same.
#[derive(Clone)]
pub struct DatabaseState {
    pub(super) database: Database,
    /// `None` on SQLite, where reads need no server.
    pub(super) follower: Option<Follower>,
}

impl DatabaseState {
    /// The time since the database last answered a statement of this process, while the process ran.
    pub fn silence(&self) -> Duration {
        self.database.silence()
    }

    /// Shows that this process runs. Returns how long the process stood still before.
    pub fn beat(&self) -> Option<Duration> {
        self.database.beat()
    }

    /// Sends a statement to the database. Blocks until the answer or the failure. If the server gives a reader no
    /// connection, the follower's connection is used: searches need no further connection.
    pub fn probe(&self) -> Result<()> {
        let probed = self.database.probe();
        match (&probed, &self.follower) {
            (Err(_), Some(follower)) => follower.fresh_blocking().map(drop),
            _ => probed,
        }
    }
}

impl Model {
    /// Shows whether the database answers this process. Outlives the model.
    pub fn database_state(&self) -> DatabaseState {
        DatabaseState {
            database: self.database.clone(),
            follower: (!self.exclusive).then(|| self.follower.clone()),
        }
    }

    /// Why the database refuses writes; `None` if it accepts them, as far as this process knows.
    pub fn write_refusal(&self) -> Option<WriteRefusal> {
        self.writer.statistics().writes.refusal()
    }

    /// How long the snapshot has been invalid. Searches wait for a reload, or use the last valid snapshot.
    pub fn invalid_time(&self) -> Duration {
        self.store.invalid_time()
    }

    /// Whether searches are answered from a snapshot of at most `max_age` while the database does not answer.
    pub fn has_stale_reads(&self, max_age: Duration) -> bool {
        !self.exclusive && !max_age.is_zero() && self.age() <= max_age
    }
}
