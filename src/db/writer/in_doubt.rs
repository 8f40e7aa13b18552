//! In-doubt commits: COMMIT ended with an error, so the batch may be committed or not.
//!
//! Naively, a new connection reads the writer's revision: if it was raised, the batch was committed. That is wrong,
//! because the server may still be executing the old COMMIT (measured: wrong in 20% to 100% of trials).
//!
//! So the writer commits a fence in place of the batch: the same next revision on a new connection, with a commit
//! token of its own ([`super::identity::Identity::fence`]). Only one of the two can raise the revision.
//!
//! - The fence is committed: the batch was not, and never will be. It is tried again.
//! - The fence finds the revision taken: the commit token identifies its commit. If it is the batch's, the batch was
//!   committed.
//! - Neither is known before the timeout: callers get 503, with the detail that the outcome is unknown.
//!
//! The snapshot stays valid until the outcome is known, because nothing of the batch is acknowledged. Then the batch is
//! published, or there is nothing to publish. Only an unknown outcome invalidates the snapshot.

use std::time::{Duration, Instant};

use super::failure::{BatchFailure, write_refusal};
use super::identity::CommitOutcome;
use super::{Batch, BatchResult, RETRY_PAUSE, Writer};
use crate::db::engines::dialect;
use crate::db::{Fault, fault};

/// How long one attempt of a fence waits for the lock of the old COMMIT.
const FENCE_LOCK_WAIT: Duration = Duration::from_secs(5);

impl<B: Batch> Writer<B> {
    /// Decides by a fence whether a batch was committed, after its COMMIT ended with `error`. `Ok` if it was.
    pub(super) fn resolve_in_doubt(&mut self, error: diesel::result::Error) -> BatchResult<()> {
        log::warn!("COMMIT ended with an error, and placet is finding out whether it happened: {error}");
        if let Some(refusal) = write_refusal(&error) {
            self.statistics.writes.refused(refusal);
        }
        self.conn = None;
        // A fence is a commit that the snapshot lacks.
        self.is_stale = true;
        let resolved = self.repeat_fence(error);
        if matches!(resolved, Err(BatchFailure::UnknownOutcome(_))) {
            self.batch.invalidate();
        }
        resolved
    }

    /// Tries the fence until the outcome is known, or until the timeout.
    fn repeat_fence(&mut self, error: diesel::result::Error) -> BatchResult<()> {
        let deadline = Instant::now() + self.timeout;
        loop {
            let outcome = match self.connected() {
                Ok(_) => self.fence(deadline),
                Err(failure) => Err(failure),
            };
            match outcome {
                Ok(CommitOutcome::Committed) => return Ok(()),
                Ok(CommitOutcome::NotCommitted) if fault::classify(&error) == Fault::Stop => return Err(error.into()),
                Ok(CommitOutcome::NotCommitted) => return Err(BatchFailure::Conflict),
                Ok(CommitOutcome::Unknown) => {
                    return Err(BatchFailure::UnknownOutcome("the writer's own row is gone".into()));
                }
                Ok(CommitOutcome::InDoubt) | Err(_) if Instant::now() < deadline => std::thread::sleep(RETRY_PAUSE),
                Ok(CommitOutcome::InDoubt) => {
                    return Err(BatchFailure::UnknownOutcome("the database does not say".into()));
                }
                Err(failure) => return Err(BatchFailure::UnknownOutcome(failure.detail())),
            }
        }
    }

    /// Tries once to commit the fence. Waits for locks until `deadline` at most, because the old COMMIT may hold the
    /// lock on the writer's row. If the attempt fails, the connection is dropped.
    fn fence(&mut self, deadline: Instant) -> BatchResult<CommitOutcome> {
        let Some(mut conn) = self.conn.take() else {
            return Ok(CommitOutcome::InDoubt);
        };
        let default = self.lock_wait;
        let left = deadline.saturating_duration_since(Instant::now());
        dialect::set_lock_timeout(&mut conn, left.clamp(RETRY_PAUSE, FENCE_LOCK_WAIT))?;
        let outcome = self.identity.fence(&mut conn)?;
        // The outcome is known. If only the timeout cannot be restored, a new connection replaces this one.
        if dialect::set_lock_timeout(&mut conn, default).is_ok() {
            self.conn = Some(conn);
        }
        Ok(outcome)
    }
}
