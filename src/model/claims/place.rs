//! Places the consumers of a call: finds candidates for queries, and claims the first candidate that fits.
//!
//! Naively, the writer would search, and every other write would wait for the searches. So the search runs beside the
//! writer, on the newest snapshot, as an optimistic plan. The writer decides which of a few candidates still fits.
//!
//! 1. Plan. The snapshot must show every commit acknowledged before the request.
//! 2. Refuse a consumer without a place in the plan, unless the call has to be planned on a newer state.
//! 3. Submit the claim of the remaining consumers.
//! 4. If rows refuse the claim, the snapshot shows these rows now. If the plan was made on the same state, the refusal
//!    is final. If not, or if the snapshot has become invalid, plan again. Each lost plan was overtaken by another
//!    claim, so all callers together make progress.
//! 5. After [`LOSSES_MAX`] lost plans, plan inside the writer's batch (`in_batch`).
//!
//! Naively, the change feed is read before each search. While peers are idle, the call does not read the feed: the
//! writer compares the peers' revisions in the statement that writes the claim. With 32 schedulers on 10,000 nested
//! hosts (PostgreSQL), placements rose from 75% to 95% of plain claims. Only the first search of a call may skip the
//! feed. If the claim fails, the snapshot may miss a commit, and only the feed shows the commit.
//!
//! A search avoids providers that are known to be held (`db::writer::held_rows`). If the writer finds a further held
//! provider, and the claim needs the provider, the call is planned again.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::in_batch::PlaceInBatch;
use super::memory::stored_answer;
use super::preparation::prepare;
use super::{
    Candidates, ClaimAnswer, ClaimFirst, ClaimPlanJob, ConsumerChoice, Limits, PlaceAnswer, PlaceRequest, Plan,
    PlannedCall,
};
use crate::db::boot_instant::BootInstant;
use crate::error::{ClaimRefusal, Error, ReasonCode, Reasons, Result};
use crate::model::Model;
use crate::model::batch::batch_rows::needs;
use crate::model::comparisons::compare_before_refusal;
use crate::model::snapshot::reload::row_without_time;
use crate::model::snapshot::store::SnapshotStore;
use crate::model::workloads::until;
use crate::mutants::{self, Mutant};
use crate::pools::CallerKey;
use crate::search::{Interrupt, SearchSettings, Snapshot};

/// How many plans of a call, or of a request about a workload, may lose their places. The next plan is made inside the
/// writer's batch.
pub const LOSSES_MAX: u32 = 3;

/// [`LOSSES_MAX`], or never for a mutant.
pub fn losses_max() -> u32 {
    if mutants::is(Mutant::NeverInBatch) {
        u32::MAX
    } else {
        LOSSES_MAX
    }
}

/// Places the consumers of a call.
///
/// # Errors
/// - [`Error::ClaimRefused`] if the call is atomic and a consumer gets no place.
/// - [`Error::IdReused`] if the id belongs to a different call.
/// - [`Error::Busy`] if the call does not end within `commit_timeout`. Errors of the search.
pub async fn place(
    model: &Model,
    request: PlaceRequest,
    settings: &SearchSettings,
    caller: &CallerKey,
) -> Result<PlaceAnswer> {
    let search = async |job: ClaimPlanJob| model.pools.search(caller, move |interrupt| job.run(interrupt)).await;
    place_with(model, request, (settings, caller), search).await
}

/// As [`place`]. `search` runs each plan.
pub async fn place_with(
    model: &Model,
    mut request: PlaceRequest,
    (settings, caller): (&SearchSettings, &CallerKey),
    search: impl AsyncFn(ClaimPlanJob) -> Result<Plan>,
) -> Result<PlaceAnswer> {
    if let Some(answer) = stored_answer(model.reader(false), request.remembered()).await? {
        return Ok(PlaceAnswer::Repeated(answer));
    }
    if !model.compares_exactly {
        request.spell_as(&model.store.newest());
    }
    let request = Arc::new(request);
    let answer = until_answered(model, &request, (settings, caller), search).await;
    let answer = unless_repeated(model, &request, answer).await;
    model.claim_statistics.note_call(&request, &answer);
    answer
}

/// The answer to a call. If a refused call was carried out before, the stored answer.
async fn unless_repeated(model: &Model, request: &PlaceRequest, answer: Result<PlaceAnswer>) -> Result<PlaceAnswer> {
    let is_refused = match &answer {
        _ if mutants::is(Mutant::LookOnce) => false,
        Err(Error::ClaimRefused(_)) => true,
        Ok(PlaceAnswer::Placed(placed)) => !placed.has_claims(),
        _ => false,
    };
    // The first call may have been carried out since.
    if is_refused && let Some(answer) = stored_answer(model.reader(false), request.remembered()).await? {
        return Ok(PlaceAnswer::Repeated(answer));
    }
    answer
}

/// Plans and submits until the call is answered: the head of this file has the numbers of the steps.
async fn until_answered(
    model: &Model,
    request: &Arc<PlaceRequest>,
    (settings, caller): (&SearchSettings, &CallerKey),
    search: impl AsyncFn(ClaimPlanJob) -> Result<Plan>,
) -> Result<PlaceAnswer> {
    let deadline = model.writer_deadline();
    // By consumer, the final refusals.
    let mut refused: Vec<Option<Reasons>> = vec![None; request.consumers.len()];
    let (mut is_first, mut is_compared, mut losses) = (true, false, 0);
    while BootInstant::now() < deadline {
        let held = model.store.held();
        let pending = request.pending(&refused);
        let is_hasty = std::mem::take(&mut is_first) && request.are_new_with_queries(&pending);
        let prepared = prepare(model, request, &pending, (settings, &held), is_hasty).await?;
        let (job, searched) = prepared.unzip();
        let plan = match &job {
            Some(job) => until(deadline, search(job.clone())).await,
            None => Ok(request.posted(&refused)),
        };
        let searched = searched.flatten();
        if searched.is_some() && plan.as_ref().map_or(true, Plan::has_refusals) {
            continue;
        }
        let mut planned = PlannedCall::new(request, refused.clone(), plan?);
        planned.command.searched = searched;

        // A plan that needs a held row is parked until the row is free, and not planned inside the batch.
        let is_last = losses >= losses_max() && !request.is_dry_run && !needs(&planned.command, &held);
        if (is_last || planned.refused != refused) && !is_compared {
            is_compared = true;
            if compare_before_refusal(model, deadline).await? {
                continue;
            }
        }
        if planned.refused != refused && take_stale(model, request, &planned, &mut refused, deadline).await? {
            continue;
        }
        if planned.is_refusal(request) {
            return request.refused(planned);
        }

        let command = planned.command.clone();
        let submitted = match &job {
            _ if request.is_dry_run => model.dry_run(command, deadline).await.map(Some),
            Some(job) if is_last => {
                let call = |interrupt| PlaceInBatch {
                    job: job.clone(),
                    refused: refused.clone(),
                    interrupt,
                    deadline,
                };
                let placed = model.submit_in_batch(call, deadline, &held).await;
                placed.map(|placed| {
                    let placed = placed?;
                    planned = placed.planned;
                    placed.answer
                })
            }
            _ if is_hasty => model.submit_once(command, deadline, &held).await,
            _ => model.submit_planned(command, deadline, &held).await,
        };
        match submitted {
            Ok(Some(ClaimAnswer::Claimed(outcomes))) => return Ok(PlaceAnswer::Placed(planned.placed(&outcomes))),
            Ok(Some(ClaimAnswer::Repeated(answer))) => return Ok(PlaceAnswer::Repeated(answer)),
            Ok(None) if planned.is_refusal(request) => return request.refused(planned),
            // A row is held, which the next plan avoids, or the snapshot was too old.
            Ok(None) => {}
            Err(Error::ClaimRefused(refusal)) => {
                let is_final = match &job {
                    Some(job) if !is_last => {
                        let compare = has_agreed(model, caller, job, planned.command.clone());
                        until(deadline, compare).await?
                    }
                    _ => true,
                };
                note_refusals(request, &mut refused, &refusal, &planned.command, is_final);
                losses += u32::from(!is_final);
                if request.is_atomic && refused.iter().any(Option::is_some) {
                    return Err(request.refusal(&refused));
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(Error::Busy {
        detail: "Other claims kept taking the places that were found.".to_owned(),
    })
}

/// As [`agrees`], for the plan of a search. Compares on a thread of a pool if the candidates are many.
async fn has_agreed(model: &Model, caller: &CallerKey, plan: &ClaimPlanJob, command: ClaimFirst) -> Result<bool> {
    let (plan, store) = (Arc::clone(&plan.snapshot), Arc::clone(&model.store));
    let compare = move |interrupt: &Interrupt| Ok(agrees(&plan, &store, &command.consumers, interrupt));
    model.pools.search(caller, compare).await
}

/// Whether the newest snapshot and the snapshot of a plan show the candidates of these choices alike, in everything on
/// which a claim is decided. False if the newest snapshot is invalid, or if `interrupt` ended the comparison. Each
/// allocation of a candidate counts as a step.
///
/// No row is read here. A refusal on rows corrects the snapshot before the caller is answered (`batch::refusals`,
/// `Batch::follow`). So the newest snapshot shows the rows that refused the plan, or newer rows. An invalid snapshot is
/// not corrected, and may be the snapshot of the plan.
pub fn agrees(plan: &Snapshot, store: &SnapshotStore, choices: &[ConsumerChoice], interrupt: &Interrupt) -> bool {
    if store.is_invalid() {
        return false;
    }
    let newest = &*store.newest();
    let limit = |snapshot: &Snapshot, class: &str| snapshot.catalog().normal_limit(class);
    let provider = |snapshot: &Snapshot, uuid: &str| {
        let slot = snapshot.by_uuid(uuid)?;
        Some((row_without_time(snapshot, snapshot.id(slot)), snapshot.state(slot)))
    };
    // The consumers of a gang share a list, and several lists may name a provider.
    let (mut shared, mut compared) = (HashSet::new(), HashSet::new());
    let lists = choices.iter().map(|choice| &choice.candidates.list);
    let lists = lists.filter(|list| shared.insert(list.as_ptr()));
    let candidates = lists.flat_map(|list| list.iter());
    let mut allocations = candidates.flat_map(|candidate| &candidate.allocations);
    std::ptr::eq(plan, newest)
        || allocations.all(|(uuid, amounts)| {
            let mut classes = amounts.iter().map(|(class, _)| class);
            !interrupt.is_set()
                && (!compared.insert(uuid) || provider(plan, uuid) == provider(newest, uuid))
                && classes.all(|class| limit(plan, class) == limit(newest, class))
        })
}

/// Notes the refusals that no further plan can change. With `is_final` these are the refusals of required consumers, or
/// of all consumers if none is required. A refusal for a reason of the consumer itself always counts.
fn note_refusals(
    request: &PlaceRequest,
    refused: &mut [Option<Reasons>],
    refusal: &ClaimRefusal,
    command: &ClaimFirst,
    is_final: bool,
) {
    let optional = command.consumers.iter().filter(|it| !it.is_required);
    let optional: HashSet<&str> = optional.map(ConsumerChoice::uuid).collect();
    let is_optional = |uuid: &str| optional.contains(uuid);
    let is_alone = refusal.consumers.iter().all(|it| is_optional(&it.consumer));
    let by_uuid = refusal.refused().map(|it| (it.consumer.as_str(), &it.reasons));
    let by_uuid: HashMap<&str, &Reasons> = by_uuid.collect();
    for (consumer, known) in request.consumers.iter().zip(refused) {
        let uuid = consumer.claim.consumer.as_str();
        let Some(reasons) = by_uuid.get(uuid) else { continue };
        let is_own = reasons.concern_consumer() || reasons.are_all(ReasonCode::ProviderGenerationLimit);
        if is_own || is_final && (is_alone || !is_optional(uuid)) {
            *known = Some((*reasons).clone());
        }
    }
}

/// Before the plan refuses a consumer: notes the stale consumers, whose generation differs from the caller's. No place
/// helps a stale consumer, and the consumer takes no room. In an atomic call all consumers are compared, because none
/// will claim. Returns whether a consumer is stale.
///
/// # Errors
/// Of the database.
async fn take_stale(
    model: &Model,
    request: &PlaceRequest,
    planned: &PlannedCall,
    refused: &mut [Option<Reasons>],
    deadline: BootInstant,
) -> Result<bool> {
    let compared: Vec<usize> = (0..refused.len())
        .filter(|at| refused[*at].is_none() && (request.is_atomic || planned.refused[*at].is_some()))
        .collect();
    let without_candidates = compared.iter().map(|at| ConsumerChoice {
        claim: request.consumers[*at].claim.clone(),
        candidates: Candidates::all(Arc::new([])),
        limits: Limits::Normal,
        is_required: true,
    });
    let command = ClaimFirst::new(without_candidates.collect(), None);
    let refusal = match model.dry_run(command, deadline).await {
        Err(Error::ClaimRefused(refusal)) => refusal,
        compared => return compared.map(|_| false),
    };
    let stale = compared
        .into_iter()
        .zip(&refusal.consumers)
        .filter(|(_, it)| !it.reasons.is_empty());
    let stale: Vec<(usize, Reasons)> = stale.map(|(at, it)| (at, it.reasons.clone())).collect();
    let are_any = !stale.is_empty();
    for (at, reasons) in stale {
        refused[at] = Some(reasons);
    }
    Ok(are_any)
}
