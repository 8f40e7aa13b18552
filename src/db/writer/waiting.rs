//! The jobs that wait for the writer, and the choice of jobs for the next batch.
//!
//! Naively, a batch takes all jobs that wait. The claim of a single consumer waits until all earlier requests with a
//! thousand consumers are written.
//!
//! So a batch is bounded in rows, not only in jobs, and a large job is a transaction of its own (`large.rs`). A claim
//! waits for at most a single large job. Callers have turns: the next small job of a batch is of the caller with the
//! fewest rows in the batch. Large jobs have turns of callers as well, and a caller pauses between two large jobs
//! (`large_pauses.rs`).

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use tokio::sync::oneshot::Sender;

use super::batch::Batch;
use super::job::Job;
use super::jobs::{refuse_expired, too_slow};
use super::large_pauses::LargePauses;
use super::queue::{QueueExit, WaitEnd};
use super::renewals::WaitingRenewal;
use crate::caller::CallerKey;

/// The most jobs of one transaction: enough to make the fixed cost vanish, few enough to stay quick.
pub(super) const MAX_BATCH: usize = 256;
/// The most rows of a batch of several jobs. 256 claims of three classes have as many.
const MAX_BATCH_ROWS: usize = 1_024;

/// The rows of a batch.
#[derive(Default)]
struct RowsOfCallers {
    all: usize,
    by_caller: HashMap<CallerKey, usize>,
}

impl RowsOfCallers {
    fn add<B: Batch>(&mut self, job: &Job<B>) {
        self.all += job.rows();
        // A job without rows takes a place, too.
        *self.by_caller.entry(job.caller.clone()).or_default() += job.rows().max(1);
    }
}

pub(super) struct Waiting<B: Batch> {
    queue: QueueExit<B>,
    /// Small jobs that were taken from the queue and could not join a batch, in order.
    deferred: VecDeque<Job<B>>,
    pauses: LargePauses,
    /// Whether small jobs were taken since the last large job ended.
    had_small: bool,
}

impl<B: Batch> Waiting<B> {
    pub fn new(queue: QueueExit<B>, commit_timeout: Duration) -> Waiting<B> {
        Waiting {
            queue,
            deferred: VecDeque::new(),
            pauses: LargePauses::new(commit_timeout),
            had_small: false,
        }
    }

    /// Whether a small job waits after it was taken from the queue.
    pub fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    /// When the next large job may begin; `None` without large jobs.
    pub fn large_due_at(&self) -> Option<Instant> {
        let (waits, may_begin) = self.queue.large_waits();
        let pause_end = self.pauses.first_end().filter(|_| !may_begin);
        waits.then(|| pause_end.unwrap_or_else(Instant::now))
    }

    /// Waits for a job or a question to arrive.
    pub fn wait(&self, timeout: Duration) -> WaitEnd {
        self.queue.wait(timeout)
    }

    /// The reports that may renew a lease.
    pub fn take_renewals(&self) -> Vec<WaitingRenewal> {
        self.queue.take_renewals()
    }

    pub fn delay_renewals(&self, until: Instant) {
        self.queue.delay_renewals(until);
    }

    pub fn take_questions(&self) -> Vec<Sender<()>> {
        self.queue.take_questions()
    }

    /// Takes over small jobs that were taken and did not begin. The next batch begins with these jobs.
    pub fn defer(&mut self, jobs: Vec<Job<B>>) {
        self.deferred.extend(jobs);
    }

    /// Returns jobs that wait no longer for rows, so that the jobs wait for turns of their callers.
    pub fn put_back(&mut self, jobs: Vec<Job<B>>) {
        jobs.into_iter().rev().for_each(|job| self.queue.put_back(job));
    }

    /// Takes the small jobs that fit in a batch with `batch`, by turns of callers. Refuses expired jobs.
    pub fn take_small(&mut self, batch: &[Job<B>]) -> Vec<Job<B>> {
        let mut rows = RowsOfCallers::default();
        batch.iter().for_each(|job| rows.add(job));
        let mut taken = Vec::new();
        while batch.len() + taken.len() < MAX_BATCH
            && let Some(job) = (self.deferred.pop_front()).or_else(|| self.queue.take_small(&rows.by_caller))
        {
            if rows.all + job.rows() > MAX_BATCH_ROWS {
                self.deferred.push_front(job);
                break;
            }
            rows.add(&job);
            taken.push(job);
        }
        self.had_small |= !taken.is_empty();
        refuse_expired(taken, too_slow)
    }

    /// Takes the next large job of a caller without a pause. Refuses expired jobs.
    pub fn take_large(&mut self) -> Option<Job<B>> {
        for caller in self.pauses.take_ended() {
            self.queue.finish_large(&caller);
        }
        loop {
            let job = self.queue.take_large()?;
            let caller = job.caller.clone();
            match refuse_expired(vec![job], too_slow).pop() {
                Some(job) => return Some(job),
                None => self.queue.finish_large(&caller),
            }
        }
    }

    /// Notes the end of a large job of this caller, which began at `began`.
    pub fn release_large(&mut self, caller: CallerKey, began: Instant) {
        if std::mem::take(&mut self.had_small) {
            let waiting = self.queue.large_of(&caller);
            self.pauses.begin(caller, began.elapsed(), waiting);
        } else {
            self.queue.finish_large(&caller);
        }
    }
}
