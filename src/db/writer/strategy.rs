//! The attempts to commit one batch: how the next attempt decides the commands, and when the writer gives up.

use super::batch::Batch;
use super::failure::BatchFailure;
use super::job::Job;
use super::statistics::WriterStatistics;

/// How often a batch may violate a constraint although its transaction read the rows. Each time a concurrent writer may
/// have been first. The batch is alone, so the attempts end long before the timeout.
const CONSTRAINTS_MAX: u32 = 10;

/// How an attempt decides a batch. Each strategy is slower than the strategy before, and less exposed to conflicts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitStrategy {
    /// Plan on the snapshot before BEGIN, if all commands are plannable. Lock only contended providers.
    Optimistic,
    /// Lock all providers that the commands name, and plan under the locks.
    Locked,
    /// Decide on rows that the transaction reads under locks.
    FromDatabase,
}

/// The attempts to commit one batch.
pub(super) struct BatchAttempts {
    /// The strategy of the next attempt.
    pub strategy: CommitStrategy,
    /// Whether an attempt failed as [`BatchFailure::Stale`].
    was_stale: bool,
    /// How many attempts from the database violated a constraint.
    constraints: u32,
}

impl BatchAttempts {
    pub fn new<B: Batch>(jobs: &[Job<B>]) -> BatchAttempts {
        let needs_rows = jobs.iter().any(|job| job.from_database);
        BatchAttempts {
            strategy: if needs_rows {
                CommitStrategy::FromDatabase
            } else {
                CommitStrategy::Optimistic
            },
            was_stale: false,
            constraints: 0,
        }
    }

    /// Begins again with the first strategy, because the jobs of the batch have changed.
    pub fn restart<B: Batch>(&mut self, jobs: &[Job<B>]) {
        let constraints = self.constraints;
        *self = BatchAttempts {
            constraints,
            ..BatchAttempts::new(jobs)
        };
    }

    /// Counts a failed attempt. Returns whether a further attempt may succeed.
    pub fn may_go_on(&mut self, failure: &BatchFailure) -> bool {
        let is_constraint = matches!(failure, BatchFailure::Constraint(_));
        self.constraints += u32::from(is_constraint && self.strategy == CommitStrategy::FromDatabase);
        failure.is_retryable() && self.constraints < CONSTRAINTS_MAX
    }

    /// Chooses the strategy of the next attempt, and counts the attempt.
    pub fn choose_next(&mut self, failure: &BatchFailure, is_plannable: bool, statistics: &WriterStatistics) {
        self.strategy = match failure {
            // The change feed is read before the next attempt. One repetition is enough.
            BatchFailure::Stale if !self.was_stale => self.strategy,
            BatchFailure::Stale | BatchFailure::NeedsDatabase => CommitStrategy::FromDatabase,
            _ if !failure.is_conflict() => self.strategy,
            _ if self.strategy == CommitStrategy::Optimistic && is_plannable => CommitStrategy::Locked,
            _ => CommitStrategy::FromDatabase,
        };
        self.was_stale |= matches!(failure, BatchFailure::Stale);
        match self.strategy {
            CommitStrategy::Optimistic => statistics.optimistic_retries.increment(),
            CommitStrategy::Locked => statistics.locked_retries.increment(),
            CommitStrategy::FromDatabase => statistics.database_retries.increment(),
        }
    }
}
