//! Pending replicas: finds the workloads that have pending replicas, and tries again to place the replicas.

use std::sync::{Arc, Weak};

use tokio::runtime::{Builder, Runtime};

use super::rows::{self, StoredWorkload, fetch};
use super::spec::ReadSpec;
use super::{PlanJob, Put, Report, ended_by};
use crate::caller::CallerKey;
use crate::error::{Reasons, Result};
use crate::model::allocations::Owner;
use crate::model::planner::{PlannedRequest, until_answered};
use crate::model::{Model, Reader, granted};
use crate::search::{Interrupt, SearchSettings, Snapshot};

/// How many workloads a query looks at.
const PAGE: i64 = 100;

/// A snapshot for comparison, which is not kept in memory. The default is no snapshot.
#[derive(Debug, Default)]
pub struct SeenSnapshot(Weak<Snapshot>);

impl PartialEq for SeenSnapshot {
    /// Whether both are the same version.
    fn eq(&self, other: &SeenSnapshot) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

/// The workloads with pending replicas, for a thread of their own. The functions wait for the database.
pub struct PendingWorkloads {
    model: Model,
    settings: SearchSettings,
    runtime: Runtime,
}

impl PendingWorkloads {
    /// # Errors
    /// If the process has no file descriptors left.
    pub fn new(model: Model, settings: SearchSettings) -> std::io::Result<PendingWorkloads> {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let settings = SearchSettings {
            interrupt: Interrupt::default(),
            ..settings
        };
        Ok(PendingWorkloads {
            model,
            settings,
            runtime,
        })
    }

    /// A function that ends the running plan and each later plan, for the thread that stops this thread.
    pub fn interrupt(&self) -> impl FnOnce() + Send + use<> {
        let interrupt = self.settings.interrupt.clone();
        move || interrupt.set()
    }

    /// The newest snapshot, for a comparison with a later snapshot.
    pub fn newest_snapshot(&self) -> SeenSnapshot {
        SeenSnapshot(Arc::downgrade(&self.model.store.newest()))
    }

    /// As [`pending_workloads`].
    ///
    /// # Errors
    /// Of the database.
    pub fn page(&self, after: String) -> Result<(Vec<String>, Option<String>)> {
        let page = pending_workloads(self.model.reader(false), after, PAGE);
        self.runtime.block_on(page)
    }

    /// As [`place_pending`]. Returns the granted places for the log; `None` if no replica got a place.
    ///
    /// # Errors
    /// As there.
    pub fn place(&self, uuid: &str) -> Result<Option<String>> {
        let place = place_pending(&self.model, uuid, &self.settings);
        let placed = self.runtime.block_on(place)?;
        Ok(placed.and_then(|report| granted::to_workload(&self.model, &report)))
    }
}

/// The workloads with pending replicas among the first `limit` workloads after this uuid, and the uuid after which the
/// next workloads begin.
pub async fn pending_workloads(reader: Reader, after: String, limit: i64) -> Result<(Vec<String>, Option<String>)> {
    let read = move |conn: &mut _| Ok(rows::pending(conn, &after, limit)?);
    reader.read(read).await
}

/// Places the pending replicas of a workload that have room now. `None` if the workload is not tried.
///
/// An adopted consumer belongs to another program, which may have deleted the consumer. So if an adopted replica has no
/// allocations, the workload waits for a `PUT` with the number of replicas.
///
/// # Errors
/// - `Error::NotFound`, `Error::StaleGeneration` if another client has changed the workload.
/// - `Error::BadRequest` if a rule names a workload of another project, or a dimension that no host has.
/// - `Error::Busy`, also if the interrupt of `settings` ended the plan. Errors of the database.
pub async fn place_pending(model: &Model, uuid: &str, settings: &SearchSettings) -> Result<Option<Report>> {
    let stored = fetch(model.reader(false), uuid.to_owned()).await?;
    if stored.replicas.iter().any(|it| it.row.is_adopted && !it.is_placed()) {
        return Ok(None);
    }
    let (stop, deadline) = (settings.interrupt.clone(), model.writer_deadline());
    let search = async |job: PlanJob| job.run(&ended_by([&stop], deadline));
    let mut retry = PlanJob::new(model, retry(stored, model.read_spec)?, settings);
    let caller = CallerKey::of_background();
    let report = Report {
        // Replicas that stay pending were counted as refused when the request was answered.
        reasons: Reasons::default(),
        ..until_answered(model, &caller, &mut retry, search).await?
    };
    let answer = Ok(report);
    model.claim_statistics.note_workload(0, &answer);
    answer.map(Some)
}

/// The request that repeats the stored spec.
fn retry(stored: StoredWorkload, read_spec: ReadSpec) -> Result<Put> {
    let row = stored.row;
    let spec = row.spec(read_spec)?;
    Ok(Put {
        name: row.name,
        owner: Owner {
            project: row.project,
            user: row.user,
        },
        sees_others: false,
        generation: Some(row.generation),
        spec,
        body: row.body.to_string(),
        ids: None,
        adopted: Vec::new(),
        swaps: Vec::new(),
        replaces_lost: false,
        is_atomic: false,
        is_retry: true,
        is_dry_run: false,
        uuid: row.uuid,
    })
}
