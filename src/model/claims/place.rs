//! Places the consumers of a call, each on the first candidate that fits: posted candidates, or candidates found for a
//! query. `planner` is the driver.
//!
//! The search finds a few candidates for each consumer, and the writer decides which of the candidates still fits. A
//! consumer without a place in the plan is refused, and the rest of the call is submitted. Unless the call is atomic, a
//! refusal on rows may be final for some consumers: the next plan places the rest.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::memory::stored_answer;
use super::{
    Candidates, ClaimAnswer, ClaimFirst, ClaimPlanJob, ConsumerChoice, Limits, PlaceAnswer, PlaceRequest, PlannedCall,
};
use crate::caller::CallerKey;
use crate::db::DbConnection;
use crate::db::boot_instant::BootInstant;
use crate::db::writer::RowNames;
use crate::error::{ClaimRefusal, Error, ReasonCode, Reasons, Result};
use crate::model::Model;
use crate::model::planner::{PlanBasis, PlannedRequest, until_answered};
use crate::model::workloads::too_long;
use crate::mutants::{self, Mutant};
use crate::search::{Interrupt, SearchSettings, Snapshot};

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
    search: impl AsyncFn(ClaimPlanJob) -> Result<PlannedCall>,
) -> Result<PlaceAnswer> {
    if let Some(answer) = stored_answer(model.reader(false), request.remembered()).await? {
        return Ok(PlaceAnswer::Repeated(answer));
    }
    if !model.compares_exactly {
        request.spell_as(&model.store.newest());
    }
    let mut call = ClaimPlanJob {
        snapshot: model.store.newest(),
        refused: vec![None; request.consumers.len()],
        request: Arc::new(request),
        own: Arc::default(),
        held: Arc::default(),
        settings: settings.clone(),
        known_reasons: Arc::clone(&model.known_reasons),
        is_hasty: false,
        searched: None,
    };
    let answer = until_answered(model, caller, &mut call, search).await;
    let answer = unless_repeated(model, &call.request, answer).await;
    model.claim_statistics.note_call(&call.request, &answer);
    model.refusals.note_call(&call.request, &answer);
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

impl PlannedRequest for ClaimPlanJob {
    type Plan = PlannedCall;
    type Command = ClaimFirst;
    type Answer = PlaceAnswer;

    async fn prepare(&mut self, model: &Model, held: &Arc<RowNames>, is_first: bool) -> Result<()> {
        if self.request.queries.is_empty() {
            return Ok(());
        }
        self.held = Arc::clone(held);
        self.prepare_search(model, is_first).await
    }

    fn renew(&mut self, _: &mut DbConnection, snapshot: &Arc<Snapshot>, held: Arc<RowNames>) -> Result<()> {
        (self.snapshot, self.held, self.searched) = (Arc::clone(snapshot), held, None);
        Ok(())
    }

    fn basis(&self) -> PlanBasis<'_> {
        PlanBasis {
            snapshot: (!self.request.queries.is_empty()).then_some(&self.snapshot),
            stop: &self.settings.interrupt,
            is_dry_run: self.request.is_dry_run,
            is_unverified: self.searched.is_some(),
            is_hasty: self.is_hasty,
        }
    }

    fn run(&self, interrupt: &Interrupt) -> Result<PlannedCall> {
        let plan = if self.request.queries.is_empty() {
            self.request.posted(&self.refused)
        } else {
            let plan = interrupt.whole(|| self.plan_around_held(interrupt));
            plan.unwrap_or_else(|| Err(too_long()))?
        };
        let mut planned = PlannedCall::new(&self.request, self.refused.clone(), plan);
        planned.command.searched = self.searched;
        Ok(planned)
    }

    fn command(plan: &PlannedCall) -> Option<&ClaimFirst> {
        (!plan.is_refusal).then_some(&plan.command)
    }

    fn choices(plan: &PlannedCall) -> &[ConsumerChoice] {
        &plan.command.consumers
    }

    fn is_refused(&self, plan: &Result<PlannedCall>) -> bool {
        plan.as_ref().is_ok_and(|planned| planned.refused != self.refused)
    }

    /// Notes the stale consumers, whose generation differs from the caller's. No place helps a stale consumer, and the
    /// consumer takes no room. In an atomic call all consumers are compared, because none will claim.
    async fn note_own_reasons(&mut self, model: &Model, plan: &PlannedCall, deadline: BootInstant) -> Result<bool> {
        let compared: Vec<usize> = (0..self.refused.len())
            .filter(|at| self.refused[*at].is_none() && (self.request.is_atomic || plan.refused[*at].is_some()))
            .collect();
        let without_candidates = compared.iter().map(|at| ConsumerChoice {
            claim: self.request.consumers[*at].claim.clone(),
            candidates: Candidates::all(Arc::new([])),
            limits: Limits::Normal,
            is_required: true,
        });
        let command = ClaimFirst::new(without_candidates.collect(), None);
        let refusal = match model.dry_run(command, deadline).await {
            Err(Error::ClaimRefused(refusal)) => refusal,
            compared => return compared.map(|_| false),
        };
        let of_each = compared.into_iter().zip(&refusal.consumers);
        let stale: Vec<_> = of_each.filter(|(_, it)| !it.reasons.is_empty()).collect();
        for (at, it) in &stale {
            self.refused[*at] = Some(it.reasons.clone());
        }
        Ok(!stale.is_empty())
    }

    async fn note_refusal(
        &mut self,
        _: &Model,
        plan: &PlannedCall,
        refusal: Arc<ClaimRefusal>,
        is_final: bool,
    ) -> Result<bool> {
        note_refusals(&self.request, &mut self.refused, &refusal, &plan.command, is_final);
        if self.request.is_atomic && self.refused.iter().any(Option::is_some) {
            return Err(self.request.refusal(&self.refused));
        }
        Ok(!is_final)
    }

    fn answer(&self, plan: PlannedCall, answer: Option<ClaimAnswer>) -> Result<PlaceAnswer> {
        match answer {
            Some(ClaimAnswer::Claimed(outcomes)) => Ok(PlaceAnswer::Placed(plan.placed(&outcomes))),
            Some(ClaimAnswer::Repeated(answer)) => Ok(PlaceAnswer::Repeated(answer)),
            None => self.request.refused(plan),
        }
    }
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
