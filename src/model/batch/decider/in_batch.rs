//! Plans a command inside the batch, on the newest snapshot, and decides the plan on rows locked by the transaction.

use std::sync::Arc;

use super::Decider;
use super::transaction::StateSource;
use crate::db::writer::{Decision, Executed};
use crate::db::{DbConnection, WriteError};
use crate::error::{self, Error};
use crate::model::batch::command::{Answer, AnyAnswer, Command, Load, Write};
use crate::model::batch::decide::Rules;
use crate::model::batch::footprint::{Footprint, Reach};
use crate::model::batch::state::State;
use crate::model::claims::{ConsumerChoice, PlaceInBatch, PlacedInBatch, agrees};
use crate::model::workloads::{PutInBatch, SetInBatch};
use crate::search::{Interrupt, Snapshot};

/// A search inside the batch takes as long as a command of this many rows: so the command is a batch of its own.
const SEARCH_ROWS: usize = 1_000;

impl Write for PlaceInBatch {
    type Answer = PlacedInBatch;

    fn add_to<'a>(&'a self, _: &mut Footprint<'a>) {}

    fn load(&self) -> Load {
        Load::of(SEARCH_ROWS, Reach::All)
    }

    fn decide(&self, _: &mut State, _: &Rules) -> error::Result<PlacedInBatch> {
        Err(unplanned())
    }
}

impl Write for PutInBatch {
    type Answer = SetInBatch;

    fn add_to<'a>(&'a self, _: &mut Footprint<'a>) {}

    fn load(&self) -> Load {
        Load::of(SEARCH_ROWS, Reach::All)
    }

    fn decide(&self, _: &mut State, _: &Rules) -> error::Result<SetInBatch> {
        Err(unplanned())
    }
}

/// Whether the command is planned inside the batch.
pub(super) fn is_planned_in_batch(command: &Command) -> bool {
    command.get::<PlaceInBatch>().is_some() || command.get::<PutInBatch>().is_some()
}

fn unplanned() -> Error {
    Error::Internal {
        detail: "a command was to be planned before it is decided".to_owned(),
    }
}

impl Decider {
    /// Plans the call, and decides the plan. [`Decision::Unverified`] if no decision may rest on the snapshot: the
    /// caller plans again, and other commands do not wait for the reload.
    ///
    /// # Errors
    /// [`WriteError::Conflict`] if the rows refuse the plan and differ from the snapshot: the snapshot is corrected,
    /// and the next attempt plans again.
    pub(super) fn place_in_batch(
        &mut self,
        conn: &mut DbConnection,
        call: &PlaceInBatch,
    ) -> Result<Executed<Decider>, WriteError> {
        if !self.store.may_decide() {
            return Ok(unchanged(Decision::Unverified));
        }
        let snapshot = self.store.newest();
        let planned = match call.plan(&snapshot, self.store.held()) {
            Ok(planned) => planned,
            Err(error) => return Ok(unchanged(Decision::Refused(error))),
        };
        if planned.is_refusal(&call.job.request) {
            let answer = PlacedInBatch { planned, answer: None };
            return Ok(unchanged(Decision::Granted(Answer::new(answer))));
        }
        let command = planned.command.clone();
        self.decide_planned(conn, command, &planned.command.consumers, &snapshot, |claimed| {
            PlacedInBatch {
                planned: planned.clone(),
                answer: Some(claimed),
            }
        })
    }

    /// Plans the request about a workload, and decides the plan.
    ///
    /// # Errors
    /// As of [`Self::place_in_batch`].
    pub(super) fn put_in_batch(
        &mut self,
        conn: &mut DbConnection,
        put: &PutInBatch,
    ) -> Result<Executed<Decider>, WriteError> {
        if !self.store.may_decide() {
            return Ok(unchanged(Decision::Unverified));
        }
        let snapshot = self.store.newest();
        let planned = match put.plan(conn, &snapshot, self.store.held(), self.rules.read_spec) {
            Ok(planned) => planned,
            Err(error) => return Ok(unchanged(Decision::Refused(error))),
        };
        if planned.is_unchanged(&put.job.put) {
            let answer = SetInBatch { planned, answer: None };
            return Ok(unchanged(Decision::Granted(Answer::new(answer))));
        }
        let set = planned.set.clone();
        self.decide_planned(conn, set, &planned.set.placed, &snapshot, |claimed| SetInBatch {
            planned: planned.clone(),
            answer: Some(claimed),
        })
    }

    /// Decides the command of a plan on rows. `answer` makes the answer if the command is granted.
    ///
    /// [`Decision::Held`] if the plan needs a row that is known to be held: the caller submits such a plan, and the
    /// writer parks the plan. If a further row is held, the writer finds the row among [`Decider::planned_rows`] after
    /// the lock timeout, and the next plan avoids the row.
    ///
    /// A refusal counts only if the snapshot of the plan shows the same rows. The newest snapshot is compared too: the
    /// follower may have published a commit of another process after the plan, or have invalidated the snapshot.
    ///
    /// # Errors
    /// [`WriteError::Conflict`] if the plan was made on other rows: the next attempt plans again.
    fn decide_planned<C: Write, A: AnyAnswer>(
        &mut self,
        conn: &mut DbConnection,
        command: C,
        choices: &[ConsumerChoice],
        plan: &Snapshot,
        answer: impl Fn(C::Answer) -> A,
    ) -> Result<Executed<Decider>, WriteError> {
        let command = command.into_command();
        let rows = self.store.held();
        let held = Arc::new(rows.providers.clone());
        let footprint = Command::footprint(&[&command], Some(&held));
        if footprint.needs(&rows) {
            return Ok(unchanged(Decision::Held));
        }
        self.planned_rows = footprint.rows();
        let executed = self.decide_and_save(conn, &[&command], &footprint, Arc::clone(&held), StateSource::Database)?;
        let is_refused = executed.decisions.iter().any(Decision::is_refused);
        if is_refused && (self.differing.is_some() || !agrees(plan, &self.store, choices, &Interrupt::default())) {
            return Err(WriteError::Conflict);
        }
        let answered = |decision: Decision<Answer>| match decision {
            Decision::Granted(granted) => match granted.typed() {
                Ok(granted) => Decision::Granted(Answer::new(answer(granted))),
                Err(defect) => Decision::Refused(defect),
            },
            refused => refused,
        };
        Ok(Executed {
            decisions: executed.decisions.into_iter().map(answered).collect(),
            change: executed.change,
        })
    }
}

/// A decision that writes nothing.
pub(super) fn unchanged(decision: Decision<Answer>) -> Executed<Decider> {
    Executed {
        decisions: vec![decision],
        change: None,
    }
}
