//! Finds candidates for consumers with a query, in a version of the snapshot. Checks posted candidates. No SQL, no
//! clock.
//!
//! Consumers are placed one after the other. Each consumer sees the places of the consumers before, and the room that
//! existing consumers give back. Naively, each consumer would need a search. But a gang mostly repeats one query, and
//! one search finds places for the whole gang: see [`crate::search::CandidateSequence`].
//!
//! If a class has a normal limit, the search runs on a version of the snapshot in which normal limits replace
//! capacities. If nothing is found and the purpose allows an excess, the candidate with the least excess is taken.
//!
//! Each consumer keeps the candidates of all consumers with the same query, and a few to spare. If the consumer's own
//! candidate is gone when the claim is decided, the next candidate is tried.

mod posted_candidates;
mod query_candidates;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use self::posted_candidates::first_that_fits;
use self::query_candidates::{PlannedQuery, seeded};
use super::placements::{avoiding, claim_candidate, negated};
use super::{Candidates, ClaimCandidate, ClaimQuery, Limits, PlaceRequest, RequestedConsumer, Wanted};
use crate::db::writer::RowNames;
use crate::error::{Reasons, Result};
use crate::model::explain::{self, KnownReasons};
use crate::model::snapshot::stamp::Stamp;
use crate::search::{
    ClassId, Interrupt, OverSequence, Placement, PlannedUsage, ProviderId, Rank, SearchSettings, Snapshot,
};

/// How many candidates of a gang's list are tried for each consumer. If all are taken, the call is planned again.
const GANG_TRIES: usize = 64;

/// The allocations of existing consumers, by the consumers' names in the call.
pub type OwnAllocations = HashMap<String, Vec<(ProviderId, ClassId, i64)>>;

/// A call in progress, with the search of the next plan. Clones share the data.
#[derive(Clone, Debug)]
pub struct ClaimPlanJob {
    pub(super) snapshot: Arc<Snapshot>,
    pub request: Arc<PlaceRequest>,
    /// By consumer of the call, the final refusals. The plan places the remaining consumers.
    pub(super) refused: Vec<Option<Reasons>>,
    pub(super) own: Arc<OwnAllocations>,
    /// Rows locked by other transactions. The plan avoids the providers among these rows.
    pub(super) held: Arc<RowNames>,
    pub(super) settings: SearchSettings,
    pub(super) known_reasons: Arc<KnownReasons>,
    /// As `PlanBasis::is_hasty`.
    pub(super) is_hasty: bool,
    /// The stamp of the snapshot, if the snapshot may lack commits of peers.
    pub(super) searched: Option<Stamp>,
}

/// The candidates of each pending consumer, or the reasons of the refusal.
pub struct Plan {
    pub consumers: Vec<std::result::Result<PlannedConsumer, Reasons>>,
    pub is_exact: bool,
}

impl Plan {
    pub fn has_refusals(&self) -> bool {
        self.consumers.iter().any(std::result::Result::is_err)
    }

    /// This plan avoids held providers, and `with_held` does not. If both plans refuse the same consumers: this plan,
    /// with the reasons of `with_held`. Otherwise `with_held`.
    fn or_with_held(self, with_held: Plan) -> Plan {
        let are_refused = |plan: &Plan| {
            plan.consumers
                .iter()
                .map(std::result::Result::is_err)
                .collect::<Vec<_>>()
        };
        if are_refused(&self) != are_refused(&with_held) {
            return with_held;
        }
        let consumers = self.consumers.into_iter().zip(with_held.consumers);
        Plan {
            consumers: consumers.map(|(avoiding, with_held)| avoiding.or(with_held)).collect(),
            is_exact: self.is_exact && with_held.is_exact,
        }
    }
}

/// The candidates of a consumer.
pub struct PlannedConsumer {
    pub candidates: Candidates,
    pub limits: Limits,
    /// Whether a candidate fits beside the places before.
    pub fits: bool,
}

/// A plan in progress.
struct ClaimPlanning<'a> {
    job: &'a ClaimPlanJob,
    settings: SearchSettings,
    /// The indexes of the consumers to place.
    pending: Vec<usize>,
    /// Within the normal limits.
    usage: PlannedUsage,
    /// The snapshot of `usage` before the first consumer.
    within_limits: Arc<Snapshot>,
    /// Within the capacity. `None` if no class has a normal limit.
    beyond: Option<PlannedUsage>,
    /// The candidates with the least excess over the normal limits, for the last query that needed an excess.
    /// Candidates for each of 1,000 queries would take gigabytes.
    over: Option<(usize, OverSequence)>,
    queries: BTreeMap<usize, PlannedQuery<'a>>,
    /// Whether every search beyond the normal limits compared all candidates.
    is_exact: bool,
    /// Whether the reasons of refusals are looked for.
    explains: bool,
}

/// Where a consumer may be placed.
enum PlannedPlace {
    /// A posted candidate, or a candidate beyond the normal limits.
    Planned(PlannedConsumer),
    /// The index of the first choice in the list of the query.
    Chosen {
        query: usize,
        first: usize,
    },
    Nowhere(Reasons),
}

impl ClaimPlanJob {
    /// Searches. The plan avoids held providers, unless the avoidance changes the set of refused consumers.
    ///
    /// # Errors
    /// Of the search, as for `GET /allocation_candidates`.
    pub(super) fn plan_around_held(&self, interrupt: &Interrupt) -> Result<Plan> {
        if let Some(snapshot) = avoiding(&self.snapshot, &self.held) {
            let job = ClaimPlanJob {
                snapshot,
                ..self.clone()
            };
            let avoiding = job.plan(interrupt, false)?;
            if !avoiding.has_refusals() {
                return Ok(avoiding);
            }
            return Ok(avoiding.or_with_held(self.plan(interrupt, true)?));
        }
        self.plan(interrupt, true)
    }

    /// `explains`: whether the reasons of refusals are looked for.
    fn plan(&self, interrupt: &Interrupt, explains: bool) -> Result<Plan> {
        let is_limited = self.snapshot.catalog().has_normal_limits();
        let beyond = is_limited.then(|| PlannedUsage::new(Arc::clone(&self.snapshot)));
        let normal = if is_limited {
            Arc::new(self.snapshot.at_normal_limits())
        } else {
            Arc::clone(&self.snapshot)
        };
        let pending = self.request.pending(&self.refused);
        let mut planning = ClaimPlanning {
            job: self,
            pending: pending.clone(),
            settings: SearchSettings {
                interrupt: interrupt.clone(),
                ..self.settings.clone()
            },
            usage: PlannedUsage::new(Arc::clone(&normal)),
            within_limits: normal,
            beyond,
            over: None,
            queries: BTreeMap::new(),
            is_exact: true,
            explains,
        };
        let mut places = Vec::with_capacity(pending.len());
        for at in pending {
            if interrupt.is_set() {
                break;
            }
            let place = planning.place(&self.request.consumers[at]);
            places.push(place.map_err(|error| error.in_member(&format!("consumers[{at}].query")))?);
        }
        Ok(planning.into_plan(places))
    }
}

impl<'a> ClaimPlanning<'a> {
    fn place(&mut self, consumer: &RequestedConsumer) -> Result<PlannedPlace> {
        let own = self.own_placements(consumer);
        // The usage above limits on the consumer's providers. An excess may stay if the claim does not raise the
        // excess. So the excess does not count during the placement: the present amounts fit there again, and no more.
        let over_normal = self.usage.over_limits(&own);
        let beyond = self.beyond.as_ref();
        let over_capacity = beyond.map_or_else(Vec::new, |beyond| beyond.over_limits(&own));
        self.add(&negated(&own), &negated(&own));
        self.add(&negated(&over_normal), &negated(&over_capacity));
        let (place, taken) = match &consumer.wanted {
            Wanted::Candidates(list) => {
                let limits = Limits::of(self.job.request.purpose);
                let beyond = self.beyond.as_ref().filter(|_| limits == Limits::NormalFirst);
                let (snapshot, is_strict) = (&self.job.snapshot, self.settings.strict_step);
                let fitting = first_that_fits(snapshot, (&self.usage, beyond), list, &own, is_strict);
                let planned = PlannedConsumer {
                    candidates: Candidates::all(Arc::clone(list)),
                    limits,
                    fits: fitting.is_some(),
                };
                (PlannedPlace::Planned(planned), fitting.unwrap_or_default())
            }
            Wanted::Query(query) => self.place_by_query(*query, consumer)?,
        };
        self.add(&over_normal, &over_capacity);
        // A consumer without a new place keeps the present allocations.
        let used = if taken.is_empty() { &own } else { &taken };
        self.add(used, used);
        Ok(place)
    }

    /// The consumer's allocations, if the consumer exists.
    fn own_placements(&self, consumer: &RequestedConsumer) -> Vec<Placement> {
        let own = self.job.own.get(&consumer.claim.consumer).into_iter().flatten();
        let placements = own.filter_map(|&(provider, class, amount)| {
            let slot = self.job.snapshot.by_id(provider)?;
            Some(Placement { slot, class, amount })
        });
        placements.collect()
    }

    /// Adds to the planned usage within the normal limits, and to the usage within the capacity.
    fn add(&mut self, normal: &[Placement], beyond: &[Placement]) {
        if let Some(usage) = &mut self.beyond {
            let change = usage.add(beyond);
            self.over.iter_mut().for_each(|(_, over)| over.note(&change));
        }
        if normal.is_empty() {
            return;
        }
        let change = self.usage.add(normal);
        self.over.iter_mut().for_each(|(_, over)| over.note(&change));
        let planned = self.queries.values_mut();
        planned.for_each(|planned| planned.sequence.note(&change));
    }

    /// The place, and the amounts of the place.
    fn place_by_query(&mut self, query: usize, consumer: &RequestedConsumer) -> Result<(PlannedPlace, Vec<Placement>)> {
        let job = self.job;
        let planned = self.queries.entry(query).or_insert_with(|| {
            let wanted = self.pending.iter().map(|at| &job.request.consumers[*at].wanted);
            let consumers = wanted.filter(|wanted| matches!(wanted, Wanted::Query(other) if *other == query));
            PlannedQuery::new(&job.request.queries[query], consumers.count(), consumer, &self.settings)
        });
        if let Some((first, taken)) = planned.choose(&mut self.usage, &job.snapshot)? {
            return Ok((PlannedPlace::Chosen { query, first }, taken));
        }
        if let Some(beyond) = self.place_beyond(query, consumer)? {
            return Ok(beyond);
        }
        let reasons = self.explains.then(|| self.refusal(query)).transpose()?;
        Ok((PlannedPlace::Nowhere(reasons.unwrap_or_default()), Vec::new()))
    }

    /// The place with the least excess over the normal limits, if the purpose allows an excess.
    fn place_beyond(
        &mut self,
        query: usize,
        consumer: &RequestedConsumer,
    ) -> Result<Option<(PlannedPlace, Vec<Placement>)>> {
        let may_exceed = self.job.request.purpose.may_exceed_normal();
        let Some(beyond) = self.beyond.as_mut().filter(|_| may_exceed) else {
            return Ok(None);
        };
        let ClaimQuery { request, rank } = &self.job.request.queries[query];
        let scoring = rank.and_then(Rank::scoring);
        let settings = seeded(&self.settings, scoring, consumer);
        self.over.take_if(|(known, _)| *known != query);
        let (_, over) = self.over.get_or_insert_with(|| (query, OverSequence::new(scoring)));
        let found = over.next(&self.usage, beyond.snapshot(), request, &settings)?;
        self.is_exact &= found.is_exact;
        Ok(found.candidate.map(|candidate| {
            let list = Arc::new([claim_candidate(&self.job.snapshot, &candidate)]);
            let planned = PlannedConsumer {
                candidates: Candidates::all(list),
                limits: Limits::NormalFirst,
                fits: true,
            };
            (PlannedPlace::Planned(planned), candidate.placements)
        }))
    }

    /// Why a query has no candidate.
    fn refusal(&mut self, query: usize) -> Result<Reasons> {
        let request = &self.job.request.queries[query].request;
        let known = self.queries.get(&query).and_then(|planned| planned.refusal.clone());
        if let Some(known) = known {
            return Ok(known);
        }
        let is_limited = self.beyond.is_some();
        let (usage, unplanned, is_normal) = match &mut self.beyond {
            Some(beyond) if self.job.request.purpose.may_exceed_normal() => (beyond, &self.job.snapshot, false),
            _ => (&mut self.usage, &self.within_limits, is_limited),
        };
        let planned = usage.snapshot();
        let explain = || explain::reasons(planned, request, &self.settings);
        // Consumers before may have taken or released room.
        let reasons = if Arc::ptr_eq(planned, unplanned) {
            let known = &self.job.known_reasons;
            known.of(&self.job.snapshot, (request, is_normal), explain)?
        } else {
            explain()?
        };
        if let Some(planned) = self.queries.get_mut(&query) {
            planned.refusal = Some(reasons.clone());
        }
        Ok(reasons)
    }

    fn into_plan(self, places: Vec<PlannedPlace>) -> Plan {
        let are_exact = self.queries.values().all(|planned| planned.sequence.is_exact());
        let is_exact = self.is_exact && are_exact;
        let queries = self.queries.into_iter();
        let lists: BTreeMap<usize, Arc<[ClaimCandidate]>> = queries
            .map(|(query, planned)| (query, planned.into_list(&self.job.snapshot)))
            .collect();
        let consumers = places.into_iter().map(|place| match place {
            PlannedPlace::Planned(planned) => Ok(planned),
            PlannedPlace::Chosen { query, first } => Ok(PlannedConsumer {
                candidates: Candidates {
                    tries: lists[&query].len().min(GANG_TRIES),
                    list: Arc::clone(&lists[&query]),
                    first,
                },
                // If the normal room is taken, a different host may have some: then the call is planned again.
                limits: Limits::Normal,
                fits: true,
            }),
            PlannedPlace::Nowhere(reasons) => Err(reasons),
        });
        Plan {
            consumers: consumers.collect(),
            is_exact,
        }
    }
}
