//! Plans a command inside the batch, on the newest snapshot, and decides the plan on rows locked by the transaction.

use std::sync::Arc;

use super::Decider;
use super::transaction::StateSource;
use crate::db::writer::{Decision, Executed};
use crate::db::{DbConnection, WriteError};
use crate::model::batch::command::{Answer, Command};
use crate::model::planner::agreement::agrees;
use crate::model::planner::in_batch::PlanInBatch;
use crate::search::Interrupt;

impl Decider {
    /// Plans the request, and decides the command of the plan on rows.
    ///
    /// [`Decision::Unverified`] if no decision may rest on the snapshot: the caller plans again, and other commands do
    /// not wait for the reload. [`Decision::Held`] if the plan needs a row that is known to be held: the caller submits
    /// such a plan, and the writer parks the plan. If a further row is held, the writer finds the row among
    /// [`Decider::planned_rows`] after the lock timeout, and the next plan avoids the row.
    ///
    /// A refusal counts only if the snapshot of the plan shows the same rows. The newest snapshot is compared too: the
    /// follower may have published a commit of another process after the plan, or have invalidated the snapshot.
    ///
    /// # Errors
    /// [`WriteError::Conflict`] if the rows refuse the plan and differ from the snapshot: the snapshot is corrected,
    /// and the next attempt plans again.
    pub(super) fn plan_in_batch(
        &mut self,
        conn: &mut DbConnection,
        request: &PlanInBatch,
    ) -> Result<Executed<Decider>, WriteError> {
        if !self.store.may_decide() {
            return Ok(unchanged(Decision::Unverified));
        }
        let (snapshot, rows) = (self.store.newest(), self.store.held());
        let planned = match (request.search)(conn, &snapshot, Arc::clone(&rows)) {
            Ok(Some(planned)) => planned,
            Ok(None) => return Ok(unchanged(Decision::Unverified)),
            Err(error) => return Ok(unchanged(Decision::Refused(error))),
        };
        let answer = |answer: Option<Answer>| Decision::Granted(Answer::new((planned.plan.clone(), answer)));
        let Some(command) = &planned.command else {
            return Ok(unchanged(answer(None)));
        };
        let held = Arc::new(rows.providers.clone());
        let footprint = Command::footprint(&[command], Some(&held));
        if footprint.needs(&rows) {
            return Ok(unchanged(Decision::Held));
        }
        self.planned_rows = footprint.rows();
        let how = (StateSource::Database, request.is_dry_run);
        let executed = self.decide_and_save(conn, &[command], &footprint, Arc::clone(&held), how)?;
        let is_refused = executed.decisions.iter().any(Decision::is_refused);
        let has_agreed = || agrees(&snapshot, &self.store, &planned.choices, &Interrupt::default());
        if is_refused && (self.differing.is_some() || !has_agreed()) {
            return Err(WriteError::Conflict);
        }
        let answered = |decision| match decision {
            Decision::Granted(granted) => answer(Some(granted)),
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
