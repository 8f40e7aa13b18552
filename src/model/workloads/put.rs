//! A request about a workload, from the first read to the answer.
//!
//! As for claims by query, the search runs beside the writer, on a snapshot newer than the request. The writer compares
//! the rows of the plan: the workload's row, the generations of all consumers, and the workloads tied by a rule. The
//! writer claims exactly the places of the plan, by the rules of any claim. If a place is gone, or a compared row has
//! moved, the request is planned again, as a claim is (`claims::place`). Retries end when the rows agree with the
//! snapshot of the plan. After three lost plans (`claims`) the request is planned inside the batch (`in_batch`).
//!
//! `docs/internals/workload-guards.md` says what the writer compares: rules between two workloads, domains that change,
//! and workloads that are deleted or created in between.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::found::Found;
use super::in_batch::PutInBatch;
use super::report::{Report, ReportJob};
use super::rows::show;
use super::spec::{ReadSpec, Role};
use super::time::until;
use super::{Delete, Neighbourhood, PlanJob, Planned, Put, Set, StoredWorkload, WorkloadRow, found};
use crate::db::boot_instant::BootInstant;
use crate::error::{ClaimRefusal, Error, ReasonCode, RefusedConsumer, Result};
use crate::model::Model;
use crate::model::allocations::Expected;
use crate::model::batch::batch_rows::needs;
use crate::model::claims::{ConsumerChoice, agrees, losses_max};
use crate::model::reads::unknown_names::Names;
use crate::pools::CallerKey;
use crate::search::{Interrupt, SearchSettings, Snapshot};

/// Placing more replicas takes longer than [`crate::pools::INLINE_TIME`].
const MAX_INLINE_REPLICAS: u32 = 10;

impl Model {
    /// Creates or changes a workload.
    ///
    /// # Errors
    /// - [`Error::StaleGeneration`], [`Error::DuplicateWorkload`], [`Error::ConsumerTaken`].
    /// - [`Error::NoPlace`], [`Error::NoCapacity`] if the request is atomic and replicas have no place.
    /// - [`Error::BadRequest`] for an impossible spec. [`Error::Busy`] if other commands keep taking the places.
    pub async fn put_workload(&self, put: Put, settings: &SearchSettings, caller: &CallerKey) -> Result<Report> {
        let search = async |job: PlanJob| {
            if job.put.spec.count() > MAX_INLINE_REPLICAS {
                return self
                    .pools
                    .long_search(caller, move |interrupt| job.run(interrupt))
                    .await;
            }
            self.pools.search(caller, move |interrupt| job.run(interrupt)).await
        };
        self.put_workload_with(put, settings, search).await
    }

    /// As [`Self::put_workload`], with a search of the caller.
    pub(in crate::model) async fn put_workload_with(
        &self,
        put: Put,
        settings: &SearchSettings,
        search: impl AsyncFn(PlanJob) -> Result<Planned>,
    ) -> Result<Report> {
        let mut missing = put.spec.count();
        let put = Arc::new(put);
        let answer = self.try_put(&put, &mut missing, settings, search).await;
        if !put.is_dry_run {
            self.claim_statistics.note_workload(missing, &answer);
        }
        answer
    }

    /// As [`Self::put_workload`]. Sets `missing` to the number of replicas that lack a place.
    pub(super) async fn try_put(
        &self,
        put: &Arc<Put>,
        missing: &mut u32,
        settings: &SearchSettings,
        search: impl AsyncFn(PlanJob) -> Result<Planned>,
    ) -> Result<Report> {
        let deadline = self.writer_deadline();
        let (mut is_compared, mut losses) = (false, 0);
        while BootInstant::now() < deadline {
            let read = {
                let put = Arc::clone(put);
                move |conn: &mut _| found::found(conn, &put)
            };
            let found = self.reader(false).read(read).await?;
            *missing = found.missing(put);
            let job = self.plan_job(put, found, settings).await?;
            let planned = until(deadline, search(job.clone())).await;
            // A plan that needs a held row is parked until the row is free, and not planned inside the batch.
            let is_free = |planned: &Planned| !needs(&planned.set, &job.held);
            let is_last = losses >= losses_max() && !put.is_dry_run && planned.as_ref().is_ok_and(is_free);
            let is_refused = matches!(&planned, Err(Error::NoPlace { .. } | Error::NoCapacity { .. }));
            if (is_refused || is_last) && !is_compared {
                is_compared = true;
                if self.compare_before_refusal(deadline).await? {
                    continue;
                }
            }
            let mut planned = planned?.with_incarnation();
            if planned.is_unchanged(put) {
                return Ok(planned.report);
            }
            let set = planned.set.clone();
            let decided = if put.is_dry_run {
                self.dry_run(set, deadline).await.map(Some)
            } else if is_last {
                let in_batch = |interrupt| PutInBatch {
                    job: job.clone(),
                    interrupt,
                    deadline,
                };
                let written = self.submit_in_batch(in_batch, deadline, &job.held).await;
                written.map(|written| {
                    let written = written?;
                    planned = written.planned;
                    written.answer
                })
            } else {
                self.submit_planned(set, deadline, &job.held).await
            };
            match decided {
                Ok(Some(claimed)) if put.is_dry_run => return Ok(planned.report.with_claimed(&claimed)),
                Ok(Some(claimed)) => return Ok(planned.written(&claimed)),
                Ok(None) if planned.is_unchanged(put) => return Ok(planned.report),
                // A row is held, which the next plan avoids.
                Ok(None) => {}
                Err(Error::ClaimRefused(refusal)) => {
                    self.check_new_consumers(&planned.set, &refusal).await?;
                    let has_agreed = || agrees(&job.snapshot, &self.store, &planned.set.placed, &Interrupt::default());
                    let is_final = !refusal.is_stale() && (is_last || has_agreed());
                    if is_final {
                        return Err(Error::ClaimRefused(refusal));
                    }
                    losses += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Err(busy())
    }

    /// The search of a request, on the newest state.
    async fn plan_job(&self, put: &Arc<Put>, found: Found, settings: &SearchSettings) -> Result<PlanJob> {
        Ok(PlanJob {
            snapshot: self.newest_for(&put.spec.roles).await?,
            put: Arc::clone(put),
            found: Arc::new(found),
            held: self.store.held(),
            settings: settings.clone(),
        })
    }

    /// After a refusal of new replicas because their consumers exist.
    ///
    /// # Errors
    /// [`Error::ClaimRefused`] if another program made the consumers: the workload has not changed since the plan.
    async fn check_new_consumers(&self, set: &Set, refusal: &ClaimRefusal) -> Result<()> {
        let new = set.placed.iter().filter(|it| it.claim.generation == Expected::New);
        let new: HashSet<&str> = new.map(ConsumerChoice::uuid).collect();
        let is_conflicting =
            |it: &&RefusedConsumer| it.reasons.has(ReasonCode::ConcurrentUpdate) && new.contains(it.consumer.as_str());
        let conflicting = refusal.consumers.iter().filter(is_conflicting);
        let conflicting: Vec<String> = conflicting.map(|it| it.consumer.clone()).collect();
        if conflicting.is_empty() {
            return Ok(());
        }
        let (uuid, known) = (set.uuid.clone(), set.known);
        let read = move |conn: &mut _| found::existing(conn, &conflicting, &uuid, known);
        self.reader(false).read(read).await?.map_or(Ok(()), Err)
    }

    /// Deletes a workload. The replicas are released, but adopted consumers keep their allocations. `generation` is the
    /// generation that the caller knows; `None`: any.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::StaleGeneration`]. [`Error::WorkloadInUse`] unless the deletion is forced.
    pub async fn delete_workload(&self, uuid: &str, generation: Option<i64>, how: Delete) -> Result<()> {
        let Delete { is_forced, is_dry_run } = how;
        let deadline = self.writer_deadline();
        while BootInstant::now() < deadline {
            let read = {
                let uuid = uuid.to_owned();
                move |conn: &mut _| found::to_delete(conn, &uuid, is_forced)
            };
            let stored = self.reader(false).read(read).await?;
            let known = stored.row.generation;
            if generation.is_some_and(|generation| generation != known) {
                return Err(Error::stale_generation(
                    format!("Workload {uuid}"),
                    Some(known),
                    generation,
                ));
            }
            let placed = stored
                .replicas
                .into_iter()
                .filter(|it| !it.row.is_adopted && it.is_placed());
            let set = Set {
                uuid: uuid.to_owned(),
                known: Some(known),
                named: stored.row.named,
                released: placed
                    .filter_map(|it| Some((it.row.consumer, it.generation?)))
                    .collect(),
                ..Set::default()
            };
            let released = set.released.len();
            let decided = if is_dry_run {
                self.dry_run(set, deadline).await
            } else {
                self.submit_until(set, deadline).await
            };
            match decided {
                Ok(_) if is_dry_run => return Ok(()),
                Ok(_) => {
                    self.claim_statistics.released.add(released as u64);
                    return Ok(());
                }
                // The workload changed since the read.
                Err(Error::ClaimRefused(_) | Error::StaleGeneration { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(busy())
    }

    /// A workload with the replicas and their places.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub async fn stored_workload(&self, uuid: &str) -> Result<StoredWorkload> {
        let uuid = uuid.to_owned();
        self.reader(false).read(move |conn| show(conn, &uuid)).await
    }

    /// The present state of a stored workload.
    ///
    /// # Errors
    /// [`Error::Internal`] if the body cannot be read. Errors of the search.
    pub async fn report_workload(
        &self,
        found: Neighbourhood,
        read: ReadSpec,
        settings: &SearchSettings,
        caller: &CallerKey,
    ) -> Result<Report> {
        let search = async |job: ReportJob| self.pools.search(caller, move |interrupt| job.run(interrupt)).await;
        self.report_workload_with(found, read, (settings, caller), search).await
    }

    /// As [`Self::report_workload`], with a search of the caller.
    pub(in crate::model) async fn report_workload_with(
        &self,
        found: Neighbourhood,
        read: ReadSpec,
        (settings, caller): (&SearchSettings, &CallerKey),
        search: impl AsyncFn(ReportJob) -> Result<Report>,
    ) -> Result<Report> {
        let row = found.workload.row.clone();
        let length = row.body.len();
        let spec = self.pools.read(caller, length, move || read_spec(&row, read)).await?;
        let job = ReportJob {
            snapshot: self.newest_for(&spec.roles).await?,
            found: Arc::new(found),
            spec: Arc::new(spec),
            settings: settings.clone(),
        };
        until(self.writer_deadline(), search(job)).await
    }

    /// A snapshot that shows every commit acknowledged before, for the queries of the roles.
    pub(in crate::model) async fn newest_for<'a>(
        &self,
        roles: impl IntoIterator<Item = &'a Role>,
    ) -> Result<Arc<Snapshot>> {
        let names = Names::of_candidates(roles.into_iter().map(|role| &role.query.request));
        Ok(self.prepare_search(names, Duration::ZERO).await?.snapshot)
    }
}

/// The spec of a stored workload, in the form that `read` returns.
///
/// # Errors
/// [`Error::Internal`] if this version of placet cannot read the spec.
pub fn read_spec<T>(row: &WorkloadRow, read: fn(&str) -> Result<T>) -> Result<T> {
    read(&row.body).map_err(|error| Error::Internal {
        detail: format!("the body of workload {} cannot be read: {error}", row.uuid),
    })
}

fn busy() -> Error {
    Error::Busy {
        detail: "Other commands kept changing what the workload needs.".to_owned(),
    }
}
