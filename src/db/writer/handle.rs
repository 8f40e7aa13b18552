//! The callers' handle of the writer.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::batch::{Batch, Decision};
use super::commit_gate::CommitGate;
use super::election::Leadership;
use super::job::{Job, Submitted, WhenHeld};
use super::jobs::queue_is_full;
use super::queue::{Abandoned, QueueEntrance, QueueExit, queue};
use super::renewals::WaitingRenewal;
use super::settings::WriterSettings;
use super::statistics::WriterStatistics;
use crate::caller::CallerKey;
use crate::db::boot_instant::BootInstant;
use crate::db::leases::{Renewal, StoredLease};
use crate::db::live_count::LiveCount;
use crate::error::{Error, Result};

/// Extra time for the caller, so that the writer's more precise answer arrives first.
const CALLER_GRACE: Duration = Duration::from_millis(500);

/// Submits commands to the writer. Clones share the queue; the writer ends when the last clone is dropped.
pub struct WriterHandle<B: Batch> {
    queue: Arc<QueueEntrance<B>>,
    unanswered: LiveCount,
    timeout: Duration,
    statistics: Arc<WriterStatistics>,
    leadership: Arc<Leadership>,
}

impl<B: Batch> Clone for WriterHandle<B> {
    fn clone(&self) -> Self {
        WriterHandle {
            queue: Arc::clone(&self.queue),
            unanswered: self.unanswered.clone(),
            timeout: self.timeout,
            statistics: Arc::clone(&self.statistics),
            leadership: Arc::clone(&self.leadership),
        }
    }
}

impl<B: Batch> WriterHandle<B> {
    /// A handle with a new queue, and the writer's end of the queue.
    pub(super) fn new(settings: &WriterSettings) -> (WriterHandle<B>, QueueExit<B>) {
        let (entrance, exit) = queue(settings.queue_size);
        let handle = WriterHandle {
            queue: Arc::new(entrance),
            unanswered: LiveCount::default(),
            timeout: settings.commit_timeout,
            statistics: Arc::default(),
            leadership: Arc::default(),
        };
        (handle, exit)
    }

    /// The writer's counters.
    pub fn statistics(&self) -> &Arc<WriterStatistics> {
        &self.statistics
    }

    /// Whether this process leads.
    pub fn leadership(&self) -> &Arc<Leadership> {
        &self.leadership
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
        caller: &CallerKey,
        command: B::Command,
        deadline: BootInstant,
        when_held: WhenHeld,
    ) -> Result<Submitted<B>> {
        self.enqueue((caller, false), command, deadline, when_held).await
    }

    /// As [`Self::submit`], for a command that the snapshot refused and the tables would grant: decided on rows.
    pub async fn submit_from_database(
        &self,
        caller: &CallerKey,
        command: B::Command,
        deadline: BootInstant,
        when_held: WhenHeld,
    ) -> Result<Submitted<B>> {
        self.enqueue((caller, true), command, deadline, when_held).await
    }

    /// Has the writer call [`Batch::follow`], outside of a transaction. Returns after the call.
    pub async fn follow(&self, deadline: BootInstant) -> Result<()> {
        let (question, answer) = oneshot::channel();
        self.queue.ask(question).map_err(shutting_down)?;
        let answered = timeout(deadline.saturating_duration_since(BootInstant::now()), answer).await;
        answered
            .ok()
            .and_then(std::result::Result::ok)
            .ok_or_else(|| Error::Unavailable {
                detail: "it does not answer".into(),
            })
    }

    /// Renews the lease of a host, if the report says the same as the last report of the host. Returns the lease, or
    /// `None` if the report is to be submitted as a command.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the database does not answer.
    pub async fn renew(&self, renewal: Renewal) -> Result<Option<StoredLease>> {
        let (reply, answer) = oneshot::channel();
        let waiting = WaitingRenewal { renewal, reply };
        self.queue.renew(waiting).map_err(shutting_down)?;
        let answered = timeout(self.timeout, answer).await;
        answered
            .ok()
            .and_then(std::result::Result::ok)
            .ok_or_else(|| Error::Unavailable {
                detail: "it does not answer".into(),
            })
    }

    async fn enqueue(
        &self,
        (caller, from_database): (&CallerKey, bool),
        command: B::Command,
        deadline: BootInstant,
        when_held: WhenHeld,
    ) -> Result<Submitted<B>> {
        let (reply, mut answer) = oneshot::channel();
        let gate = CommitGate::open();
        let job = Job {
            command,
            caller: caller.clone(),
            deadline,
            gate: gate.clone(),
            from_database,
            when_held,
            reply,
            counted: Some(self.unanswered.add()),
        };
        if let Some(refused) = self.queue.push(job).map_err(shutting_down)? {
            refused.answer(Decision::Refused(queue_is_full()));
        }
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

fn shutting_down(_: Abandoned) -> Error {
    Error::Busy {
        detail: "It is shutting down.".to_owned(),
    }
}
