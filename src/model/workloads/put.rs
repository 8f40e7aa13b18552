//! A request about a workload, from the first read to the answer. `planner` is the driver.
//!
//! The writer compares the rows of the plan: the workload's row, the generations of all consumers, and the workloads
//! tied by a rule. The writer claims exactly the places of the plan, by the rules of any claim. If a place is gone, or
//! a compared row has moved, the request is planned again.
//!
//! `docs/internals/workload-guards.md` says what the writer compares: rules between two workloads, domains that change,
//! and workloads that are deleted or created in between.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::report::Report;
use super::report::judge::ReportJob;
use super::spec::Role;
use super::{Delete, Deleted, Incarnation, Neighbourhood, PlanJob, Planned, Put, Set, SetAnswer, found};
use crate::caller::CallerKey;
use crate::db::DbConnection;
use crate::db::boot_instant::BootInstant;
use crate::db::writer::RowNames;
use crate::error::{ClaimRefusal, Error, ReasonCode, RefusedConsumer, Result};
use crate::model::Model;
use crate::model::allocations::Expected;
use crate::model::claims::ConsumerChoice;
use crate::model::planner::{PlanBasis, PlannedRequest, busy, until_answered};
use crate::model::reads::unknown_names::Names;
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
    put_with(model, put, (settings, caller), search).await
}

/// As [`put`]. `search` runs each plan.
pub async fn put_with(
    model: &Model,
    put: Put,
    (settings, caller): (&SearchSettings, &CallerKey),
    search: impl AsyncFn(PlanJob) -> Result<Planned>,
) -> Result<Report> {
    let mut job = PlanJob::new(model, put, settings);
    let answer = until_answered(model, caller, &mut job, search).await;
    if !job.put.is_dry_run {
        model
            .claim_statistics
            .note_workload(job.found.missing(&job.put), &answer);
        model.refusals.note_workload(&job.put, &answer);
    }
    answer
}

impl PlanJob {
    /// The request before the first read.
    pub fn new(model: &Model, put: Put, settings: &SearchSettings) -> PlanJob {
        PlanJob {
            snapshot: model.store.newest(),
            put: Arc::new(put),
            found: Arc::default(),
            held: Arc::default(),
            settings: settings.clone(),
            incarnation: Incarnation::random(),
            read_spec: model.read_spec,
            attempts: 0,
        }
    }
}

impl PlannedRequest for PlanJob {
    type Plan = Planned;
    type Command = Set;
    type Answer = Report;

    async fn prepare(&mut self, model: &Model, held: &Arc<RowNames>, _: bool) -> Result<()> {
        let (put, read_spec) = (Arc::clone(&self.put), self.read_spec);
        let read = move |conn: &mut _| found::found(conn, &put, read_spec);
        self.found = Arc::new(model.reader(false).read(read).await?);
        self.snapshot = newest_for(model, &self.put.spec.roles).await?;
        self.held = Arc::clone(held);
        self.attempts += 1;
        Ok(())
    }

    fn renew(&mut self, conn: &mut DbConnection, snapshot: &Arc<Snapshot>, held: Arc<RowNames>) -> Result<()> {
        self.found = Arc::new(found::found(conn, &self.put, self.read_spec)?);
        (self.snapshot, self.held) = (Arc::clone(snapshot), held);
        Ok(())
    }

    fn basis(&self) -> PlanBasis<'_> {
        PlanBasis {
            snapshot: Some(&self.snapshot),
            stop: &self.settings.interrupt,
            is_dry_run: self.put.is_dry_run,
            is_unverified: false,
            is_hasty: false,
        }
    }

    fn run(&self, interrupt: &Interrupt) -> Result<Planned> {
        self.plan_around_held(interrupt)
    }

    fn command(plan: &Planned) -> Option<&Set> {
        (!plan.is_unchanged).then_some(&plan.set)
    }

    fn choices(plan: &Planned) -> &[ConsumerChoice] {
        &plan.set.placed
    }

    fn is_refused(&self, plan: &Result<Planned>) -> bool {
        matches!(plan, Err(Error::NoPlace { .. } | Error::NoCapacity { .. }))
    }

    /// A stale refusal is never final: the next plan reads the rows again.
    async fn note_refusal(
        &mut self,
        model: &Model,
        plan: &Planned,
        refusal: Arc<ClaimRefusal>,
        is_final: bool,
    ) -> Result<bool> {
        check_new_consumers(model, &plan.set, &refusal).await?;
        if is_final && !refusal.is_stale() {
            return Err(Error::ClaimRefused(refusal));
        }
        Ok(true)
    }

    fn answer(&self, plan: Planned, answer: Option<SetAnswer>) -> Result<Report> {
        Ok(match answer {
            None => plan.report,
            Some(claimed) if self.put.is_dry_run => plan.report.with_claimed(&claimed),
            Some(claimed) => plan.written(&claimed, self.attempts),
        })
    }
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
pub async fn delete(
    model: &Model,
    uuid: &str,
    generation: Option<i64>,
    how: Delete,
    caller: &CallerKey,
) -> Result<Deleted> {
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
        let mut deleted = Deleted::of(stored);
        let released = deleted.released.iter();
        let set = Set {
            uuid: uuid.to_owned(),
            known: Some(known),
            named: deleted.row.named,
            released: released
                .filter_map(|it| Some((it.row.consumer.clone(), it.generation?)))
                .collect(),
            ..Set::default()
        };
        let decided = if is_dry_run {
            model.dry_run(set, deadline).await
        } else {
            model.submit_until(caller, set, deadline).await
        };
        match decided {
            Ok(_) => {
                if is_dry_run {
                    deleted.released.clear();
                }
                model.claim_statistics.released.add(deleted.released.len() as u64);
                return Ok(deleted);
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
