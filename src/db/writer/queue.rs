//! The writer's queue: commands, each with its deadline, its gate and the channel for its answer; and questions, which
//! the writer answers without a transaction.
//!
//! The queue is bounded by the number of commands without an answer. Commands that wait for held rows have a bound of
//! their own (`held_rows.rs`), and take no place from the rest.
//!
//! If the database is down, the writer gets an error and answers in time. If the database hangs, the writer hangs too.
//! So the caller may cancel its command after a second, longer timeout. The gate makes the cancellation safe: a command
//! is either cancelled or committed, never both.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::batch::{Batch, BatchCommand, Decision, RowNames};
use super::settings::WriterSettings;
use super::statistics::WriterStatistics;
use crate::db::boot_instant::BootInstant;
use crate::db::live_count::{Counted, LiveCount};
use crate::error::{Error, Result};

/// Extra time for the caller, so that the writer's more precise answer arrives first.
const CALLER_GRACE: Duration = Duration::from_millis(500);

/// An entry of the queue.
pub(in crate::db) enum QueueEntry<B: Batch> {
    Job(Job<B>),
    /// Answered after [`Batch::follow`], which finds the commits of other programs. Dropped after a failure.
    Question(oneshot::Sender<()>),
}

/// A command that waits to be committed.
pub(in crate::db) struct Job<B: Batch> {
    pub command: B::Command,
    pub deadline: BootInstant,
    pub gate: CommitGate,
    /// Whether the command is decided on rows that the transaction reads, never on the snapshot.
    pub from_database: bool,
    pub when_held: WhenHeld,
    reply: oneshot::Sender<Result<Submitted<B>>>,
    /// `None` while the job waits for held rows.
    counted: Option<Counted>,
}

/// The treatment of a command that needs a row which a concurrent transaction has locked.
#[derive(Debug, Clone)]
pub enum WhenHeld {
    /// The command waits for the row, at most until its deadline.
    Wait,
    /// The caller avoided the providers among these rows. If a further provider stays held, the caller gets
    /// [`Submitted::Held`], and plans again. If not, the command waits: there is no way around the row.
    PlanAgain(Arc<RowNames>),
}

impl WhenHeld {
    /// The held providers that a new plan may avoid.
    pub fn avoidable(&self, held: &RowNames) -> RowNames {
        match self {
            WhenHeld::Wait => RowNames::default(),
            WhenHeld::PlanAgain(avoided) => RowNames {
                providers: &held.providers - &avoided.providers,
                ..RowNames::default()
            },
        }
    }
}

/// The fate of a command that the writer did not refuse.
pub enum Submitted<B: Batch> {
    /// The command was granted and is committed.
    Committed(B::Answer),
    /// Refused on the snapshot, which may be out of date: check the refusal against the tables. Nothing was done.
    Unverified(B::Command),
    /// The command needs a row that a concurrent transaction has locked. Nothing was done.
    Held,
}

/// Whether a command may still be cancelled. Clones share the state: the caller's and the writer's.
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

    /// Called before COMMIT is sent. False if the command was cancelled; true ends the chance to cancel.
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

    /// Changes the state from `from` to `to`. False if the state is not `from`.
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

/// A job with more rows is large, and a batch of its own.
const MAX_SMALL_ROWS: usize = 256;

impl<B: Batch> Job<B> {
    /// Not cancelled, and before its deadline.
    pub fn is_live(&self) -> bool {
        !self.gate.is_cancelled() && self.deadline > BootInstant::now()
    }

    /// The approximate number of rows that the command writes.
    pub fn rows(&self) -> usize {
        self.command.rows()
    }

    /// Whether the job is a batch of its own.
    pub fn is_large(&self) -> bool {
        self.rows() > MAX_SMALL_ROWS
    }

    /// From now on the job does not count toward the bound of the queue.
    pub fn stop_counting(&mut self) {
        self.counted = None;
    }

    /// Whether the command may be planned on the snapshot.
    pub fn is_plannable(&self) -> bool {
        !self.from_database && self.command.is_plannable()
    }

    /// Answers the caller with the decision. A committed command stays committed even if the caller has gone.
    pub fn answer(self, decision: Decision<B::Answer>) {
        let answer = match decision {
            Decision::Granted(answer) => Ok(Submitted::Committed(answer)),
            Decision::Refused(error) => Err(error),
            Decision::Unverified => Ok(Submitted::Unverified(self.command)),
            Decision::Held => Ok(Submitted::Held),
        };
        if self.reply.send(answer).is_err() {
            log::debug!("A client disconnected before its command was answered");
        }
    }
}

/// Creates the queue: the handle to submit commands, and the writer's end.
pub(in crate::db) fn queue<B: Batch>(settings: &WriterSettings) -> (WriterHandle<B>, Receiver<QueueEntry<B>>) {
    let (queue, entries) = channel();
    let handle = WriterHandle {
        queue,
        unanswered: LiveCount::default(),
        queue_size: settings.queue_size,
        timeout: settings.commit_timeout,
        statistics: Arc::default(),
    };
    (handle, entries)
}

/// Submits commands to the writer. Clones share the queue; the writer ends when the last clone is dropped.
pub struct WriterHandle<B: Batch> {
    queue: Sender<QueueEntry<B>>,
    unanswered: LiveCount,
    queue_size: usize,
    timeout: Duration,
    statistics: Arc<WriterStatistics>,
}

impl<B: Batch> Clone for WriterHandle<B> {
    fn clone(&self) -> Self {
        WriterHandle {
            queue: self.queue.clone(),
            unanswered: self.unanswered.clone(),
            queue_size: self.queue_size,
            timeout: self.timeout,
            statistics: self.statistics.clone(),
        }
    }
}

impl<B: Batch> WriterHandle<B> {
    /// The writer's counters.
    pub fn statistics(&self) -> &Arc<WriterStatistics> {
        &self.statistics
    }

    /// How many commands have no answer yet, without the commands that wait for held rows.
    pub fn unanswered(&self) -> usize {
        self.unanswered.value()
    }

    /// The deadline of a command that arrives now.
    pub fn deadline(&self) -> BootInstant {
        BootInstant::now() + self.timeout
    }

    /// Submits a command, and waits until it is committed, refused, or cancelled because the database hangs.
    pub async fn submit(
        &self,
        command: B::Command,
        deadline: BootInstant,
        when_held: WhenHeld,
    ) -> Result<Submitted<B>> {
        self.enqueue(command, deadline, false, when_held).await
    }

    /// As [`Self::submit`], for a command that the snapshot refused and the tables would grant: decided on rows.
    pub async fn submit_from_database(
        &self,
        command: B::Command,
        deadline: BootInstant,
        when_held: WhenHeld,
    ) -> Result<Submitted<B>> {
        self.enqueue(command, deadline, true, when_held).await
    }

    /// Has the writer call [`Batch::follow`], outside of a transaction. Returns after the call.
    pub async fn follow(&self, deadline: BootInstant) -> Result<()> {
        let (question, answer) = oneshot::channel();
        self.send(QueueEntry::Question(question))?;
        let answered = timeout(deadline.saturating_duration_since(BootInstant::now()), answer).await;
        answered
            .ok()
            .and_then(std::result::Result::ok)
            .ok_or_else(|| Error::Unavailable {
                detail: "it does not answer".into(),
            })
    }

    fn send(&self, entry: QueueEntry<B>) -> Result<()> {
        self.queue.send(entry).map_err(|_| Error::Busy {
            detail: "It is shutting down.".to_owned(),
        })
    }

    async fn enqueue(
        &self,
        command: B::Command,
        deadline: BootInstant,
        from_database: bool,
        when_held: WhenHeld,
    ) -> Result<Submitted<B>> {
        let counted = self.unanswered.add_below(self.queue_size).ok_or_else(|| Error::Busy {
            detail: "Too many writes are waiting.".to_owned(),
        })?;
        let (reply, mut answer) = oneshot::channel();
        let gate = CommitGate::open();
        let job = Job {
            command,
            deadline,
            gate: gate.clone(),
            from_database,
            when_held,
            reply,
            counted: Some(counted),
        };
        self.send(QueueEntry::Job(job))?;
        let unknown = |detail: &'static str| Error::UnknownOutcome { detail: detail.into() };
        let cancel_after = deadline.saturating_duration_since(BootInstant::now()) + self.timeout + CALLER_GRACE;
        let answered = match timeout(cancel_after, &mut answer).await {
            Err(_) if gate.cancel() => {
                return Err(Error::Unavailable {
                    detail: "it does not answer".into(),
                });
            }
            // COMMIT is in flight. The caller waits longer for the outcome, so that the client need not ask.
            Err(_) => timeout(self.timeout, answer)
                .await
                .map_err(|_| unknown("the database does not answer"))?,
            Ok(answered) => answered,
        };
        answered.unwrap_or_else(|_| Err(unknown("the writer stopped")))
    }
}
