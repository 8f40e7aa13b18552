//! The writer's queue: commands that wait; questions and renewals of leases, which the writer answers without a batch.
//!
//! Small and large commands wait in a queue each. Each queue is fair between callers (`fair_queue.rs`), and has places
//! for `[placet] queue_size` commands. So large commands take no place from small ones. If a queue is full, the caller
//! with the most waiting commands loses its newest one, which the writer has not taken yet. Commands that wait for held
//! rows have a bound of their own (`held_rows.rs`).

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::batch::Batch;
use super::job::Job;
use super::renewals::WaitingRenewal;
use crate::caller::CallerKey;
use crate::fair_queue::{FairQueue, QueueLimits};

/// Creates a queue with places for `size` small and `size` large commands: the callers' end and the writer's end.
pub(super) fn queue<B: Batch>(size: usize) -> (QueueEntrance<B>, QueueExit<B>) {
    let queue = Arc::new(WriterQueue {
        state: Mutex::new(QueueState::new(size)),
        arrival: Condvar::new(),
    });
    (QueueEntrance(Arc::clone(&queue)), QueueExit(queue))
}

struct WriterQueue<B: Batch> {
    state: Mutex<QueueState<B>>,
    /// A command or a question arrives, or the queue is closed.
    arrival: Condvar,
}

struct QueueState<B: Batch> {
    small: FairQueue<Job<B>>,
    /// A caller's large command counts as running until the pause after the command ends (`large_pauses.rs`).
    large: FairQueue<Job<B>>,
    /// Answered after [`Batch::follow`], which finds the commits of other programs. Dropped after a failure.
    questions: Vec<oneshot::Sender<()>>,
    /// Reports of hosts that may renew a lease.
    renewals: Vec<WaitingRenewal>,
    /// The writer is not woken for a renewal before.
    renewals_not_before: Instant,
    /// Whether a large command arrived since the writer last waited.
    has_new_large: bool,
    writer_waits: bool,
    /// All callers have gone.
    is_closed: bool,
    /// The writer has gone.
    is_abandoned: bool,
}

impl<B: Batch> QueueState<B> {
    fn new(size: usize) -> QueueState<B> {
        let fair_queue = |running_per_caller| {
            FairQueue::new(QueueLimits {
                // No thread takes a command when it arrives: the writer takes many at once.
                running: 0,
                running_per_caller,
                waiting: size,
            })
        };
        QueueState {
            small: fair_queue(usize::MAX),
            large: fair_queue(1),
            questions: Vec::new(),
            renewals: Vec::new(),
            renewals_not_before: Instant::now(),
            has_new_large: false,
            writer_waits: false,
            is_closed: false,
            is_abandoned: false,
        }
    }

    /// The queue of a command.
    fn of(&mut self, job: &Job<B>) -> &mut FairQueue<Job<B>> {
        if job.is_large() {
            &mut self.large
        } else {
            &mut self.small
        }
    }

    fn has_arrival(&mut self) -> bool {
        let has_new_large = std::mem::take(&mut self.has_new_large);
        let has_renewal = self.renewals_due().is_some_and(|at| at <= Instant::now());
        has_new_large || self.small.waiting() > 0 || !self.questions.is_empty() || has_renewal
    }

    /// When the waiting renewals are due; `None` without renewals.
    fn renewals_due(&self) -> Option<Instant> {
        (!self.renewals.is_empty()).then_some(self.renewals_not_before)
    }
}

impl<B: Batch> WriterQueue<B> {
    fn state(&self) -> MutexGuard<'_, QueueState<B>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and wakes the writer if it waits.
    fn change<T>(&self, change: impl FnOnce(&mut QueueState<B>) -> T) -> T {
        let mut state = self.state();
        let changed = change(&mut state);
        let writer_waits = state.writer_waits;
        drop(state);
        if writer_waits {
            self.arrival.notify_one();
        }
        changed
    }
}

/// The writer has gone, and takes no more from the queue.
#[derive(Debug)]
pub(super) struct Abandoned;

/// The callers' end. The queue is closed when the end is dropped.
pub(super) struct QueueEntrance<B: Batch>(Arc<WriterQueue<B>>);

impl<B: Batch> QueueEntrance<B> {
    /// Adds a command. Returns the command that a full queue refuses, of this caller or of a second caller.
    pub fn push(&self, job: Job<B>) -> Result<Option<Job<B>>, Abandoned> {
        let (caller, is_large) = (job.caller.clone(), job.is_large());
        self.0.change(|state| {
            if state.is_abandoned {
                return Err(Abandoned);
            }
            let (_, refused) = state.of(&job).push(&caller, job);
            let is_kept = refused.as_ref().is_none_or(|refused| refused.caller != caller);
            state.has_new_large |= is_large && is_kept;
            Ok(refused)
        })
    }

    pub fn ask(&self, question: oneshot::Sender<()>) -> Result<(), Abandoned> {
        self.0.change(|state| {
            if state.is_abandoned {
                return Err(Abandoned);
            }
            state.questions.push(question);
            Ok(())
        })
    }

    pub fn renew(&self, renewal: WaitingRenewal) -> Result<(), Abandoned> {
        self.0.change(|state| {
            if state.is_abandoned {
                return Err(Abandoned);
            }
            state.renewals.push(renewal);
            Ok(())
        })
    }
}

impl<B: Batch> Drop for QueueEntrance<B> {
    fn drop(&mut self) {
        self.0.change(|state| state.is_closed = true);
    }
}

/// Why a wait for a command ended.
pub(super) enum WaitEnd {
    /// A command may be committed now, or a question answered.
    Job,
    /// The time is over.
    Timeout,
    /// The queue is closed, and no small command waits.
    Closed,
}

/// The writer's end. Commands and questions are dropped when the end is dropped.
pub(super) struct QueueExit<B: Batch>(Arc<WriterQueue<B>>);

impl<B: Batch> QueueExit<B> {
    /// Waits for a command or a question.
    pub fn wait(&self, timeout: Duration) -> WaitEnd {
        let end = Instant::now() + timeout;
        let mut state = self.0.state();
        loop {
            if state.has_arrival() {
                return WaitEnd::Job;
            }
            let now = Instant::now();
            let left = end.saturating_duration_since(now);
            if state.is_closed || left.is_zero() {
                return if state.is_closed {
                    WaitEnd::Closed
                } else {
                    WaitEnd::Timeout
                };
            }
            let left = state
                .renewals_due()
                .map_or(left, |at| left.min(at.saturating_duration_since(now)));
            state.writer_waits = true;
            let woken = self.0.arrival.wait_timeout(state, left);
            (state, _) = woken.unwrap_or_else(PoisonError::into_inner);
            state.writer_waits = false;
        }
    }

    pub fn take_questions(&self) -> Vec<oneshot::Sender<()>> {
        std::mem::take(&mut self.0.state().questions)
    }

    /// Takes the waiting renewals.
    pub fn take_renewals(&self) -> Vec<WaitingRenewal> {
        std::mem::take(&mut self.0.state().renewals)
    }

    /// Has the writer woken for later renewals from this moment on.
    pub fn delay_renewals(&self, until: Instant) {
        self.0.state().renewals_not_before = until;
    }

    /// Takes the next small command, of the caller with the fewest of these rows, and among equals of the caller that
    /// was served longest ago.
    pub fn take_small(&self, rows: &HashMap<CallerKey, usize>) -> Option<Job<B>> {
        let rows_of = |caller: &CallerKey| rows.get(caller).copied().unwrap_or_default();
        self.0.state().small.take(rows_of)
    }

    /// Takes the next large command, of the caller that was served longest ago. The caller gets no further large
    /// command before [`Self::finish_large`].
    pub fn take_large(&self) -> Option<Job<B>> {
        self.0.state().large.next().map(|(_, job)| job)
    }

    pub fn finish_large(&self, caller: &CallerKey) {
        self.0.state().large.finish(caller);
    }

    /// Returns a command that was taken and did not begin.
    pub fn put_back(&self, job: Job<B>) {
        let caller = job.caller.clone();
        self.0.state().of(&job).put_back(&caller, job);
    }

    /// Whether a large command waits, and whether a large command may begin.
    pub fn large_waits(&self) -> (bool, bool) {
        let large = &self.0.state().large;
        (large.waiting() > 0, large.has_next())
    }

    /// How many large commands of a caller wait.
    pub fn large_of(&self, caller: &CallerKey) -> usize {
        self.0.state().large.waiting_of(caller)
    }
}

impl<B: Batch> Drop for QueueExit<B> {
    fn drop(&mut self) {
        let abandoned = QueueState {
            is_abandoned: true,
            ..QueueState::new(0)
        };
        let left = std::mem::replace(&mut *self.0.state(), abandoned);
        // Outside of the lock, because the commands may hold much memory.
        drop(left);
    }
}
