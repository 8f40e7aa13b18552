//! The session's lock timeout: a batch waits for a lock no longer than the first of its callers can wait.

use std::time::Instant;

use super::{Batch, BatchResult, Job, RETRY_PAUSE, Writer, ready};
use crate::db::engines::dialect;

impl<B: Batch> Writer<B> {
    /// Shortens the lock timeout to the first deadline of the jobs, if that is earlier than the default. Not to be
    /// called inside a transaction: PostgreSQL takes the setting back with a rollback.
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
        dialect::set_lock_timeout(ready(&mut self.conn)?, left)?;
        Ok(())
    }

    /// Restores the default: for jobs with more time than those before them, or when all jobs are answered, so that
    /// none of them waits for this statement.
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
