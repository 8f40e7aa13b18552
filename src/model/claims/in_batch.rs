//! Plans a call inside the writer's batch, after several plans of the call have lost their places.
//!
//! A plan beside the writer can lose the places to other claims again and again, because the search takes longer than a
//! claim. Inside the batch no claim of this process comes in between. The writer follows the change feed, plans, locks
//! and reads the rows of the plan, and decides. If a row differs from the snapshot, the writer corrects the snapshot
//! and plans again. So the call ends when the rows agree with the snapshot.

use super::{ClaimAnswer, ClaimPlanJob, PlannedCall};
use crate::db::boot_instant::BootInstant;
use crate::db::writer::RowNames;
use crate::error::{Reasons, Result};
use crate::interrupt::Interrupt;
use crate::model::workloads::ended_by;
use crate::search::Snapshot;
use std::sync::Arc;

/// The command that plans and claims in the same batch.
#[derive(Debug, Clone)]
pub struct PlaceInBatch {
    /// The last search of the call, which is made again on the newest snapshot.
    pub job: ClaimPlanJob,
    /// By consumer of the call, the reasons of an earlier refusal.
    pub refused: Vec<Option<Reasons>>,
    /// Ends the search when the request no longer waits.
    pub interrupt: Interrupt,
    /// When the search has to end.
    pub deadline: BootInstant,
}

/// The answer to [`PlaceInBatch`].
#[derive(Debug, Clone)]
pub struct PlacedInBatch {
    pub planned: PlannedCall,
    /// `None` if the plan refuses the call.
    pub answer: Option<ClaimAnswer>,
}

impl PlaceInBatch {
    /// The plan on this snapshot, which avoids the rows of `held`.
    ///
    /// # Errors
    /// As of [`ClaimPlanJob::run`].
    pub fn plan(&self, snapshot: &Arc<Snapshot>, held: Arc<RowNames>) -> Result<PlannedCall> {
        let job = ClaimPlanJob {
            snapshot: Arc::clone(snapshot),
            held,
            ..self.job.clone()
        };
        let plan = job.run(&ended_by([&self.interrupt, &job.settings.interrupt], self.deadline))?;
        Ok(PlannedCall::new(&job.request, self.refused.clone(), plan))
    }
}
