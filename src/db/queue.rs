//! The way to the writer: a bounded queue of commands, each with the time until which it may wait and whom to answer.
//!
//! A database that is gone says so, and the writer answers in time. One that stands still says nothing: then the caller
//! gives its command up, and what was given up is never committed.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::writer::{Batch, WriterSettings};
use crate::error::{Error, Result};

/// How much later than the writer a caller loses patience: the writer's answer says more.
const GRACE: Duration = Duration::from_millis(500);

/// A command that waits for its turn.
pub(super) struct Job<B: Batch> {
    pub command: B::Command,
    pub deadline: Instant,
    pub permit: Permit,
    reply: oneshot::Sender<Result<B::Answer>>,
}

/// How far a command is: its caller and the writer agree on it. Clones share it.
#[derive(Clone)]
pub(super) struct Permit(Arc<Mutex<Turn>>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Nothing of it can be in the database.
    Open,
    /// COMMIT is about to be sent, or was: only the database knows.
    Committing,
    /// Its caller was told that it did not happen.
    GivenUp,
}

impl Permit {
    fn open() -> Permit {
        Permit(Arc::new(Mutex::new(Turn::Open)))
    }

    /// Asked before COMMIT is sent: false where the caller gave it up. After true it cannot any more.
    pub fn may_commit(&self) -> bool {
        self.change(Turn::Open, Turn::Committing)
    }

    /// What it is for was not committed, and is to be tried again.
    pub fn reopen(&self) {
        self.change(Turn::Committing, Turn::Open);
    }

    /// False where COMMIT is about to be sent, or was.
    fn give_up(&self) -> bool {
        self.change(Turn::Open, Turn::GivenUp)
    }

    fn is_given_up(&self) -> bool {
        *self.turn() == Turn::GivenUp
    }

    /// Whether it was `from`, and is `to` now.
    fn change(&self, from: Turn, to: Turn) -> bool {
        let mut turn = self.turn();
        let is = *turn == from;
        if is {
            *turn = to;
        }
        is
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B: Batch> Job<B> {
    /// Whether it is worth another try.
    pub fn is_waited_for(&self) -> bool {
        !self.permit.is_given_up() && self.deadline > Instant::now()
    }

    /// Answers it. A caller that went away does not hear it: what was committed stays.
    pub fn answer(self, result: Result<B::Answer>) {
        if self.reply.send(result).is_err() {
            log::debug!("A client went away before its change was answered");
        }
    }
}

/// A queue as the settings say: the way in, and what comes out of it.
pub(super) fn queue<B: Batch>(settings: &WriterSettings) -> (WriterHandle<B>, Receiver<Job<B>>) {
    let (queue, jobs) = sync_channel(settings.queue_size);
    let patience = settings.commit_timeout;
    (WriterHandle { queue, patience }, jobs)
}

/// The way to the writer. Clones share it; when the last one is gone the writer ends.
pub struct WriterHandle<B: Batch> {
    queue: SyncSender<Job<B>>,
    patience: Duration,
}

impl<B: Batch> Clone for WriterHandle<B> {
    fn clone(&self) -> Self {
        WriterHandle {
            queue: self.queue.clone(),
            patience: self.patience,
        }
    }
}

impl<B: Batch> WriterHandle<B> {
    /// Hands a command over and waits until it was committed or refused, or the database stood still for too long.
    pub async fn submit(&self, command: B::Command) -> Result<B::Answer> {
        let (reply, mut answer) = oneshot::channel();
        let permit = Permit::open();
        let job = Job {
            command,
            deadline: Instant::now() + self.patience,
            permit: permit.clone(),
            reply,
        };
        self.queue.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => Error::Busy {
                detail: "Too many changes are waiting.".to_owned(),
            },
            TrySendError::Disconnected(_) => Error::Busy {
                detail: "It is shutting down.".to_owned(),
            },
        })?;
        let unknown = |detail: &str| Error::UnknownOutcome {
            detail: detail.to_owned(),
        };
        let answered = match timeout(2 * self.patience + GRACE, &mut answer).await {
            Err(_) if permit.give_up() => {
                return Err(Error::Unavailable {
                    detail: "it does not answer".to_owned(),
                });
            }
            // Its COMMIT is under way: worth some more time, because who is told how it ended need not find out.
            Err(_) => timeout(self.patience, answer)
                .await
                .map_err(|_| unknown("the database does not answer."))?,
            Ok(answered) => answered,
        };
        answered.unwrap_or_else(|_| Err(unknown("the writer stopped.")))
    }
}
