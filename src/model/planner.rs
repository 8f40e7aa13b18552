//! The driver of requests for places, of claims and of workloads: plan, submit, and answer or plan again.
//!
//! Naively, the writer would search, and every other write would wait for the searches. So the search runs beside the
//! writer, on the newest snapshot, as an optimistic plan. The writer decides whether the plan still holds.
//!
//! 1. Plan. The snapshot must show every commit acknowledged before the request.
//! 2. Before a refusal by the plan: compare the snapshot with the tables if a foreign program writes.
//! 3. Submit the command of the plan.
//! 4. If rows refuse the command, the snapshot shows these rows now. If the plan was made on the same state, the
//!    refusal is final. If not, or if the snapshot has become invalid, plan again. Each lost plan was overtaken by
//!    another command, so all callers together make progress.
//! 5. After [`LOSSES_MAX`] lost plans, plan inside the writer's batch (`in_batch`), also for a dry run. So a request
//!    ends by agreement of the rows with the snapshot, and not by luck.
//!
//! A search avoids providers that are known to be held (`db::writer::held_rows`). If the writer finds a further held
//! provider, and the command needs the provider, the request is planned again.

pub mod agreement;
pub mod in_batch;

use std::fmt::Debug;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use self::agreement::agrees;
use self::in_batch::{CommandPlan, PlanInBatch};
use super::Model;
use super::batch::batch_rows::needs;
use super::batch::command::{Answer, AnyAnswer, Write};
use super::claims::ConsumerChoice;
use super::comparisons::compare_before_refusal;
use super::workloads::{ended_by, until};
use crate::caller::CallerKey;
use crate::db::DbConnection;
use crate::db::boot_instant::BootInstant;
use crate::db::writer::RowNames;
use crate::error::{ClaimRefusal, Error, Result};
use crate::mutants::{self, Mutant};
use crate::search::{Interrupt, Snapshot};

/// How many plans of a request may lose their places. The next plan is made inside the writer's batch.
pub const LOSSES_MAX: u32 = 3;

/// The longest search inside the batch, as a part of `commit_timeout`. A request whose search takes longer is planned
/// beside the writer again.
const LONGEST_IN_BATCH: f64 = 0.05;

/// A request in progress, with the search of the next plan: a call for claims, or a request about a workload.
pub trait PlannedRequest: Debug + Clone + Send + Sync + 'static {
    type Plan: AnyAnswer + Clone;
    type Command: Write + Clone;
    type Answer;

    /// Prepares a search that avoids the rows of `held`, on a state that shows every commit acknowledged before.
    async fn prepare(&mut self, model: &Model, held: &Arc<RowNames>, is_first: bool) -> Result<()>;

    /// As [`Self::prepare`], inside the batch.
    fn renew(&mut self, conn: &mut DbConnection, snapshot: &Arc<Snapshot>, held: Arc<RowNames>) -> Result<()>;

    /// The properties of the prepared search.
    fn basis(&self) -> PlanBasis<'_>;

    /// Searches. [`Error::Busy`] if `interrupt` ended the search, whatever was found by then.
    fn run(&self, interrupt: &Interrupt) -> Result<Self::Plan>;

    /// `None` if the plan writes nothing.
    fn command(plan: &Self::Plan) -> Option<&Self::Command>;

    /// The choices of the command.
    fn choices(plan: &Self::Plan) -> &[ConsumerChoice];

    /// Whether the plan refuses anything because of the snapshot.
    fn is_refused(&self, plan: &Result<Self::Plan>) -> bool;

    /// Before the plan refuses anything: notes refusals that no place changes. Returns whether there are any, so that
    /// the request is planned again.
    async fn note_own_reasons(&mut self, _: &Model, _: &Self::Plan, _: BootInstant) -> Result<bool> {
        Ok(false)
    }

    /// Notes a refusal on rows. `is_final`: the plan was made on the same rows. Returns whether the plan is lost.
    ///
    /// # Errors
    /// The refusal of the request.
    async fn note_refusal(
        &mut self,
        model: &Model,
        plan: &Self::Plan,
        refusal: Arc<ClaimRefusal>,
        is_final: bool,
    ) -> Result<bool>;

    /// The answer, with the writer's answer to the command. `None` if the plan writes nothing.
    fn answer(&self, plan: Self::Plan, answer: Option<AnswerTo<Self>>) -> Result<Self::Answer>;
}

/// The properties of a search.
pub struct PlanBasis<'a> {
    /// `None` if rows alone decide, and there is nothing to search.
    pub snapshot: Option<&'a Arc<Snapshot>>,
    /// Ends the search when the process stops.
    pub stop: &'a Interrupt,
    pub is_dry_run: bool,
    /// Whether the snapshot may lack commits of peers, which the writer would notice: the plan may refuse nothing.
    pub is_unverified: bool,
    /// Whether a refusal on the writer's snapshot is not checked on rows: the request is planned again.
    pub is_hasty: bool,
}

/// The writer's answer to the command of a request's plan.
type AnswerTo<R> = <<R as PlannedRequest>::Command as Write>::Answer;

/// Plans and submits until the request is answered: the head of this file has the numbers of the steps. `search` runs
/// each search.
///
/// # Errors
/// The refusal of the request. [`Error::Busy`] if the request does not end within `commit_timeout`.
pub async fn until_answered<R: PlannedRequest>(
    model: &Model,
    caller: &CallerKey,
    request: &mut R,
    search: impl AsyncFn(R) -> Result<R::Plan>,
) -> Result<R::Answer> {
    let deadline = model.writer_deadline();
    let (mut is_first, mut is_compared, mut losses) = (true, false, 0);
    while BootInstant::now() < deadline {
        let held = model.store.held();
        request.prepare(model, &held, mem::take(&mut is_first)).await?;
        let plan = match request.basis().snapshot {
            Some(_) => until(deadline, search(request.clone())).await,
            None => request.run(&Interrupt::default()),
        };
        let is_refused = request.is_refused(&plan);
        if (is_refused || plan.is_err()) && request.basis().is_unverified {
            continue;
        }
        // A plan that needs a held row is parked until the row is free, and not planned inside the batch.
        let is_free = |plan: &R::Plan| R::command(plan).is_some_and(|command| !needs(command, &held));
        let may_be_last = losses >= LOSSES_MAX && !mutants::is(Mutant::NeverInBatch);
        let is_last = may_be_last && plan.as_ref().is_ok_and(is_free);
        let is_to_compare = (is_refused || is_last) && !mem::replace(&mut is_compared, true);
        if is_to_compare && compare_before_refusal(model, deadline).await? {
            continue;
        }
        let mut plan = plan?;
        if is_refused && request.note_own_reasons(model, &plan, deadline).await? {
            continue;
        }
        match submit((model, caller), request, &mut plan, is_last, (deadline, &held)).await {
            Ok(answer) if answer.is_some() || R::command(&plan).is_none() => return request.answer(plan, answer),
            // A row is held, which the next plan avoids, or the snapshot was too old.
            Ok(_) => {}
            Err(Error::ClaimRefused(refusal)) => {
                let is_final = is_last || until(deadline, has_agreed(model, caller, request, &plan)).await?;
                let is_lost = request.note_refusal(model, &plan, refusal, is_final).await?;
                losses += u32::from(is_lost);
            }
            Err(error) => return Err(error),
        }
    }
    Err(busy())
}

/// Submits the command of the plan. With `is_last` the plan is made again, inside the batch. `None` if the plan writes
/// nothing, or if the request is to be planned again.
async fn submit<R: PlannedRequest>(
    (model, caller): (&Model, &CallerKey),
    request: &R,
    plan: &mut R::Plan,
    is_last: bool,
    (deadline, avoided): (BootInstant, &Arc<RowNames>),
) -> Result<Option<AnswerTo<R>>> {
    let Some(command) = R::command(plan).cloned() else {
        return Ok(None);
    };
    if is_last {
        let longest = model.timeout.mul_f64(LONGEST_IN_BATCH);
        let command = |interrupt| in_batch(request, interrupt, (deadline, longest));
        let Some((new, answer)) = model.submit_in_batch(caller, command, deadline, avoided).await? else {
            return Ok(None);
        };
        *plan = new.typed()?;
        return answer.map(Answer::typed).transpose();
    }
    match request.basis() {
        basis if basis.is_dry_run => model.dry_run(command, deadline).await.map(Some),
        basis if basis.is_hasty => model.submit_once(caller, command, deadline, avoided).await,
        _ => model.submit_planned(caller, command, deadline, avoided).await,
    }
}

/// The command that plans the request inside the batch. The search ends by the interrupt, at the deadline, or after
/// `longest`, because all other writes wait.
pub fn in_batch<R: PlannedRequest>(
    request: &R,
    interrupt: Interrupt,
    (deadline, longest): (BootInstant, Duration),
) -> PlanInBatch {
    let is_dry_run = request.basis().is_dry_run;
    let request = request.clone();
    let search = move |conn: &mut DbConnection, snapshot: &Arc<Snapshot>, held| {
        let mut request = request.clone();
        let end = BootInstant::now() + longest;
        request.renew(conn, snapshot, held)?;
        let plan = match request.run(&ended_by([&interrupt, request.basis().stop], end.min(deadline))) {
            Err(Error::Busy { .. }) if BootInstant::now() >= end && end < deadline => return Ok(None),
            plan => plan?,
        };
        Ok(Some(CommandPlan {
            command: R::command(&plan).map(|command| command.clone().into_command()),
            choices: R::choices(&plan).to_vec(),
            plan: Answer::new(plan),
        }))
    };
    PlanInBatch {
        search: Box::new(search),
        is_dry_run,
    }
}

/// As [`agrees`]. Compares on a thread of a pool if the candidates are many.
async fn has_agreed<R: PlannedRequest>(model: &Model, caller: &CallerKey, request: &R, plan: &R::Plan) -> Result<bool> {
    let Some(snapshot) = request.basis().snapshot.cloned() else {
        return Ok(true);
    };
    let (store, choices) = (Arc::clone(&model.store), R::choices(plan).to_vec());
    let compare = move |interrupt: &Interrupt| Ok(agrees(&snapshot, &store, &choices, interrupt));
    model.pools.search(caller, compare).await
}

/// The answer at the deadline.
pub fn busy() -> Error {
    Error::Busy {
        detail: "Other commands kept changing what the request needs.".to_owned(),
    }
}
