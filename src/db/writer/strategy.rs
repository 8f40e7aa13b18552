//! The strategies by which the writer tries to commit a batch, and their order.

use super::Batch;
use super::failure::BatchFailure;
use super::queue::Job;

/// How a batch is tried. Each strategy is slower than the one before, and less exposed to conflicts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(super) enum CommitStrategy {
    /// Plan on the snapshot before BEGIN, if all commands are plannable. Lock only providers that are known to be
    /// contended.
    Optimistic,
    /// Lock all providers that the commands name, then plan.
    Locked,
    /// Decide on rows that are read under locks inside the transaction.
    FromDatabase,
}

impl CommitStrategy {
    /// The strategy of the first attempt.
    pub fn first<B: Batch>(jobs: &[Job<B>]) -> CommitStrategy {
        if jobs.iter().any(|job| job.from_database) {
            CommitStrategy::FromDatabase
        } else {
            CommitStrategy::Optimistic
        }
    }

    /// The strategy after a failed attempt.
    pub fn after(self, failure: &BatchFailure, was_stale: bool, is_plannable: bool) -> CommitStrategy {
        match failure {
            // The change feed is read before the next attempt. One repetition is enough.
            BatchFailure::Stale if !was_stale => self,
            BatchFailure::Stale | BatchFailure::NeedsDatabase => CommitStrategy::FromDatabase,
            _ if !failure.is_conflict() => self,
            _ if self == CommitStrategy::Optimistic && is_plannable => CommitStrategy::Locked,
            _ => CommitStrategy::FromDatabase,
        }
    }
}
