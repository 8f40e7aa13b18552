//! Whether the database answers this process and accepts writes, and whether searches need the database.

use std::sync::Arc;
use std::time::Duration;

use super::Model;
use super::snapshot::follower::Follower;
use super::snapshot::store::SnapshotStore;
use crate::db::writer::write_state::WriteRefusal;
use crate::db::{Database, WriterStatistics};
use crate::error::Result;

/// Shows whether the database answers. Clones show the same.
#[derive(Clone)]
pub struct DatabaseState {
    database: Database,
    store: Arc<SnapshotStore>,
    /// `None` on SQLite, where reads need no server.
    follower: Option<Follower>,
    writer: Arc<WriterStatistics>,
}

impl DatabaseState {
    /// The state of the model's database. Outlives the model.
    pub fn of(model: &Model) -> DatabaseState {
        DatabaseState {
            database: model.database.clone(),
            store: Arc::clone(&model.store),
            follower: (!model.exclusive).then(|| model.follower.clone()),
            writer: Arc::clone(model.writer.statistics()),
        }
    }

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

    /// Why the database refuses writes; `None` if it accepts them, as far as this process knows.
    pub fn write_refusal(&self) -> Option<WriteRefusal> {
        self.writer.writes.refusal()
    }

    /// How long the snapshot has been invalid. Searches wait for a reload, or use the last valid snapshot.
    pub fn invalid_time(&self) -> Duration {
        self.store.invalid_time()
    }

    /// Whether searches are answered from a snapshot of at most `max_age` while the database does not answer.
    pub fn has_stale_reads(&self, max_age: Duration) -> bool {
        let age = self.follower.as_ref().map(Follower::age);
        age.is_some_and(|age| !max_age.is_zero() && age <= max_age)
    }
}
