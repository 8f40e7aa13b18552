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
use super::report::Report;
use super::report::judge::ReportJob;
use super::spec::Role;
use super::time::until;
use super::{Delete, Neighbourhood, PlanJob, Planned, Put, Set, found};
use crate::db::boot_instant::BootInstant;
use crate::error::{ClaimRefusal, Error, ReasonCode, RefusedConsumer, Result};
use crate::model::Model;
use crate::model::allocations::Expected;
use crate::model::batch::batch_rows::needs;
use crate::model::claims::{ConsumerChoice, agrees, losses_max};
use crate::model::comparisons::compare_before_refusal;
use crate::model::reads::unknown_names::Names;
use crate::pools::CallerKey;
use crate::search::{Interrupt, SearchSettings, Snapshot};

/// Placing more replicas takes longer than [`crate::pools::INLINE_TIME`].
const MAX_INLINE_REPLICAS: u32 = 10;

/// Creates or changes a workload.
///
/// # Errors
/// - [`Error::StaleGeneration`], [`Error::DuplicateWorkload`], [`Error::ConsumerTaken`].
/// - [`Error::NoPlace`], [`Error::NoCapacity`] if the request is atomic and replicas have no place.
/// - [`Error::BadRequest`] for an impossible spec. [`Error::Busy`] if other commands keep taking the places.
pub async fn put(model: &Model, put: Put, settings: &SearchSettings, caller: &CallerKey) -> Result<Report> {
    let search = async |job: PlanJob| {
        if job.put.spec.count() > MAX_INLINE_REPLICAS {
            return model
                .pools
                .long_search(caller, move |interrupt| job.run(interrupt))
                .await;
        }
        model.pools.search(caller, move |interrupt| job.run(interrupt)).await
    };
    put_with(model, put, settings, search).await
}

/// As [`put`]. `search` runs each plan.
pub async fn put_with(
    model: &Model,
    put: Put,
    settings: &SearchSettings,
    search: impl AsyncFn(PlanJob) -> Result<Planned>,
) -> Result<Report> {
    let mut missing = put.spec.count();
    let put = Arc::new(put);
    let answer = until_answered(model, &put, &mut missing, settings, search).await;
    if !put.is_dry_run {
        model.claim_statistics.note_workload(missing, &answer);
    }
    answer
}

/// Plans and submits until the request is answered. Sets `missing` to the number of replicas that lack a place.
pub async fn until_answered(
    model: &Model,
    put: &Arc<Put>,
    missing: &mut u32,
    settings: &SearchSettings,
    search: impl AsyncFn(PlanJob) -> Result<Planned>,
) -> Result<Report> {
    let (deadline, read_spec) = (model.writer_deadline(), model.read_spec);
    let (mut is_compared, mut losses) = (false, 0);
    while BootInstant::now() < deadline {
        let read = {
            let put = Arc::clone(put);
            move |conn: &mut _| found::found(conn, &put, read_spec)
        };
        let found = model.reader(false).read(read).await?;
        *missing = found.missing(put);
        let job = plan_job(model, put, found, settings).await?;
        let planned = until(deadline, search(job.clone())).await;
        // A plan that needs a held row is parked until the row is free, and not planned inside the batch.
        let is_free = |planned: &Planned| !needs(&planned.set, &job.held);
        let is_last = losses >= losses_max() && !put.is_dry_run && planned.as_ref().is_ok_and(is_free);
        let is_refused = matches!(&planned, Err(Error::NoPlace { .. } | Error::NoCapacity { .. }));
        if (is_refused || is_last) && !is_compared {
            is_compared = true;
            if compare_before_refusal(model, deadline).await? {
                continue;
            }
        }
        let mut planned = planned?.with_incarnation();
        if planned.is_unchanged(put) {
            return Ok(planned.report);
        }
        let set = planned.set.clone();
        let decided = if put.is_dry_run {
            model.dry_run(set, deadline).await.map(Some)
        } else if is_last {
            let in_batch = |interrupt| PutInBatch {
                job: job.clone(),
                interrupt,
                deadline,
            };
            let written = model.submit_in_batch(in_batch, deadline, &job.held).await;
            written.map(|written| {
                let written = written?;
                planned = written.planned;
                written.answer
            })
        } else {
            model.submit_planned(set, deadline, &job.held).await
        };
        match decided {
            Ok(Some(claimed)) if put.is_dry_run => return Ok(planned.report.with_claimed(&claimed)),
            Ok(Some(claimed)) => return Ok(planned.written(&claimed)),
            Ok(None) if planned.is_unchanged(put) => return Ok(planned.report),
            // A row is held, which the next plan avoids.
            Ok(None) => {}
            Err(Error::ClaimRefused(refusal)) => {
                check_new_consumers(model, &planned.set, &refusal).await?;
                let has_agreed = || agrees(&job.snapshot, &model.store, &planned.set.placed, &Interrupt::default());
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
async fn plan_job(model: &Model, put: &Arc<Put>, found: Found, settings: &SearchSettings) -> Result<PlanJob> {
    Ok(PlanJob {
        snapshot: newest_for(model, &put.spec.roles).await?,
        put: Arc::clone(put),
        found: Arc::new(found),
        held: model.store.held(),
        settings: settings.clone(),
    })
}

/// After a refusal of new replicas because their consumers exist.
///
/// # Errors
/// [`Error::ClaimRefused`] if another program made the consumers: the workload has not changed since the plan.
async fn check_new_consumers(model: &Model, set: &Set, refusal: &ClaimRefusal) -> Result<()> {
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
    model.reader(false).read(read).await?.map_or(Ok(()), Err)
}

/// Deletes a workload. The replicas are released, but adopted consumers keep their allocations. `generation` is the
/// generation that the caller knows; `None`: any.
///
/// # Errors
/// [`Error::NotFound`], [`Error::StaleGeneration`]. [`Error::WorkloadInUse`] unless the deletion is forced.
pub async fn delete(model: &Model, uuid: &str, generation: Option<i64>, how: Delete) -> Result<()> {
    let Delete { is_forced, is_dry_run } = how;
    let deadline = model.writer_deadline();
    while BootInstant::now() < deadline {
        let read = {
            let uuid = uuid.to_owned();
            move |conn: &mut _| found::to_delete(conn, &uuid, is_forced)
        };
        let stored = model.reader(false).read(read).await?;
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
            model.dry_run(set, deadline).await
        } else {
            model.submit_until(set, deadline).await
        };
        match decided {
            Ok(_) if is_dry_run => return Ok(()),
            Ok(_) => {
                model.claim_statistics.released.add(released as u64);
                return Ok(());
            }
            // The workload changed since the read.
            Err(Error::ClaimRefused(_) | Error::StaleGeneration { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Err(busy())
}

/// The present state of a stored workload.
///
/// # Errors
/// [`Error::Internal`] if the body cannot be read. Errors of the search.
pub async fn report(
    model: &Model,
    found: Neighbourhood,
    settings: &SearchSettings,
    caller: &CallerKey,
) -> Result<Report> {
    let report = async {
        let job = report_job(model, found, settings, caller).await?;
        model.pools.search(caller, move |interrupt| job.run(interrupt)).await
    };
    model.in_time(report).await
}

/// The judgement of a stored workload, on the newest state.
pub async fn report_job(
    model: &Model,
    found: Neighbourhood,
    settings: &SearchSettings,
    caller: &CallerKey,
) -> Result<ReportJob> {
    let (row, read_spec) = (found.workload.row.clone(), model.read_spec);
    let spec = (model.pools).read(caller, row.body.len(), move || row.spec(read_spec));
    let spec = spec.await?;
    Ok(ReportJob {
        snapshot: newest_for(model, &spec.roles).await?,
        found: Arc::new(found),
        spec: Arc::new(spec),
        settings: settings.clone(),
    })
}

/// A snapshot that shows every commit acknowledged before, for the queries of the roles.
pub async fn newest_for<'a>(model: &Model, roles: impl IntoIterator<Item = &'a Role>) -> Result<Arc<Snapshot>> {
    let names = Names::of_candidates(roles.into_iter().map(|role| &role.query.request));
    Ok(model.prepare_search(names, Duration::ZERO).await?.snapshot)
}

fn busy() -> Error {
    Error::Busy {
        detail: "Other commands kept changing what the workload needs.".to_owned(),
    }
}
