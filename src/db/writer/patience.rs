//! How long a try of a batch waits for another's lock: no longer than the first of its callers can wait.

use std::time::Instant;

use super::{Attempt, Batch, Job, PAUSE, Writer, ready};
use crate::db::dialect;
use crate::error::Result;

type Answers<B> = Attempt<Vec<Result<<B as Batch>::Answer>>>;

impl<B: Batch> Writer<B> {
    /// Runs the try with a session that loses patience in time. What it waits otherwise is set before the transaction begins
    /// and after it has ended: what is set within it PostgreSQL takes back with all else that is rolled back.
    pub(super) fn with_locks_in_time(
        &mut self,
        jobs: &mut Vec<Job<B>>,
        run: impl FnOnce(&mut Self, &mut Vec<Job<B>>) -> Answers<B>,
    ) -> Answers<B> {
        let always = self.database.lock_timeout();
        let deadline = jobs.iter().map(|job| job.deadline).min();
        let left = deadline.map_or(always, |it| it.saturating_duration_since(Instant::now()));
        if left + PAUSE >= always {
            return run(self, jobs);
        }
        self.connected()?;
        if let Err(error) = dialect::wait_for_locks(ready(&mut self.conn)?, left) {
            // Nobody knows how long this session waits now.
            self.conn = None;
            return Err(error.into());
        }
        let ended = run(self, jobs);
        // Where it cannot be set, a new connection has it.
        if self
            .conn
            .as_mut()
            .is_some_and(|conn| dialect::wait_for_locks(conn, always).is_err())
        {
            self.conn = None;
        }
        ended
    }
}

#[cfg(test)]
mod tests;
