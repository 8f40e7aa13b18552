//! Whether the database answers this process.

use std::time::Duration;

use super::snapshot::follower::Follower;
use crate::db::Database;
use crate::error::Result;

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

    /// Has the database answer a statement. Blocks until it has, or until it cannot. If the server gives no connection
    /// to a reader, the connection is asked that follows other processes: searches need no other one.
    pub fn probe(&self) -> Result<()> {
        let probed = self.database.probe();
        match (&probed, &self.follower) {
            (Err(_), Some(follower)) => follower.fresh_blocking().map(drop),
            _ => probed,
        }
    }
}
