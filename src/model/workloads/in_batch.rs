//! Plans a request about a workload inside the writer's batch, after several plans of the request were refused. As for
//! claims (`claims::in_batch`), no command of this process comes in between.

use std::sync::Arc;

use super::spec::ReadSpec;
use super::{PlanJob, Planned, SetAnswer, ended_by, found};
use crate::db::DbConnection;
use crate::db::boot_instant::BootInstant;
use crate::db::writer::RowNames;
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::search::Snapshot;

/// The command that plans and writes in the same batch.
#[derive(Debug, Clone)]
pub struct PutInBatch {
    /// The last search of the request, which is made again on the newest snapshot and on rows of the batch.
    pub job: PlanJob,
    /// Ends the search when the request no longer waits.
    pub interrupt: Interrupt,
    /// When the search has to end.
    pub deadline: BootInstant,
}

/// The answer to [`PutInBatch`].
#[derive(Debug, Clone)]
pub struct SetInBatch {
    pub planned: Planned,
    /// `None` if the plan changes nothing.
    pub answer: Option<SetAnswer>,
}

impl PutInBatch {
    /// Reads the rows of the request, and plans the request on this snapshot. The plan avoids the rows of `held`.
    ///
    /// # Errors
    /// As of [`PlanJob::run`], and the refusals that rest on rows alone.
    pub fn plan(
        &self,
        conn: &mut DbConnection,
        snapshot: &Arc<Snapshot>,
        held: Arc<RowNames>,
        read_spec: ReadSpec,
    ) -> Result<Planned> {
        let found = found::found(conn, &self.job.put, read_spec)?;
        let job = PlanJob {
            snapshot: Arc::clone(snapshot),
            held,
            found: Arc::new(found),
            ..self.job.clone()
        };
        let interrupt = ended_by([&self.interrupt, &job.settings.interrupt], self.deadline);
        Ok(job.run(&interrupt)?.with_incarnation())
    }
}
