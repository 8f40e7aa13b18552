//! Places the consumers of a call: finds candidates for queries, and claims the first that fits.
//!
//! Naively, the writer would search: one search after the other, and every other write waits behind them. So the search
//! runs beside the writer, on the newest snapshot. The writer only decides which of a few candidates still fits.
//!
//! Unhappy path: all candidates of a query were taken by then. That refuses nothing, because the snapshot is newer now:
//! search again. Each round is one that another claim has won, so all callers together make progress. A query is refused
//! only if a search finds nothing, on a snapshot that is newer than the request. Posted candidates are refused only on
//! rows, as any claim.

use std::sync::Arc;

use diesel::prelude::*;

use super::plan::OwnAllocations;
use super::{
    Candidates, ClaimFirst, ClaimQuery, ClaimedConsumer, ConsumerChoice, PlaceRequest, Placed, Plan, PlanJob, Wanted,
};
use crate::db::boot_instant::BootInstant;
use crate::db::engines::dialect::in_lists;
use crate::db::schema::allocations;
use crate::error::{ClaimRefusal, Error, Reason, ReasonCode, Reasons, RefusedConsumer, Result};
use crate::model::Model;
use crate::model::allocations::Expected;
use crate::model::reads::unknown_names::{NamedSearch, Names, StoredSpellings};
use crate::search::{ClassId, ProviderId, SearchSettings};

/// One call in progress.
struct Call<'a> {
    model: &'a Model,
    request: Arc<PlaceRequest>,
    deadline: BootInstant,
    /// By consumer, why it is refused for good.
    refused: Vec<Option<Reasons>>,
    /// Whether a plan was made whose candidates were all taken.
    has_lost: bool,
    is_exact: bool,
}

impl Model {
    /// Places the consumers of a call. `search` runs a search where it delays no other request.
    ///
    /// # Errors
    /// [`Error::ClaimRefused`] if the call is atomic and a consumer gets no place. Errors of the search. The call may
    /// end with [`Error::Busy`] if others keep taking what it finds.
    pub async fn place(
        &self,
        request: PlaceRequest,
        settings: &SearchSettings,
        search: impl AsyncFn(PlanJob) -> Result<Plan>,
    ) -> Result<Placed> {
        let mut call = Call {
            model: self,
            deadline: self.writer_deadline(),
            refused: vec![None; request.consumers.len()],
            request: Arc::new(request),
            has_lost: false,
            is_exact: true,
        };
        while BootInstant::now() < call.deadline {
            let pending = call.pending();
            let planned = if call.request.queries.is_empty() {
                Some(call.posted(&pending))
            } else {
                let plan = search(call.plan_job(&pending, settings).await?).await?;
                call.is_exact &= plan.is_exact;
                call.take_planned(&pending, plan)?
            };
            let Some(choices) = planned else { continue };
            if let Some(claimed) = call.claim(&pending, choices).await? {
                return Ok(call.placed(&pending, &claimed));
            }
        }
        Err(Error::Busy {
            detail: "Other claims kept taking the places that were found.".to_owned(),
        })
    }
}

impl Call<'_> {
    /// The indexes of the consumers that are not refused.
    fn pending(&self) -> Vec<usize> {
        (0..self.refused.len())
            .filter(|at| self.refused[*at].is_none())
            .collect()
    }

    /// The choices of consumers that all post candidates.
    fn posted(&self, pending: &[usize]) -> Vec<Candidates> {
        let lists = pending
            .iter()
            .filter_map(|at| match &self.request.consumers[*at].wanted {
                Wanted::Candidates(list) => Some(Arc::clone(list)),
                Wanted::Query(_) => None,
            });
        lists.map(Candidates::all).collect()
    }

    /// The search for the pending consumers, on a snapshot that shows every commit acknowledged before.
    async fn plan_job(&self, pending: &[usize], settings: &SearchSettings) -> Result<PlanJob> {
        let queries = Queries(self.request.queries.clone());
        let prepared = self.model.prepare_search(queries, std::time::Duration::ZERO).await?;
        let consumers = pending.iter().map(|at| &self.request.consumers[*at].claim);
        let existing: Vec<String> = consumers
            .filter(|claim| claim.generation != Expected::New)
            .map(|claim| claim.consumer.clone())
            .collect();
        let own = if existing.is_empty() {
            OwnAllocations::new()
        } else {
            let read = move |conn: &mut crate::db::DbConnection| Ok(own_allocations(conn, &existing)?);
            self.model.ask(read).await?
        };
        Ok(PlanJob {
            snapshot: prepared.snapshot,
            request: Arc::clone(&self.request),
            queries: Arc::new(prepared.search.0),
            pending: pending.into(),
            own: Arc::new(own),
            one_by_one: self.has_lost,
            settings: settings.clone(),
        })
    }

    /// The choices of a plan. Consumers without a candidate are refused; then `None`, because the others are planned
    /// again.
    ///
    /// # Errors
    /// [`Error::ClaimRefused`] if the call is atomic and a consumer has no candidate.
    fn take_planned(&mut self, pending: &[usize], plan: Plan) -> Result<Option<Vec<Candidates>>> {
        let mut choices = Vec::with_capacity(pending.len());
        let mut refused = Vec::new();
        for (at, planned) in pending.iter().zip(plan.consumers) {
            match planned {
                Ok(candidates) => choices.push(candidates),
                Err(reasons) => refused.push((*at, reasons)),
            }
        }
        if refused.is_empty() {
            return Ok(Some(choices));
        }
        self.refuse(refused)?;
        Ok(None)
    }

    /// Refuses consumers for good.
    ///
    /// # Errors
    /// [`Error::ClaimRefused`] if the call is atomic.
    fn refuse(&mut self, refused: Vec<(usize, Reasons)>) -> Result<()> {
        for (at, reasons) in refused {
            self.refused[at] = Some(reasons);
        }
        if !self.request.is_atomic {
            return Ok(());
        }
        let consumers = self.request.consumers.iter().zip(&self.refused);
        let consumers = consumers.map(|(consumer, reasons)| RefusedConsumer {
            consumer: consumer.claim.consumer.clone(),
            reasons: reasons.clone().unwrap_or_else(other_refused),
        });
        Err(Error::ClaimRefused(Arc::new(ClaimRefusal {
            consumers: consumers.collect(),
        })))
    }

    /// Claims for the pending consumers. `None` if they must be planned again, perhaps without some of them.
    async fn claim(&mut self, pending: &[usize], choices: Vec<Candidates>) -> Result<Option<Arc<[ClaimedConsumer]>>> {
        if pending.is_empty() {
            return Ok(Some(Arc::new([])));
        }
        let consumers = pending.iter().map(|at| &self.request.consumers[*at]);
        let choices = consumers.zip(choices).map(|(consumer, candidates)| ConsumerChoice {
            claim: consumer.claim.clone(),
            candidates,
        });
        let command = ClaimFirst {
            consumers: choices.collect(),
        };
        let decided = if self.request.is_dry_run {
            self.model.dry_run(command).await.map(Some)
        } else if self.may_plan_again(pending) {
            self.model.submit_once(command, self.deadline).await
        } else {
            self.model.submit_until(command, self.deadline).await.map(Some)
        };
        match decided {
            Err(Error::ClaimRefused(refusal)) => {
                let contradicted = self.take_refusal(pending, &refusal)?;
                if !contradicted.is_empty()
                    && let Err(error) = self.model.correct(contradicted).await
                {
                    log::warn!("Providers could not be read again, so searches may go on finding them: {error}");
                }
                Ok(None)
            }
            Ok(None) => {
                self.has_lost = true;
                Ok(None)
            }
            decided => decided,
        }
    }

    /// Whether a refusal on the snapshot needs no check against the tables, because another search follows: that is so
    /// if all consumers are new and have queries.
    fn may_plan_again(&self, pending: &[usize]) -> bool {
        pending.iter().all(|at| {
            let consumer = &self.request.consumers[*at];
            consumer.claim.generation == Expected::New && matches!(consumer.wanted, Wanted::Query(_))
        })
    }

    /// Notes what was refused on rows. A consumer whose candidates came from a query may get others. Returns the
    /// providers that a query found and the rows refused: another program may have changed them.
    ///
    /// # Errors
    /// As of [`Self::refuse`].
    fn take_refusal(&mut self, pending: &[usize], refusal: &ClaimRefusal) -> Result<Vec<String>> {
        let (mut refused, mut contradicted) = (Vec::new(), Vec::new());
        for (at, consumer) in pending.iter().zip(&refusal.consumers) {
            let reasons = &consumer.reasons;
            let has_query = matches!(self.request.consumers[*at].wanted, Wanted::Query(_));
            let is_final = reasons.kept().iter().any(|reason| reason.code.concerns_consumer())
                || reasons.are_all(ReasonCode::ProviderGenerationLimit);
            if has_query && !is_final {
                self.has_lost |= !reasons.is_empty();
                let providers = reasons.kept().iter();
                contradicted.extend(providers.filter_map(|reason| reason.resource_provider.clone()));
            } else if !reasons.is_empty() {
                refused.push((*at, reasons.clone()));
            }
        }
        if !refused.is_empty() {
            self.refuse(refused)?;
        }
        Ok(contradicted)
    }

    fn placed(self, pending: &[usize], claimed: &[ClaimedConsumer]) -> Placed {
        let mut consumers: Vec<std::result::Result<ClaimedConsumer, Reasons>> = self
            .refused
            .into_iter()
            .map(|reasons| Err(reasons.unwrap_or_default()))
            .collect();
        for (at, claimed) in pending.iter().zip(claimed) {
            consumers[*at] = Ok(claimed.clone());
        }
        Placed {
            consumers,
            is_exact: self.is_exact,
        }
    }
}

/// Why a consumer gets nothing that would have got a place.
fn other_refused() -> Reasons {
    Reason::new(
        ReasonCode::OtherRefused,
        "Another consumer of this call cannot be placed, and the call is atomic.".to_owned(),
    )
    .into()
}

/// All queries of a call, whose names are looked up together.
struct Queries(Vec<ClaimQuery>);

impl NamedSearch for Queries {
    fn names(&self) -> Names {
        let mut names = Names::default();
        self.0.iter().for_each(|query| names.extend(query.request.names()));
        names
    }

    fn respell(&mut self, stored: &StoredSpellings) {
        self.0.iter_mut().for_each(|query| query.request.respell(stored));
    }
}

/// The allocations of the consumers.
fn own_allocations(conn: &mut crate::db::DbConnection, consumers: &[String]) -> QueryResult<OwnAllocations> {
    use allocations as t;
    let rows: Vec<(String, i32, i32, i32)> = in_lists(consumers, |consumers| {
        t::table
            .filter(t::consumer_id.eq_any(consumers))
            .select((t::consumer_id, t::resource_provider_id, t::resource_class_id, t::used))
            .load(&mut *conn)
    })?;
    let mut own = OwnAllocations::new();
    for (consumer, provider, class, used) in rows {
        let allocation = (ProviderId(provider), ClassId(class), i64::from(used));
        own.entry(consumer).or_default().push(allocation);
    }
    Ok(own)
}
