//! The writer's job: a command, with a deadline, a gate and the channel for the answer.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::batch::{Batch, BatchCommand, Decision, RowNames};
use super::commit_gate::CommitGate;
use crate::caller::CallerKey;
use crate::db::boot_instant::BootInstant;
use crate::db::live_count::Counted;
use crate::error::Result;

/// A command of a caller, until the answer.
pub(in crate::db) struct Job<B: Batch> {
    pub command: B::Command,
    /// The caller whose share of the queue the job uses.
    pub caller: CallerKey,
    pub deadline: BootInstant,
    pub gate: CommitGate,
    /// Whether the command is decided on rows in the transaction, never on the snapshot.
    pub from_database: bool,
    pub when_held: WhenHeld,
    pub(super) reply: oneshot::Sender<Result<Submitted<B>>>,
    /// `None` while the job waits for held rows.
    pub(super) counted: Option<Counted>,
}

/// The treatment of a command with a row which a concurrent transaction has locked.
#[derive(Debug, Clone)]
pub enum WhenHeld {
    /// The command waits for the row, at most until its deadline.
    Wait,
    /// The caller avoided the providers among these rows. If a further provider stays held, the caller gets
    /// [`Submitted::Held`], and plans again. If not, the command waits: there is no way around the row.
    PlanAgain(Arc<RowNames>),
}

impl WhenHeld {
    /// The held providers which a new plan may avoid.
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

/// The fate of a command without a refusal by the writer.
pub enum Submitted<B: Batch> {
    /// The command was granted and is committed.
    Committed(B::Answer),
    /// Refused on the snapshot, which may be out of date: check the refusal against the tables. Nothing was done.
    Unverified(B::Command),
    /// The command needs a row that a concurrent transaction has locked. Nothing was done.
    Held,
}

/// A job with more rows is large, and a batch of its own.
const MAX_SMALL_ROWS: usize = 256;

impl<B: Batch> Job<B> {
    /// Not cancelled, and before its deadline.
    pub fn is_live(&self) -> bool {
        !self.gate.is_cancelled() && self.deadline > BootInstant::now()
    }

    /// The approximate number of rows which the command writes.
    pub fn rows(&self) -> usize {
        self.command.rows()
    }

    /// Whether the job is a batch of its own.
    pub fn is_large(&self) -> bool {
        self.rows() > MAX_SMALL_ROWS
    }

    /// From now on the job does not count as a command without an answer.
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
