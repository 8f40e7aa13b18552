//! The jobs without an answer that are in no batch yet: they wait in the queue, for held rows, or for a large job.

use std::time::Instant;

use super::batch::{Batch, Decision};
use super::held_rows::Parked;
use super::job::Job;
use super::large_inserts::LargeInserts;
use super::queue::{QueueExit, WaitEnd};
use super::settings::WriterSettings;
use super::waiting::Waiting;

pub(super) struct Backlog<B: Batch> {
    pub waiting: Waiting<B>,
    /// Jobs that wait for rows which concurrent transactions have locked.
    pub parked: Parked<B>,
    /// The pending insert of a large job's rows, and the jobs that need these rows.
    pub large: LargeInserts<B>,
}

impl<B: Batch> Backlog<B> {
    pub fn new(queue: QueueExit<B>, settings: &WriterSettings) -> Backlog<B> {
        Backlog {
            waiting: Waiting::new(queue, settings.commit_timeout),
            parked: Parked::new(settings.queue_size),
            large: LargeInserts::new(settings.queue_size),
        }
    }

    /// Waits until a job may be committed, parked jobs are due, or `end` is reached. The wait ends as closed only after
    /// the last answer.
    pub fn wait(&mut self, end: Instant) -> WaitEnd {
        if self.has_job() {
            return WaitEnd::Job;
        }
        let due_at = self.parked.due_at().into_iter().chain(self.large_due_at()).min();
        let until = |at: Instant| at.saturating_duration_since(Instant::now());
        match (self.waiting.wait(until(due_at.map_or(end, |at| at.min(end)))), due_at) {
            (WaitEnd::Closed, Some(at)) if self.has_unanswered() => {
                std::thread::sleep(until(at));
                WaitEnd::Timeout
            }
            (end, _) => end,
        }
    }

    fn has_unanswered(&self) -> bool {
        self.parked.count() > 0 || self.large_due_at().is_some()
    }

    /// Whether a job from the queue may be committed now.
    fn has_job(&self) -> bool {
        self.waiting.has_deferred() || self.large_due_at().is_some_and(|at| at <= Instant::now())
    }

    /// Whether a job from the queue may be committed now, or parked jobs are due.
    pub fn has_work(&self) -> bool {
        self.has_job() || self.parked.due_at().is_some_and(|at| at <= Instant::now())
    }

    /// When a large job may begin or end; `None` without large jobs.
    fn large_due_at(&self) -> Option<Instant> {
        self.large.due_at().or_else(|| self.waiting.large_due_at())
    }

    /// Takes the waiting jobs that fit in a batch with `joined` and can be planned, and defers the rest.
    pub fn take_plannable(&mut self, joined: &[Job<B>], batch: &B) -> Vec<Job<B>> {
        let arrived = self.waiting.take_small(joined);
        let (plannable, unplannable): (Vec<_>, Vec<_>) =
            self.park(arrived, batch).into_iter().partition(Job::is_plannable);
        self.waiting.defer(unplannable);
        plannable
    }

    /// Parks the jobs that need a held row, or the rows of a large job. Returns the rest.
    pub fn park(&mut self, jobs: Vec<Job<B>>, batch: &B) -> Vec<Job<B>> {
        let independent = self.large.set_aside(jobs, batch);
        self.parked.park(independent, batch)
    }

    /// Answers each job with its decision. A job that rows would grant if no lock were held is parked.
    pub fn answer(&mut self, jobs: Vec<Job<B>>, decisions: Vec<Decision<B::Answer>>) {
        for (job, decision) in jobs.into_iter().zip(decisions) {
            match decision {
                Decision::Held if job.from_database => {
                    // The batch was committed without the command.
                    job.gate.reopen();
                    self.parked.push(vec![job]);
                }
                Decision::Held => job.answer(Decision::Unverified),
                decision => job.answer(decision),
            }
        }
    }
}
