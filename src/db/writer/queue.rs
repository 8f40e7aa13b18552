//! The writer's bounded queue: commands, each with its deadline, its gate and the channel for its answer.
//!
//! If the database is down, the writer gets an error and answers in time. If the database hangs, the writer hangs with
//! it. So the caller may cancel its command after a second, longer timeout. The gate makes that safe: a command is
//! either cancelled or committed, never both.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{Batch, WriterSettings};
use crate::error::{Error, Result};

/// Extra time for the caller, so that the writer's more precise answer arrives first.
const CALLER_GRACE: Duration = Duration::from_millis(500);

/// A command that waits to be committed.
pub(in crate::db) struct Job<B: Batch> {
    pub command: B::Command,
    pub deadline: Instant,
    pub gate: CommitGate,
    reply: oneshot::Sender<Result<B::Answer>>,
}

/// Whether a command may still be cancelled. Its caller and the writer share one state; a clone refers to the same.
#[derive(Clone)]
pub(in crate::db) struct CommitGate(Arc<Mutex<CommitState>>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum CommitState {
    /// Nothing of the command can be in the database.
    Open,
    /// COMMIT is about to be sent, or was sent: only the database knows.
    Committing,
    /// The caller has been answered that nothing was done.
    Cancelled,
}

impl CommitGate {
    fn open() -> CommitGate {
        CommitGate(Arc::new(Mutex::new(CommitState::Open)))
    }

    /// Called before COMMIT is sent. False if the command was cancelled; after true it cannot be.
    pub fn begin_commit(&self) -> bool {
        self.change(CommitState::Open, CommitState::Committing)
    }

    /// Called before a retry: the command was not committed.
    pub fn reopen(&self) {
        self.change(CommitState::Committing, CommitState::Open);
    }

    /// Cancels the command. False if COMMIT is about to be sent, or was sent.
    fn cancel(&self) -> bool {
        self.change(CommitState::Open, CommitState::Cancelled)
    }

    fn is_cancelled(&self) -> bool {
        *self.state() == CommitState::Cancelled
    }

    /// Changes the state if it is `from`, and returns whether it was.
    fn change(&self, from: CommitState, to: CommitState) -> bool {
        let mut state = self.state();
        let matches = *state == from;
        if matches {
            *state = to;
        }
        matches
    }

    fn state(&self) -> MutexGuard<'_, CommitState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B: Batch> Job<B> {
    /// Not cancelled, and before its deadline.
    pub fn is_live(&self) -> bool {
        !self.gate.is_cancelled() && self.deadline > Instant::now()
    }

    /// Answers the caller if it still waits. A committed command stays committed either way.
    pub fn answer(self, result: Result<B::Answer>) {
        if self.reply.send(result).is_err() {
            log::debug!("A client disconnected before its command was answered");
        }
    }
}

/// Creates the queue: the handle to submit commands, and the writer's end.
pub(in crate::db) fn queue<B: Batch>(settings: &WriterSettings) -> (WriterHandle<B>, Receiver<Job<B>>) {
    let (queue, jobs) = sync_channel(settings.queue_size);
    let timeout = settings.commit_timeout;
    (WriterHandle { queue, timeout }, jobs)
}

/// Submits commands to the writer. Clones share the queue; the writer ends when the last one is dropped.
pub struct WriterHandle<B: Batch> {
    queue: SyncSender<Job<B>>,
    timeout: Duration,
}

impl<B: Batch> Clone for WriterHandle<B> {
    fn clone(&self) -> Self {
        WriterHandle {
            queue: self.queue.clone(),
            timeout: self.timeout,
        }
    }
}

impl<B: Batch> WriterHandle<B> {
    /// Submits a command, and waits until it is committed, refused, or cancelled because the database hangs.
    pub async fn submit(&self, command: B::Command) -> Result<B::Answer> {
        let (reply, mut answer) = oneshot::channel();
        let gate = CommitGate::open();
        let job = Job {
            command,
            deadline: Instant::now() + self.timeout,
            gate: gate.clone(),
            reply,
        };
        self.queue.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => Error::Busy {
                detail: "Too many writes are waiting.".to_owned(),
            },
            TrySendError::Disconnected(_) => Error::Busy {
                detail: "It is shutting down.".to_owned(),
            },
        })?;
        let unknown = |detail: &str| Error::UnknownOutcome {
            detail: detail.to_owned(),
        };
        let answered = match timeout(2 * self.timeout + CALLER_GRACE, &mut answer).await {
            Err(_) if gate.cancel() => {
                return Err(Error::Unavailable {
                    detail: "it does not answer".to_owned(),
                });
            }
            // COMMIT is in flight. The caller waits longer for the outcome, so that the client need not look it up.
            Err(_) => timeout(self.timeout, answer)
                .await
                .map_err(|_| unknown("the database does not answer."))?,
            Ok(answered) => answered,
        };
        answered.unwrap_or_else(|_| Err(unknown("the writer stopped.")))
    }
}
