//! Commands: writes that the writer executes, each with the caller whose share of the writer's queue the command uses.

use std::sync::Arc;
use std::time::Duration;

use super::batch::command::{Answer, Command, Write};
use super::refusals::claiming_consumer;
use super::service::Model;
use crate::caller::CallerKey;
use crate::db::boot_instant::BootInstant;
use crate::db::writer::RowNames;
use crate::db::writer::job::{Submitted, WhenHeld};
use crate::error::{Error, Result};
use crate::interrupt::{Interrupt, InterruptOnDrop};

/// The pause before a request is planned again, if the writer gave up a plan inside the batch.
const GIVEN_UP_PAUSE: Duration = Duration::from_millis(20);

impl Model {
    /// The deadline of a command that arrives now.
    pub(super) fn writer_deadline(&self) -> BootInstant {
        self.writer.deadline()
    }

    /// As `submit_for`, with the answer of any command.
    pub(super) async fn send(&self, caller: &CallerKey, command: Command, deadline: BootInstant) -> Result<Answer> {
        let answer = self.send_when_held(caller, command, deadline, WhenHeld::Wait).await?;
        answer.ok_or_else(|| Error::Internal {
            detail: "the writer returned a command that was to wait for a locked row".into(),
        })
    }

    /// As `send`. `None` if a concurrent transaction has locked a row of the command, and `when_held` is not to wait.
    async fn send_when_held(
        &self,
        caller: &CallerKey,
        command: Command,
        deadline: BootInstant,
        when_held: WhenHeld,
    ) -> Result<Option<Answer>> {
        let refused = match self.writer.submit(caller, command, deadline, when_held.clone()).await? {
            Submitted::Committed(answer) => return Ok(Some(answer)),
            Submitted::Unverified(command) => command,
            Submitted::Held => return Ok(None),
        };
        let command = self.refusal_checks.check(refused, deadline).await?;
        match self
            .writer
            .submit_from_database(caller, command, deadline, when_held)
            .await?
        {
            Submitted::Committed(answer) => Ok(Some(answer)),
            Submitted::Held => Ok(None),
            Submitted::Unverified(_) => Err(Error::Internal {
                detail: "the writer decided a command on the snapshot that it was to decide on rows".into(),
            }),
        }
    }

    /// Executes a command of the caller: returns when the command is committed or refused.
    pub async fn submit_for<C: Write>(&self, caller: &CallerKey, command: C) -> Result<C::Answer> {
        self.submit_command(caller, command.into_command()).await?.typed()
    }

    /// As `submit_for`, for a command of any type.
    pub async fn submit_command(&self, caller: &CallerKey, command: Command) -> Result<Answer> {
        let (counts, consumer) = (command.counts, claiming_consumer(&command));
        let answer = self.send(caller, command, self.writer.deadline()).await;
        self.claim_statistics.note(counts, &answer);
        self.refusals.note_claim(consumer, &answer);
        answer
    }

    /// As `submit_for`, with a deadline.
    pub(super) async fn submit_until<C: Write>(
        &self,
        caller: &CallerKey,
        command: C,
        deadline: BootInstant,
    ) -> Result<C::Answer> {
        self.send(caller, command.into_command(), deadline).await?.typed()
    }

    /// As `submit_until`, for a command whose plan avoided rows that were known to be held. `None` if the command needs
    /// a held row that the plan did not avoid. The command has changed nothing, and a new plan may avoid the row.
    pub(super) async fn submit_planned<C: Write>(
        &self,
        caller: &CallerKey,
        command: C,
        deadline: BootInstant,
        avoided: &Arc<RowNames>,
    ) -> Result<Option<C::Answer>> {
        let when_held = WhenHeld::PlanAgain(Arc::clone(avoided));
        let sent = self
            .send_when_held(caller, command.into_command(), deadline, when_held)
            .await?;
        sent.map(Answer::typed).transpose()
    }

    /// As `submit_planned`. `None` also for a refusal on the snapshot, which is not checked and may be out of date, and
    /// for a request planned inside the batch that meets a held row, or a snapshot on which no decision may rest.
    pub(super) async fn submit_once<C: Write>(
        &self,
        caller: &CallerKey,
        command: C,
        deadline: BootInstant,
        avoided: &Arc<RowNames>,
    ) -> Result<Option<C::Answer>> {
        let when_held = WhenHeld::PlanAgain(Arc::clone(avoided));
        match self
            .writer
            .submit(caller, command.into_command(), deadline, when_held)
            .await?
        {
            Submitted::Committed(answer) => answer.typed().map(Some),
            Submitted::Unverified(_) | Submitted::Held => Ok(None),
        }
    }

    /// As `submit_once`, for a request that is planned inside the batch. The interrupt of the plan is set when the
    /// future is dropped. After `None` the next plan begins after [`GIVEN_UP_PAUSE`].
    pub(super) async fn submit_in_batch<C: Write>(
        &self,
        caller: &CallerKey,
        command: impl FnOnce(Interrupt) -> C,
        deadline: BootInstant,
        avoided: &Arc<RowNames>,
    ) -> Result<Option<C::Answer>> {
        let interrupt = InterruptOnDrop(Interrupt::default());
        let answer = self
            .submit_once(caller, command(interrupt.0.clone()), deadline, avoided)
            .await?;
        if answer.is_none() {
            tokio::time::sleep(GIVEN_UP_PAUSE).await;
        }
        Ok(answer)
    }

    /// The answer that a command would get now. Nothing is changed.
    pub(super) async fn dry_run<C: Write>(&self, command: C, deadline: BootInstant) -> Result<C::Answer> {
        self.refusal_checks
            .decide(command.into_command(), deadline)
            .await?
            .typed()
    }

    /// Executes a command of the caller; in a dry run, only decides the command.
    pub async fn submit_or_foresee<C: Write>(
        &self,
        caller: &CallerKey,
        command: C,
        is_dry_run: bool,
    ) -> Result<C::Answer> {
        if is_dry_run {
            self.dry_run(command, self.writer.deadline()).await
        } else {
            self.submit_for(caller, command).await
        }
    }
}
