//! Commits and answers jobs: tries each batch again until a commit, or until no retry can help.
//!
//! Naively, a refusal of the database refuses the whole batch, although a single command may be the cause. So the batch
//! is halved until the cause is alone. A batch with a long wait for an unknown lock is halved, too.

use std::time::{Duration, Instant};

use super::backlog::Backlog;
use super::batch::{Batch, Decision};
use super::failure::{BatchResult, RETRY_PAUSE};
use super::job::Job;
use super::jobs::{commands, refuse, reopen};
use super::pessimistic;
use super::pipeline::Pipeline;
use super::session::WriteSession;
use super::strategy::{BatchAttempts, CommitStrategy};
use crate::mutants::{self, Mutant};

/// The most batches that fail in a retry of jobs with an unknown lock.
pub(super) const FAILED_BATCHES_MAX: usize = 16;
/// How long a statement waits in this retry. PostgreSQL takes 0 for no limit.
const NO_WAIT: Duration = Duration::from_millis(1);

pub(super) struct Committer<B: Batch> {
    pub backlog: Backlog<B>,
    pub session: WriteSession<B>,
    pub pipeline: Pipeline,
}

impl<B: Batch> Committer<B> {
    /// Parks the jobs that need a held row, and commits the rest. `has_waiters`: jobs that are no longer in the queue
    /// wait for this batch.
    pub fn commit(&mut self, jobs: Vec<Job<B>>, has_waiters: bool) {
        let free = self.backlog.park(jobs, &self.session.batch);
        self.session.statistics.parked.set(self.backlog.parked.count());
        if !free.is_empty() {
            let began = Instant::now();
            self.pipeline.has_waiters = has_waiters;
            self.commit_or_refuse(free);
            self.pipeline.has_waiters = false;
            self.session.statistics.batch_times.record_time(began.elapsed());
            self.session.connection.after_batch();
        }
    }

    /// Answers the questions that wait, after [`Batch::follow`].
    pub fn answer_questions(&mut self) {
        let questions = self.backlog.waiting.take_questions();
        if !questions.is_empty()
            && let Err(failure) = self.session.follow()
        {
            return self.session.note_failure(&failure);
        }
        questions.into_iter().for_each(|question| _ = question.send(()));
    }

    /// Commits the jobs in one transaction, and answers. Halves a batch if one command may be the cause of a failure.
    fn commit_or_refuse(&mut self, mut jobs: Vec<Job<B>>) {
        match self.try_until_timeout(&mut jobs) {
            Ok(decisions) => self.backlog.answer(jobs, decisions),
            Err(failure) if failure.is_lock_timeout() => self.commit_without_waiting(vec![jobs]),
            Err(failure) if jobs.len() > 1 && failure.may_be_caused_by_one_command() => {
                let second_half = jobs.split_off(jobs.len() / 2);
                let has_waiters = std::mem::replace(&mut self.pipeline.has_waiters, true);
                self.commit_or_refuse(jobs);
                self.pipeline.has_waiters = has_waiters;
                self.commit_or_refuse(second_half);
            }
            Err(failure) => refuse(jobs, &failure.into_error()),
        }
    }

    /// Retries the batch until a commit, or until no retry can help. Expired and cancelled jobs are refused, and
    /// removed from `jobs`.
    fn try_until_timeout(&mut self, jobs: &mut Vec<Job<B>>) -> BatchResult<Vec<Decision<B::Answer>>> {
        let mut attempts = BatchAttempts::new(jobs);
        let mut had_lock_timeout = self.session.connection.lock_wait == NO_WAIT;
        while !jobs.is_empty() {
            let is_plannable = jobs.iter().all(Job::is_plannable);
            let pipelined = self.pipeline.count;
            let failure = match self.attempt(jobs, attempts.strategy) {
                Ok(decisions) => return Ok(decisions),
                Err(failure) => failure,
            };
            self.session.note_failure(&failure);
            if !attempts.may_go_on(&failure) {
                return Err(failure);
            }
            *jobs = reopen(std::mem::take(jobs), &failure);
            if jobs.is_empty() {
                break;
            }
            if failure.is_lock_timeout() && !mutants::is(Mutant::WaitTogether) {
                if self.park_held(jobs) {
                    attempts.restart(jobs);
                    continue;
                }
                // After the first time the lock may be gone.
                if !self.session.is_own_row_held() && std::mem::replace(&mut had_lock_timeout, true) {
                    return Err(failure);
                }
            }
            log::debug!("Retrying a batch of {} commands: {failure}", jobs.len());
            if attempts.strategy == CommitStrategy::FromDatabase || !failure.is_conflict() {
                std::thread::sleep(RETRY_PAUSE);
            }
            if self.pipeline.count != pipelined {
                // `jobs` are a later batch of the pipeline now, after a first attempt.
                attempts.restart(jobs);
            }
            attempts.choose_next(&failure, is_plannable, &self.session.statistics);
        }
        Ok(Vec::new())
    }

    /// Makes an attempt to commit the jobs, and returns a decision for each.
    ///
    /// `jobs` may change: jobs may join. If batches are pipelined, jobs of earlier batches are answered and
    /// removed.
    fn attempt(&mut self, jobs: &mut Vec<Job<B>>, strategy: CommitStrategy) -> BatchResult<Vec<Decision<B::Answer>>> {
        let (session, backlog) = (&mut self.session, &mut self.backlog);
        session.connection.before_batch()?;
        session.reopen()?;
        let from_database = strategy == CommitStrategy::FromDatabase;
        let is_plannable = !from_database && jobs.iter().all(Job::is_plannable);
        let expected_peers = session.expected_peers().filter(|_| is_plannable);
        if expected_peers.is_none() {
            session.follow()?;
        }
        if !is_plannable {
            return session.run(jobs, from_database);
        }
        let Some(plan) = session.plan(jobs)? else {
            if expected_peers.is_some() {
                session.follow()?;
            }
            return session.run(jobs, from_database);
        };
        let locks_all = strategy == CommitStrategy::Locked;
        if plan.writes.is_empty() {
            Ok(plan.decisions)
        } else if !plan.lock_set(locks_all).is_empty() {
            pessimistic::commit(session, backlog, jobs, plan, locks_all)
        } else if self.pipeline.may_take(session, jobs) {
            self.pipeline.run(session, backlog, jobs, plan, expected_peers.as_ref())
        } else {
            session.commit_plan(jobs, plan, expected_peers.as_ref())
        }
    }

    /// After a lock timeout: parks the jobs that need a held row. Returns whether the next attempt differs, because
    /// jobs were parked, or the rest now avoids rows.
    fn park_held(&mut self, jobs: &mut Vec<Job<B>>) -> bool {
        let named = self.session.batch.named_rows(&commands(jobs));
        let held = self.session.find_held(&named).unwrap_or_default();
        if held.is_empty() {
            return false;
        }
        let new = self.backlog.parked.add_rows(held);
        self.session.statistics.held_rows.add(new as u64);
        self.session.batch.note_held(self.backlog.parked.rows());
        let count = jobs.len();
        *jobs = self.backlog.park(std::mem::take(jobs), &self.session.batch);
        jobs.len() < count || new > 0
    }

    /// Probes the held rows, and retries the jobs with an unknown lock, if the time has come.
    pub fn retry_parked(&mut self) {
        let (session, backlog) = (&mut self.session, &mut self.backlog);
        if backlog.parked.is_probe_due() {
            let (woken, waiting) = backlog.parked.probe(session);
            let free = backlog.park(woken, &session.batch);
            backlog.waiting.put_back(free);
            backlog.parked.keep(waiting, &session.batch);
        }
        if let Some(batches) = backlog.parked.take_blind(&session.batch) {
            self.commit_without_waiting(batches);
        }
        self.session.statistics.parked.set(self.backlog.parked.count());
    }

    /// Commits the batches without waiting for locks. Halves a batch that needs a lock until the job at fault is alone,
    /// and parks the job. After [`FAILED_BATCHES_MAX`] failures the rest is left for the next retry, so that a lock of
    /// many jobs does not stop the writer.
    fn commit_without_waiting(&mut self, mut batches: Vec<Vec<Job<B>>>) {
        let lock_wait = self.session.connection.set_lock_wait(NO_WAIT);
        batches.reverse();
        let mut failures = 0;
        while failures < FAILED_BATCHES_MAX
            && let Some(mut jobs) = batches.pop()
        {
            match self.try_until_timeout(&mut jobs) {
                Ok(decisions) => self.backlog.answer(jobs, decisions),
                Err(failure) if !failure.is_lock_timeout() && !failure.may_be_caused_by_one_command() => {
                    refuse(jobs, &failure.into_error());
                }
                Err(failure) => {
                    failures += usize::from(failure.is_lock_timeout());
                    if jobs.len() > 1 {
                        let second_half = jobs.split_off(jobs.len() / 2);
                        batches.extend([second_half, jobs]);
                    } else if failure.is_lock_timeout() {
                        self.backlog.parked.push_blind(jobs);
                    } else {
                        refuse(jobs, &failure.into_error());
                    }
                }
            }
        }
        let untried = batches.into_iter().rev().flatten().collect();
        self.backlog.parked.put_back_blind(untried);
        self.session.connection.set_lock_wait(lock_wait);
    }
}
