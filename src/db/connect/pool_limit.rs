//! Fits the pool to the server: a process takes a quarter of the server's connections at most.
//!
//! Configurations of uWSGI allow far more connections than a server has (`max_overflow = 1000`), because a worker uses
//! a single connection at a time. placet opens a connection for each concurrent read.

use std::sync::atomic::Ordering;

use super::pool::Database;
use crate::db::engines::dialect;
use crate::error::Result;

/// The server's connections are divided by this number.
const SERVER_SHARE: usize = 4;

impl Database {
    /// Lowers the number of concurrent reads to a quarter of the server's connections. Returns a warning, one line, if
    /// the configuration allows more. Called before the first read of a request.
    ///
    /// # Errors
    /// [`crate::error::Error::Unavailable`] if the server does not answer.
    pub(in crate::db) fn fit_pool(&self) -> Result<Option<String>> {
        // A reader of an embedded database that is opened before the sync knows no table. SQLite loads the tables at
        // the next read, but says "no such table" if the process has no file descriptor left for the log.
        if self.target().file().is_some() {
            return Ok(None);
        }
        let Some(of_server) = self.ask(|conn| Ok(dialect::max_connections(conn)?))? else {
            return Ok(None);
        };
        let (configured, share) = (self.readers(), (of_server / SERVER_SHARE).max(1));
        if configured <= share {
            return Ok(None);
        }
        self.max_readers.store(share, Ordering::Relaxed);
        self.read_permits.forget_permits(configured - share);
        Ok(Some(format!(
            "max_pool_size and max_overflow allow {configured} connections, and the server has {of_server} in all: \
             placet opens {share} for reads at most, a quarter"
        )))
    }
}
