//! Places the consumers of a call: finds candidates for queries, and claims the first that fits.
//!
//! Naively, the writer would search: one search after the other, and every other write waits behind them. So the search
//! runs beside the writer, on the newest snapshot. The writer only decides which of a few candidates still fits.
//!
//! The snapshot must show every commit that was acknowledged before the request. Naively, the change feed is read
//! before each search. While peers are idle it is not: the writer compares their revisions in the statement that writes
//! the claim. With 32 schedulers on 10,000 nested hosts (PostgreSQL) that raised placements from 75% to 95% of plain
//! claims. A call does so once: what led to no claim may lack what a foreign writer did, which only a followed snapshot
//! finds.
//!
//! Unhappy path: peers have committed since, or all candidates of a query were taken by then. That refuses nothing,
//! because the snapshot is newer now: search again. Each round is one that another claim has won, so all callers
//! together make progress. A query is refused only if a search finds nothing, on a snapshot that is newer than the
//! request. Posted candidates are refused only on rows, as any claim.
//!
//! A search avoids providers that are known to be held (`db::writer::held_rows`). If the writer finds another held
//! provider, and the claim needs it, the call is planned again.

mod refusals;

use std::future::Future;
use std::sync::Arc;

use self::refusals::BesideOthers;
use super::memory::Memory;
use super::preparation::Contradictions;
use super::{
    Candidates, ClaimAnswer, ClaimFirst, ConsumerChoice, Limits, PlaceAnswer, PlaceRequest, Placed, Plan, PlanJob,
    Planned, Wanted,
};
use crate::db::boot_instant::BootInstant;
use crate::db::writer::RowNames;
use crate::error::{Error, Reasons, Result};
use crate::model::Model;
use crate::model::allocations::Expected;
use crate::model::snapshot::store::Stamp;
use crate::mutants::{self, Mutant};
use crate::pools::CallerKey;
use crate::search::{SearchSettings, Snapshot};

/// One call in progress.
pub(super) struct Call<'a> {
    pub model: &'a Model,
    pub request: Arc<PlaceRequest>,
    deadline: BootInstant,
    /// By consumer, why rows refused it.
    refused: Vec<Option<Reasons>>,
    beside_others: BesideOthers,
    /// The rows that were known to be held at the last plan, which avoids them.
    pub held: Arc<RowNames>,
    /// The snapshot of the last plan, if there was one.
    pub planned_on: Option<Arc<Snapshot>>,
    /// Where rows contradicted the last plan.
    pub contradictions: Contradictions,
    /// Whether candidates of queries were lost, and rows did not say why.
    has_lost: bool,
    /// The stamp of the snapshot of the last search, if the change feed was not read for it.
    pub searched: Option<Stamp>,
    /// Whether there was a search. Each further one reads the change feed.
    pub has_searched: bool,
    /// How often posted candidates that rows refused were tried again.
    posted_losses: u32,
    /// Whether the snapshot needs no further comparison with the tables before a query is refused.
    is_compared: bool,
    is_exact: bool,
}

/// What a plan found for the consumers of a call.
struct Round {
    /// By consumer of the call, why it gets nothing; `None` for those that claim.
    refused: Vec<Option<Reasons>>,
    /// Of the consumers that claim.
    claiming: Vec<Claiming>,
}

/// What the plan found for a consumer that claims.
struct Claiming {
    /// The index of the consumer in the call.
    at: usize,
    planned: Planned,
}

impl Model {
    /// Places the consumers of a call.
    ///
    /// # Errors
    /// - [`Error::ClaimRefused`] if the call is atomic and a consumer gets no place.
    /// - [`Error::IdReused`] if its id belongs to another call.
    /// - [`Error::Busy`] if others keep taking what it finds. Errors of the search.
    pub async fn place(
        &self,
        request: PlaceRequest,
        settings: &SearchSettings,
        caller: &CallerKey,
    ) -> Result<PlaceAnswer> {
        let search = async |job: PlanJob| self.pools.search(caller, move |interrupt| job.run(interrupt)).await;
        self.place_with(request, settings, search).await
    }

    /// As [`Self::place`], with a search of the caller.
    pub(in crate::model) async fn place_with(
        &self,
        request: PlaceRequest,
        settings: &SearchSettings,
        search: impl AsyncFn(PlanJob) -> Result<Plan>,
    ) -> Result<PlaceAnswer> {
        if let Some(answer) = self.stored_answer(&request).await? {
            return Ok(PlaceAnswer::Repeated(answer));
        }
        let request = Arc::new(request);
        let mut call = Call {
            model: self,
            deadline: self.writer_deadline(),
            refused: vec![None; request.consumers.len()],
            beside_others: BesideOthers::default(),
            request: Arc::clone(&request),
            held: Arc::default(),
            planned_on: None,
            contradictions: Contradictions::default(),
            has_lost: false,
            searched: None,
            has_searched: false,
            posted_losses: 0,
            is_compared: false,
            is_exact: true,
        };
        let answer = call.place(settings, search).await;
        let answer = self.unless_repeated(&request, answer).await;
        self.claim_statistics.note_call(&request, &answer);
        answer
    }

    /// The answer to a call, or the stored one if the call was refused because it was carried out before.
    async fn unless_repeated(&self, request: &PlaceRequest, answer: Result<PlaceAnswer>) -> Result<PlaceAnswer> {
        let is_refused = match &answer {
            _ if mutants::is(Mutant::LookOnce) => false,
            Err(Error::ClaimRefused(_)) => true,
            Ok(PlaceAnswer::Placed(placed)) => !placed.has_claims(),
            _ => false,
        };
        // The first call may have been carried out since.
        if is_refused && let Some(answer) = self.stored_answer(request).await? {
            return Ok(PlaceAnswer::Repeated(answer));
        }
        answer
    }
}

impl Call<'_> {
    async fn place(
        &mut self,
        settings: &SearchSettings,
        search: impl AsyncFn(PlanJob) -> Result<Plan>,
    ) -> Result<PlaceAnswer> {
        if self.request.queries.is_empty() {
            // Rows find each spelling, but the snapshot does not: a later candidate would be claimed.
            self.request = self.model.respelled(Arc::clone(&self.request)).await?;
        }
        while BootInstant::now() < self.deadline {
            self.held = self.model.store.held();
            let pending = self.pending();
            let planned = if self.request.queries.is_empty() {
                self.posted(&pending)
            } else {
                let job = self.plan_job(&pending, settings).await?;
                let found = self.in_time(search(job)).await;
                if self.searched.is_some() && found.as_ref().map_or(true, Plan::has_refusals) {
                    continue;
                }
                let plan = found?;
                self.is_exact = plan.is_exact;
                plan.consumers
            };
            let round = self.round(&pending, planned);
            if self.must_plan_again(&round).await? {
                continue;
            }
            let Some(round) = self.with_stale_generations(round).await? else {
                continue;
            };
            if let Some(answer) = self.claim(round).await? {
                return Ok(answer);
            }
        }
        Err(Error::Busy {
            detail: "Other claims kept taking the places that were found.".to_owned(),
        })
    }

    /// A search that ends at the deadline.
    async fn in_time(&self, search: impl Future<Output = Result<Plan>>) -> Result<Plan> {
        let left = self.deadline.saturating_duration_since(BootInstant::now());
        let too_long = |_| Error::Busy {
            detail: "The search for places took too long.".to_owned(),
        };
        tokio::time::timeout(left, search).await.map_err(too_long)?
    }

    /// The indexes of the consumers that rows have not refused.
    fn pending(&self) -> Vec<usize> {
        (0..self.refused.len())
            .filter(|at| self.refused[*at].is_none())
            .collect()
    }

    /// The choices of consumers that all post candidates. Rows alone decide about them.
    fn posted(&self, pending: &[usize]) -> Vec<std::result::Result<Planned, Reasons>> {
        let lists = pending
            .iter()
            .filter_map(|at| match &self.request.consumers[*at].wanted {
                Wanted::Candidates(list) => Some(Arc::clone(list)),
                Wanted::Query(_) => None,
            });
        let planned = lists.map(|list| Planned {
            candidates: Candidates::all(list),
            limits: Limits::of(self.request.purpose),
            taken: None,
        });
        planned.map(Ok).collect()
    }

    fn round(&self, pending: &[usize], planned: Vec<std::result::Result<Planned, Reasons>>) -> Round {
        let mut round = Round {
            refused: self.refused.clone(),
            claiming: Vec::with_capacity(pending.len()),
        };
        for (&at, planned) in pending.iter().zip(planned) {
            match planned {
                Ok(planned) => round.claiming.push(Claiming { at, planned }),
                Err(reasons) => round.refused[at] = Some(reasons),
            }
        }
        round
    }

    /// If a query has no candidate: whether other consumers are tried again, or the snapshot was compared with the
    /// tables, because another program writes to the database. The latter once in a call.
    async fn must_plan_again(&mut self, round: &Round) -> Result<bool> {
        if round.refused == self.refused {
            return Ok(false);
        }
        if self.try_again_beside(|at| round.refused[at].is_some()) {
            return Ok(true);
        }
        if self.is_compared {
            return Ok(false);
        }
        self.is_compared = true;
        self.model.compare_before_refusal(self.deadline).await
    }

    /// Before the plan refuses a consumer: replaces the reasons of those that have another generation than the caller
    /// expects, because nothing else helps them. In an atomic call all are compared, since none will be claimed. `None`
    /// if the others must be planned again: a reason counts what a stale consumer before it would have taken.
    async fn with_stale_generations(&mut self, mut round: Round) -> Result<Option<Round>> {
        if round.refused == self.refused {
            return Ok(Some(round));
        }
        let is_atomic = self.request.is_atomic;
        let compared: Vec<usize> = (0..self.refused.len())
            .filter(|at| self.refused[*at].is_none() && (is_atomic || round.refused[*at].is_some()))
            .collect();
        let without_candidates = compared.iter().map(|at| ConsumerChoice {
            claim: self.request.consumers[*at].claim.clone(),
            candidates: Candidates::all(Arc::new([])),
            limits: Limits::Normal,
        });
        let command = ClaimFirst::new(without_candidates.collect(), None);
        if let Err(error) = self.model.dry_run(command, self.deadline).await {
            let Error::ClaimRefused(refusal) = error else {
                return Err(error);
            };
            let (mut stale, mut counts_stale) = (Vec::new(), false);
            for (at, consumer) in compared.into_iter().zip(&refusal.consumers) {
                if consumer.reasons.is_empty() {
                    counts_stale |= !stale.is_empty() && round.refused[at].is_some();
                } else {
                    round.refused[at] = Some(consumer.reasons.clone());
                    stale.push(at);
                }
            }
            if is_atomic && counts_stale {
                stale
                    .into_iter()
                    .for_each(|at| self.refused[at] = round.refused[at].take());
                return Ok(None);
            }
        }
        Ok(Some(round))
    }

    /// Claims for the consumers that have candidates. `None` if the call must be planned again.
    ///
    /// # Errors
    /// [`Error::ClaimRefused`] if the call is atomic and a consumer is refused.
    async fn claim(&mut self, round: Round) -> Result<Option<PlaceAnswer>> {
        let Round { refused, claiming } = round;
        if self.request.is_atomic && refused.iter().any(Option::is_some) {
            return Err(self.refusal(&refused));
        }
        if claiming.is_empty() {
            return Ok(Some(PlaceAnswer::Placed(Placed::new(refused, &[], self.is_exact))));
        }
        let choices = claiming.iter().map(|Claiming { at, planned }| ConsumerChoice {
            claim: self.request.consumers[*at].claim.clone(),
            candidates: planned.candidates.clone(),
            limits: planned.limits,
        });
        let command = ClaimFirst {
            searched: self.searched,
            ..ClaimFirst::new(choices.collect(), self.memory(&refused))
        };
        let decided = if self.request.is_dry_run {
            self.model.dry_run(command, self.deadline).await.map(Some)
        } else if self.may_plan_again(claiming.iter().map(|it| it.at)) {
            self.model.submit_once(command, self.deadline, &self.held).await
        } else {
            self.model.submit_planned(command, self.deadline, &self.held).await
        };
        match decided {
            Ok(Some(ClaimAnswer::Claimed(claimed))) => {
                let placed = Placed::new(refused, &claimed, self.is_exact);
                Ok(Some(PlaceAnswer::Placed(placed)))
            }
            Ok(Some(ClaimAnswer::Repeated(answer))) => Ok(Some(PlaceAnswer::Repeated(answer))),
            Ok(None) => {
                self.has_lost = true;
                self.try_again_beside(|_| true);
                Ok(None)
            }
            Err(Error::ClaimRefused(refusal)) => self.take_refusal(&claiming, &refusal).map(|()| None),
            Err(error) => Err(error),
        }
    }

    /// What is stored with the claim, if the call has an id.
    fn memory(&self, refused: &[Option<Reasons>]) -> Option<Arc<Memory>> {
        let call = self.request.remembered()?.clone();
        Some(Arc::new(Memory {
            call,
            request: Arc::clone(&self.request),
            refused: refused.to_vec(),
            is_exact: self.is_exact,
        }))
    }

    /// Whether a refusal on the snapshot needs no check against the tables, because another search follows: that is so
    /// if all consumers are new and have queries. Once only: rows may refuse for another reason than room.
    fn may_plan_again(&self, mut claiming: impl Iterator<Item = usize>) -> bool {
        !self.has_lost
            && claiming.all(|at| {
                let consumer = &self.request.consumers[at];
                consumer.claim.generation == Expected::New && matches!(consumer.wanted, Wanted::Query(_))
            })
    }

    /// Whether a search may do without the change feed, because the claim is verified when it is written, and planned
    /// again if peers have committed since. What refuses a consumer must be known to be the newest state.
    pub fn may_search_unverified(&self, pending: &[usize]) -> bool {
        !self.has_searched && !self.request.is_dry_run && self.may_plan_again(pending.iter().copied())
    }
}
