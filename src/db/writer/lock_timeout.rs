//! The session's lock timeout: a batch waits for a lock no longer than until the first deadline of its jobs.

use std::time::Instant;

use super::{Batch, BatchResult, Job, RETRY_PAUSE, Writer, require_conn};
use crate::db::engines::dialect;

impl<B: Batch> Writer<B> {
    /// Shortens the lock timeout to the first deadline of the jobs, if that is earlier than the default. Must not
    /// be called inside a transaction, because PostgreSQL undoes the setting with a rollback.
    pub(super) fn shorten_lock_timeout(&mut self, jobs: &[Job<B>]) -> BatchResult<()> {
        let default = self.database.lock_timeout();
        let deadline = jobs.iter().map(|job| job.deadline).min();
        let left = deadline.map_or(default, |deadline| deadline.saturating_duration_since(Instant::now()));
        if left + RETRY_PAUSE >= default {
            self.restore_lock_timeout();
            return Ok(());
        }
        self.connected()?;
        self.is_lock_timeout_short = true;
        dialect::set_lock_timeout(require_conn(&mut self.conn)?, left)?;
        Ok(())
    }

    /// Restores the default. Called for jobs with more time than those before them, and after all jobs were answered,
    /// so that none of them waits for this statement.
    pub(super) fn restore_lock_timeout(&mut self) {
        if !std::mem::take(&mut self.is_lock_timeout_short) {
            return;
        }
        let default = self.database.lock_timeout();
        let is_restored = |conn| dialect::set_lock_timeout(conn, default).is_ok();
        // A new connection has the default.
        if !self.conn.as_mut().is_some_and(is_restored) {
            self.conn = None;
        }
    }
}

#[cfg(test)]
mod tests;
