//! Trying a batch again until it is committed, or until no retry can help.

use super::failure::BatchFailure;
use super::held_rows::NO_WAIT;
use super::strategy::CommitStrategy;
use super::{Batch, BatchResult, Decision, Job, RETRY_PAUSE, Writer, refuse};
use crate::mutants::{self, Mutant};

/// How often a command that is alone may violate a constraint after it was decided on rows that its transaction read.
/// Each time another writer may have been first. No other command is committed in between, so it ends long before the
/// timeout.
const CONSTRAINTS_MAX: u32 = 10;

impl<B: Batch> Writer<B> {
    /// Commits the jobs in one transaction, and answers them. If the database refuses it and one command may be the
    /// cause, the batch is halved until that command is alone.
    pub(super) fn commit_or_refuse(&mut self, mut jobs: Vec<Job<B>>) {
        match self.try_until_timeout(&mut jobs) {
            Ok(decisions) => self.answer(jobs, decisions),
            Err(failure) if failure.is_lock_timeout() => self.commit_without_waiting(vec![jobs]),
            Err(failure) if jobs.len() > 1 && failure.may_be_caused_by_one_command() => {
                let second_half = jobs.split_off(jobs.len() / 2);
                let has_waiters = std::mem::replace(&mut self.has_waiters, true);
                self.commit_or_refuse(jobs);
                self.has_waiters = has_waiters;
                self.commit_or_refuse(second_half);
            }
            Err(failure) => refuse(jobs, &failure.into_error()),
        }
    }

    /// Retries the batch until it is committed, or until no retry can help. Between two attempts, expired and cancelled
    /// jobs are refused and removed from `jobs`.
    pub(super) fn try_until_timeout(&mut self, jobs: &mut Vec<Job<B>>) -> BatchResult<Vec<Decision<B::Answer>>> {
        let (mut strategy, mut was_stale) = (CommitStrategy::first(jobs), false);
        let mut had_lock_timeout = self.lock_wait == NO_WAIT;
        let mut constraints = 0;
        loop {
            let is_plannable = jobs.iter().all(Job::is_plannable);
            let pipelined = self.pipelined;
            let failure = match self.transaction(jobs, strategy) {
                Ok(decisions) => return Ok(decisions),
                Err(failure) => failure,
            };
            self.note_refusal(&failure);
            if failure.is_connection_lost() {
                self.conn = None;
            }
            if let Some(checkpointer) = self.checkpointer.as_ref().filter(|_| failure.is_disk_full()) {
                checkpointer.note_full_disk();
            }
            if matches!(failure, BatchFailure::IdentityLost) {
                self.register_new_identity();
            }
            self.is_stale |= matches!(failure, BatchFailure::Stale);
            if failure.is_conflict() {
                self.statistics.conflicts.increment();
            }
            let is_constraint = matches!(failure, BatchFailure::Constraint(_));
            constraints += u32::from(is_constraint && strategy == CommitStrategy::FromDatabase);
            if !failure.is_retryable() || constraints == CONSTRAINTS_MAX {
                return Err(failure);
            }
            jobs.iter().for_each(|job| job.gate.reopen());
            let (live, ended): (Vec<_>, Vec<_>) = jobs.drain(..).partition(Job::is_live);
            *jobs = live;
            if !ended.is_empty() {
                refuse(ended, &failure.timeout_error());
            }
            if jobs.is_empty() {
                return Ok(Vec::new());
            }
            if failure.is_lock_timeout() && self.park_held(jobs) {
                if jobs.is_empty() {
                    return Ok(Vec::new());
                }
                (strategy, was_stale) = (CommitStrategy::first(jobs), false);
                continue;
            }
            if failure.is_lock_timeout() && !mutants::is(Mutant::WaitTogether) && !self.is_own_row_held() {
                // After the first time the lock may be gone.
                if std::mem::replace(&mut had_lock_timeout, true) {
                    return Err(failure);
                }
            }
            log::debug!("Retrying a batch of {} commands: {failure}", jobs.len());
            if strategy == CommitStrategy::FromDatabase || !failure.is_conflict() {
                std::thread::sleep(RETRY_PAUSE);
            }
            if self.pipelined != pipelined {
                // `jobs` are now those that were pipelined behind the first ones, and this was their first attempt.
                (strategy, was_stale) = (CommitStrategy::first(jobs), false);
            }
            strategy = strategy.after(&failure, was_stale, is_plannable);
            self.statistics.note_retry(strategy);
            was_stale |= matches!(failure, BatchFailure::Stale);
        }
    }
}
