//! Whether the database answers this process.

use std::time::Duration;

use crate::db::Database;
use crate::error::Result;

/// Shows whether the database answers. Clones show the same.
#[derive(Clone)]
pub struct DatabaseState(pub(super) Database);

impl DatabaseState {
    /// The time since the database last answered a statement of this process, while the process ran.
    pub fn silence(&self) -> Duration {
        self.0.silence()
    }

    /// Shows that this process runs. Returns how long it stood still before.
    pub fn beat(&self) -> Option<Duration> {
        self.0.beat()
    }

    /// Has the database answer a statement. Blocks until it has, or until it cannot.
    pub fn probe(&self) -> Result<()> {
        self.0.probe()
    }
}
