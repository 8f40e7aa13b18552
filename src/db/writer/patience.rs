//! How long a batch waits for another's lock: no longer than the first of its callers can wait.

use std::time::Instant;

use super::{Attempt, Batch, Job, PAUSE, Writer, ready};
use crate::db::dialect;

impl<B: Batch> Writer<B> {
    /// Has the session lose patience in time, where it would wait for longer than the callers. Not within a transaction: what
    /// is set there PostgreSQL takes back with all else that is rolled back.
    pub(super) fn hurry(&mut self, jobs: &[Job<B>]) -> Attempt<()> {
        let always = self.database.lock_timeout();
        let deadline = jobs.iter().map(|job| job.deadline).min();
        let left = deadline.map_or(always, |it| it.saturating_duration_since(Instant::now()));
        if left + PAUSE >= always {
            self.calm_down();
            return Ok(());
        }
        self.connected()?;
        self.hurried = true;
        dialect::wait_for_locks(ready(&mut self.conn)?, left)?;
        Ok(())
    }

    /// Gives the session its patience back: for callers who have more time than those before them, or when all have their
    /// answers, who need not wait for that.
    pub(super) fn calm_down(&mut self) {
        if !std::mem::take(&mut self.hurried) {
            return;
        }
        let always = self.database.lock_timeout();
        let is_calm = |conn| dialect::wait_for_locks(conn, always).is_ok();
        // Where it cannot be set, a new connection has it.
        if !self.conn.as_mut().is_some_and(is_calm) {
            self.conn = None;
        }
    }
}

#[cfg(test)]
mod tests;
