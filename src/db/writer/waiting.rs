//! The jobs that wait for the writer, and which of them form the next batch.
//!
//! Naively, a batch takes all jobs that wait. The claim of a single consumer waits until all earlier requests with a
//! thousand consumers are written.
//!
//! So a batch is bounded in rows, not only in jobs, and a large job is a transaction of its own (`large.rs`). A claim
//! waits for one large job at most. If small jobs came since the last large job, the next large job begins after a
//! pause. A lone client with large jobs gets a tenth of the time: the pause is nine times as long as the job took. The
//! large jobs that wait share the pause, and so expire less. From nine on, both kinds get equal shares.
//!
//! Measured on SQLite with 32 clients of small claims beside a client with claims of a thousand consumers. The small
//! claims' 99th percentile grows by a factor of 10 if both kinds get equal shares, 6 if large jobs get a fifth of the
//! time, and 1.3 with a tenth.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot::Sender;

use super::batch::Batch;
use super::jobs::{refuse_expired, too_slow};
use super::queue::{Job, QueueEntry};

/// The most jobs of one transaction: enough to make the fixed cost vanish, few enough to stay quick.
pub(super) const MAX_BATCH: usize = 256;
/// The most rows of a batch of several jobs. 256 claims of three classes have as many.
const MAX_BATCH_ROWS: usize = 1_024;

/// The pause after a large job if no further large job waits, in multiples of the time that the job took.
const PAUSE_FACTOR: f64 = 9.0;
/// The longest pause between two large jobs, as a part of `commit_timeout`: the next job must not expire during the
/// pause. A job that took longer has waited for the database.
const LONGEST_PAUSE: f64 = 0.1;

pub(super) struct Waiting<B: Batch> {
    queue: Receiver<QueueEntry<B>>,
    /// Questions that were taken from the queue.
    pub questions: Vec<Sender<()>>,
    /// Small jobs that were taken from the queue and could not join a batch, in their order.
    deferred: VecDeque<Job<B>>,
    /// Large jobs that were taken from the queue.
    large: VecDeque<Job<B>>,
    /// When the next large job may begin.
    large_at: Instant,
    /// Whether small jobs were taken since the last large job ended.
    had_small: bool,
    longest_pause: Duration,
}

impl<B: Batch> Waiting<B> {
    pub fn new(queue: Receiver<QueueEntry<B>>, commit_timeout: Duration) -> Waiting<B> {
        Waiting {
            queue,
            questions: Vec::new(),
            deferred: VecDeque::new(),
            large: VecDeque::new(),
            large_at: Instant::now(),
            had_small: false,
            longest_pause: commit_timeout.mul_f64(LONGEST_PAUSE),
        }
    }

    /// Whether a small job waits after it was taken from the queue.
    pub fn has_deferred(&self) -> bool {
        !self.deferred.is_empty()
    }

    /// When the next large job may begin; `None` without large jobs.
    pub fn large_due_at(&self) -> Option<Instant> {
        (!self.large.is_empty()).then_some(self.large_at)
    }

    /// Waits for a job or a question to arrive.
    pub fn wait(&mut self, timeout: Duration) -> Result<(), RecvTimeoutError> {
        self.queue.recv_timeout(timeout).map(|entry| self.take(entry))
    }

    /// Takes over an entry of the queue.
    fn take(&mut self, entry: QueueEntry<B>) {
        match entry {
            QueueEntry::Job(job) => self.deferred.push_back(job),
            QueueEntry::Question(question) => self.questions.push(question),
        }
    }

    /// The oldest job that waits and was not set aside as large.
    fn next(&mut self) -> Option<Job<B>> {
        while self.deferred.is_empty()
            && let Ok(entry) = self.queue.try_recv()
        {
            self.take(entry);
        }
        self.deferred.pop_front()
    }

    pub fn defer(&mut self, jobs: impl IntoIterator<Item = Job<B>>) {
        self.deferred.extend(jobs);
    }

    /// Takes the small jobs that fit in a batch with `batch`, in the order of their arrival. Refuses expired jobs.
    pub fn take_small(&mut self, batch: &[Job<B>]) -> Vec<Job<B>> {
        let mut rows: usize = batch.iter().map(Job::rows).sum();
        let mut taken = Vec::new();
        while batch.len() + taken.len() < MAX_BATCH
            && let Some(job) = self.next()
        {
            if job.is_large() {
                self.large.push_back(job);
                continue;
            }
            if rows + job.rows() > MAX_BATCH_ROWS {
                self.deferred.push_front(job);
                break;
            }
            rows += job.rows();
            taken.push(job);
        }
        self.had_small |= !taken.is_empty();
        refuse_expired(taken, too_slow)
    }

    /// Takes the oldest large job, if the job may begin. Refuses an expired job.
    pub fn take_large(&mut self) -> Option<Job<B>> {
        if self.large_at > Instant::now() {
            return None;
        }
        refuse_expired(self.large.pop_front().into_iter().collect(), too_slow).pop()
    }

    /// Notes the end of a large job, which began at `began`.
    pub fn release_large(&mut self, began: Instant) {
        let now = Instant::now();
        self.large_at = if self.had_small {
            now + pause_after(now - began, self.large.len()).min(self.longest_pause)
        } else {
            now
        };
        self.had_small = false;
    }
}

/// How long the next large job waits for small jobs, after a large job that took `taken`, while `waiting` large jobs
/// wait.
fn pause_after(taken: Duration, waiting: usize) -> Duration {
    let factor = (PAUSE_FACTOR / waiting.max(1) as f64).max(1.0);
    taken.mul_f64(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_after_a_large_job_is_shared_by_the_large_jobs_that_wait() {
        let taken = Duration::from_millis(100);
        let pauses = [0, 1, 3, 9, 100].map(|waiting| pause_after(taken, waiting).as_millis());
        assert_eq!(pauses, [900, 900, 300, 100, 100]);
    }
}
