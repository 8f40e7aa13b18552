//! The connections of a process, for the metrics.

use std::time::Duration;

use super::pool::Database;

/// The connections at one moment, and the counters up to this moment.
#[derive(Debug)]
pub struct PoolState {
    /// The most connections of the pool.
    pub max: usize,
    /// The present connections of the pool.
    pub connections: usize,
    pub idle: usize,
    /// Open connections, inside and outside of the pool.
    pub open: usize,
    /// How often a connection could not be opened.
    pub failures: u64,
    /// The number of sent statements.
    pub statements: u64,
    /// The time since the database last answered.
    pub silence: Duration,
}

impl Database {
    /// The connections now. Waits for nothing.
    pub fn pool_state(&self) -> PoolState {
        let state = self.readers.state();
        PoolState {
            max: self.readers(),
            connections: self.opener.pooled.value(),
            idle: usize::try_from(state.idle_connections).unwrap_or(usize::MAX),
            open: self.opener.open.value(),
            failures: self.opener.attempts.failures(),
            statements: self.statements(),
            silence: self.silence(),
        }
    }
}
