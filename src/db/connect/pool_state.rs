//! The connections of a process, for the metrics.

use std::time::Duration;

use super::pool::Database;

/// The connections at one moment, and what they did until then.
#[derive(Debug)]
pub struct PoolState {
    /// The most connections that the pool may have.
    pub max: usize,
    /// Those that it has.
    pub connections: u32,
    pub idle: u32,
    /// Open connections, those outside of the pool included.
    pub open: usize,
    /// How often the pool could not open a connection.
    pub failures: u64,
    /// Statements that were sent.
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
            connections: state.connections,
            idle: state.idle_connections,
            open: self.opener.open.count(),
            failures: self.opener.failures.value(),
            statements: self.statements(),
            silence: self.silence(),
        }
    }
}
