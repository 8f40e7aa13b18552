//! The way to the writer: a bounded queue of commands, each with the time until which it may wait and whom to answer.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::writer::{Batch, WriterSettings};
use crate::error::{Error, Result};

/// A command that waits for its turn.
pub(super) struct Job<B: Batch> {
    pub command: B::Command,
    pub deadline: Instant,
    reply: oneshot::Sender<Result<B::Answer>>,
}

impl<B: Batch> Job<B> {
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
    /// Hands a command over and waits until it was committed or refused.
    pub async fn submit(&self, command: B::Command) -> Result<B::Answer> {
        let (reply, answer) = oneshot::channel();
        let job = Job {
            command,
            deadline: Instant::now() + self.patience,
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
        answer.await.unwrap_or_else(|_| {
            Err(Error::UnknownOutcome {
                detail: "the writer stopped.".to_owned(),
            })
        })
    }
}
