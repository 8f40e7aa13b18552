//! Finds candidates for consumers that want a place by query, in one version of the snapshot. Pure: no SQL and no clock.
//!
//! Consumers are placed one after the other. Each sees what the ones before it take, and what consumers that exist give
//! back. Naively, each would be searched for on its own. But a gang mostly repeats one query, and one search finds places
//! for all of it: see [`CandidateSequence`].
//!
//! If a class has a normal limit, the search runs on a version of the snapshot in which normal limits replace capacities.
//! A consumer that finds nothing there, and whose purpose allows it, gets what goes least over them.
//!
//! Each consumer keeps the candidates of all consumers with its query, and a few to spare. If its own candidate is gone
//! when the claim is decided, the next one is tried.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::{Candidates, ClaimCandidate, ClaimQuery, Limits, PlaceRequest, RequestedConsumer, Wanted, refusal};
use crate::error::{Reasons, Result};
use crate::search::{
    self, Candidate, CandidateSequence, ClassId, Interrupt, Placement, PlannedUsage, ProviderId, ProviderState, Rank,
    SearchSettings, Slot, Snapshot,
};

/// How many candidates a list has beyond those of its consumers, for those that others take first: with a rank, by which
/// many want the same ones.
const RANKED_SPARES: usize = 15;
/// The same without a rank. Each costs some 2 µs on nested hosts.
const SPARES: usize = 3;

/// How many candidates of a gang's list are tried for each consumer. If others took that many, it is planned again.
const GANG_TRIES: usize = 64;

/// The allocations of consumers that exist.
pub type OwnAllocations = HashMap<String, Vec<(ProviderId, ClassId, i64)>>;

/// The search of one plan. Clones share all of it.
#[derive(Clone)]
pub struct PlanJob {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) request: Arc<PlaceRequest>,
    /// The queries of the request, with names as the tables spell them.
    pub(super) queries: Arc<Vec<ClaimQuery>>,
    /// The indexes of the consumers to place.
    pub(super) pending: Arc<[usize]>,
    pub(super) own: Arc<OwnAllocations>,
    pub(super) settings: SearchSettings,
}

/// Candidates of each pending consumer, or why it has none.
pub struct Plan {
    pub consumers: Vec<std::result::Result<Planned, Reasons>>,
    pub is_exact: bool,
}

impl Plan {
    pub fn has_refusals(&self) -> bool {
        self.consumers.iter().any(std::result::Result::is_err)
    }
}

/// The candidates of a consumer.
pub struct Planned {
    pub candidates: Candidates,
    pub limits: Limits,
    /// Whether one of them fits, beside what the consumers before it take.
    pub has_room: bool,
}

/// A plan in progress.
struct Planning<'a> {
    job: &'a PlanJob,
    settings: SearchSettings,
    /// Within the normal limits.
    usage: PlannedUsage,
    /// Within the capacity. `None` if no class has a normal limit.
    beyond: Option<PlannedUsage>,
    queries: BTreeMap<usize, PlannedQuery<'a>>,
    /// Whether every search beyond the normal limits compared all candidates.
    is_exact: bool,
}

/// The candidates of a query.
struct PlannedQuery<'a> {
    /// How many candidates to spare the list has.
    spares: usize,
    sequence: CandidateSequence<'a>,
    /// Those that consumers get, each once.
    chosen: Vec<ClaimCandidate>,
    /// By number in the sequence, the index in `chosen`.
    chosen_at: HashMap<usize, usize>,
    /// Why a consumer got none.
    refusal: Option<Reasons>,
}

/// Where a consumer may be placed.
enum Place {
    Posted {
        list: Arc<[ClaimCandidate]>,
        limits: Limits,
        has_room: bool,
    },
    /// Beyond the normal limits.
    Beyond(ClaimCandidate),
    /// The index of its first choice in the list of its query.
    Chosen {
        query: usize,
        first: usize,
    },
    Nowhere(Reasons),
}

impl PlanJob {
    /// Searches. A plan that `interrupt` ended is incomplete.
    ///
    /// # Errors
    /// Of the search, as for `GET /allocation_candidates`.
    pub fn run(&self, interrupt: &Interrupt) -> Result<Plan> {
        let is_limited = self.snapshot.catalog().has_normal_limits();
        let beyond = is_limited.then(|| PlannedUsage::new(Arc::clone(&self.snapshot)));
        let normal = if is_limited {
            Arc::new(self.snapshot.at_normal_limits())
        } else {
            Arc::clone(&self.snapshot)
        };
        let mut planning = Planning {
            job: self,
            settings: SearchSettings {
                interrupt: interrupt.clone(),
                ..self.settings.clone()
            },
            usage: PlannedUsage::new(normal),
            beyond,
            queries: BTreeMap::new(),
            is_exact: true,
        };
        let mut places = Vec::with_capacity(self.pending.len());
        for consumer in self.consumers() {
            if interrupt.is_set() {
                break;
            }
            places.push(planning.place(consumer)?);
        }
        Ok(planning.into_plan(places))
    }

    fn consumers(&self) -> impl Iterator<Item = &RequestedConsumer> {
        self.pending.iter().map(|at| &self.request.consumers[*at])
    }
}

impl<'a> Planning<'a> {
    fn place(&mut self, consumer: &RequestedConsumer) -> Result<Place> {
        let own = self.own_placements(consumer);
        self.add(&negated(&own));
        let (place, taken) = match &consumer.wanted {
            Wanted::Candidates(list) => {
                let (taken, limits) = self.first_that_fits(list, &own);
                let place = Place::Posted {
                    list: Arc::clone(list),
                    limits,
                    has_room: !taken.is_empty(),
                };
                (place, taken)
            }
            Wanted::Query(query) => self.place_by_query(*query, consumer)?,
        };
        // A consumer that gets nothing keeps what it has.
        self.add(if taken.is_empty() { &own } else { &taken });
        Ok(place)
    }

    /// What the consumer has, if it exists.
    fn own_placements(&self, consumer: &RequestedConsumer) -> Vec<Placement> {
        let own = self.job.own.get(&consumer.claim.consumer).into_iter().flatten();
        let placements = own.filter_map(|&(provider, class, amount)| {
            let slot = self.job.snapshot.by_id(provider)?;
            Some(Placement { slot, class, amount })
        });
        placements.collect()
    }

    /// Adds to the planned usage.
    fn add(&mut self, placements: &[Placement]) {
        if placements.is_empty() {
            return;
        }
        if let Some(beyond) = &mut self.beyond {
            beyond.add(placements);
        }
        let change = self.usage.add(placements);
        let planned = self.queries.values_mut();
        planned.for_each(|planned| planned.sequence.note(&change));
    }

    /// The place, and what it takes.
    fn place_by_query(&mut self, query: usize, consumer: &RequestedConsumer) -> Result<(Place, Vec<Placement>)> {
        let planned = match self.queries.entry(query) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(PlannedQuery::new(self.job, query, consumer, &self.settings)),
        };
        let Some((number, candidate)) = planned.sequence.next(&mut self.usage)? else {
            if let Some(beyond) = self.place_beyond(query)? {
                return Ok(beyond);
            }
            return Ok((Place::Nowhere(self.refusal(query)?), Vec::new()));
        };
        let chosen = &mut planned.chosen;
        let first = *planned.chosen_at.entry(number).or_insert_with(|| {
            chosen.push(claim_candidate(&self.job.snapshot, candidate));
            chosen.len() - 1
        });
        Ok((Place::Chosen { query, first }, candidate.placements.clone()))
    }

    /// The place that goes least over the normal limits, if the purpose allows that.
    fn place_beyond(&mut self, query: usize) -> Result<Option<(Place, Vec<Placement>)>> {
        let Some(beyond) = &mut self.beyond else {
            return Ok(None);
        };
        if !self.job.request.purpose.may_exceed_normal() {
            return Ok(None);
        }
        let ClaimQuery { request, rank } = &self.job.queries[query];
        let scoring = rank.and_then(Rank::scoring);
        let found = search::least_over(&self.usage, beyond.snapshot(), request, scoring, &self.settings)?;
        self.is_exact &= found.is_exact;
        Ok(found.candidate.map(|candidate| {
            let place = Place::Beyond(claim_candidate(&self.job.snapshot, &candidate));
            (place, candidate.placements)
        }))
    }

    /// Why a query has no candidate.
    fn refusal(&mut self, query: usize) -> Result<Reasons> {
        let request = &self.job.queries[query].request;
        let known = self.queries.get(&query).and_then(|planned| planned.refusal.clone());
        if let Some(known) = known {
            return Ok(known);
        }
        let beyond = self.beyond.as_mut().map(|beyond| Arc::clone(beyond.snapshot()));
        let reasons = if self.job.request.purpose.may_exceed_normal() {
            let snapshot = beyond.as_ref().unwrap_or_else(|| self.usage.snapshot());
            refusal::reasons(snapshot, None, request, &self.settings)?
        } else {
            refusal::reasons(self.usage.snapshot(), beyond.as_deref(), request, &self.settings)?
        };
        if let Some(planned) = self.queries.get_mut(&query) {
            planned.refusal = Some(reasons.clone());
        }
        Ok(reasons)
    }

    /// What the first of the posted candidates takes that fits within the normal limits; if there is none and the purpose
    /// allows it, what the one takes that goes least over them.
    fn first_that_fits(&self, list: &[ClaimCandidate], own: &[Placement]) -> (Vec<Placement>, Limits) {
        let (snapshot, is_strict) = (&self.job.snapshot, self.settings.strict_step);
        let limits = Limits::of(self.job.request.purpose);
        let fitting = |usage| {
            let fitting = fitting(snapshot, usage, list, is_strict);
            fitting.filter(|placements| placements.iter().all(|it| may_take(snapshot, own, it)))
        };
        let mut within_normal = fitting(&self.usage);
        if let Some(taken) = within_normal.next() {
            return (taken, limits);
        }
        let beyond = self.beyond.as_ref().filter(|_| limits == Limits::NormalFirst);
        let taken =
            beyond.and_then(|beyond| fitting(beyond).min_by_key(|placements| self.usage.added_over(placements)));
        (taken.unwrap_or_default(), limits)
    }

    fn into_plan(self, places: Vec<Place>) -> Plan {
        let are_exact = self.queries.values().all(|planned| planned.sequence.is_exact());
        let is_exact = self.is_exact && are_exact;
        let queries = self.queries.into_iter();
        let lists: BTreeMap<usize, Arc<[ClaimCandidate]>> = queries
            .map(|(query, planned)| (query, planned.into_list(&self.job.snapshot)))
            .collect();
        let consumers = places.into_iter().map(|place| match place {
            Place::Beyond(candidate) => Ok(Planned {
                candidates: Candidates::all(Arc::new([candidate])),
                limits: Limits::NormalFirst,
                has_room: true,
            }),
            Place::Posted { list, limits, has_room } => Ok(Planned {
                candidates: Candidates::all(list),
                limits,
                has_room,
            }),
            Place::Chosen { query, first } => Ok(Planned {
                candidates: Candidates {
                    tries: lists[&query].len().min(GANG_TRIES),
                    list: Arc::clone(&lists[&query]),
                    first,
                },
                // Beyond them another host may have normal room: then it is planned again.
                limits: Limits::Normal,
                has_room: true,
            }),
            Place::Nowhere(reasons) => Err(reasons),
        });
        Plan {
            consumers: consumers.collect(),
            is_exact,
        }
    }
}

impl<'a> PlannedQuery<'a> {
    /// `consumer` is the first that has the query. Of equal candidates not all consumers shall get the same: it decides
    /// where the search begins.
    fn new(job: &'a PlanJob, query: usize, consumer: &RequestedConsumer, settings: &SearchSettings) -> Self {
        let mut hasher = DefaultHasher::new();
        consumer.claim.consumer.hash(&mut hasher);
        let settings = SearchSettings {
            seed: hasher.finish() ^ settings.seed,
            ..settings.clone()
        };
        let has_it = |it: &&RequestedConsumer| matches!(it.wanted, Wanted::Query(other) if other == query);
        let consumers = job.consumers().filter(has_it).count();
        let ClaimQuery { request, rank } = &job.queries[query];
        let scoring = rank.and_then(Rank::scoring);
        let spares = if scoring.is_some() { RANKED_SPARES } else { SPARES };
        Self {
            spares,
            sequence: CandidateSequence::new(request, scoring, settings, consumers, spares),
            chosen: Vec::new(),
            chosen_at: HashMap::new(),
            refusal: None,
        }
    }

    /// The candidates that consumers get, then those to spare.
    fn into_list(self, snapshot: &Snapshot) -> Arc<[ClaimCandidate]> {
        let found = self.sequence.into_found();
        let spare = found.filter(|(number, _)| !self.chosen_at.contains_key(number));
        let spare = spare
            .take(self.spares)
            .map(|(_, candidate)| claim_candidate(snapshot, &candidate));
        self.chosen.into_iter().chain(spare).collect()
    }
}

/// What is given back.
pub fn negated(placements: &[Placement]) -> Vec<Placement> {
    let negative = |it: &Placement| Placement {
        amount: -it.amount,
        ..*it
    };
    placements.iter().map(negative).collect()
}

/// Whether the provider is up, or the consumer has as much there already.
fn may_take(snapshot: &Snapshot, own: &[Placement], placement: &Placement) -> bool {
    if snapshot.are_all_up() || snapshot.state(placement.slot) == ProviderState::Up {
        return true;
    }
    let same = own
        .iter()
        .filter(|it| (it.slot, it.class) == (placement.slot, placement.class));
    placement.amount <= same.map(|it| it.amount).sum()
}

/// What each of the posted candidates takes that fits. The claim is decided by all rules.
fn fitting<'a>(
    snapshot: &'a Snapshot,
    usage: &'a PlannedUsage,
    list: &'a [ClaimCandidate],
    is_strict: bool,
) -> impl Iterator<Item = Vec<Placement>> + 'a {
    let placements = move |candidate: &ClaimCandidate| {
        let of_provider = candidate.allocations.iter().map(|(uuid, resources)| {
            let slot = snapshot.by_uuid(uuid)?;
            let of_class = resources.iter().map(move |(class, amount)| {
                let (class, amount) = (snapshot.catalog().class_id(class)?, *amount);
                let inventory = snapshot.inventory(slot, class)?;
                let is_allowed = inventory.allows_amount(amount, is_strict);
                is_allowed.then_some(Placement { slot, class, amount })
            });
            of_class.collect::<Option<Vec<Placement>>>()
        });
        let all = of_provider.collect::<Option<Vec<_>>>()?.concat();
        usage.has_room(&all).then_some(all)
    };
    list.iter().filter_map(placements)
}

/// A candidate in the names of a claim.
pub fn claim_candidate(snapshot: &Snapshot, candidate: &Candidate) -> ClaimCandidate {
    let mut allocations: Vec<(String, Vec<(String, i64)>)> = Vec::new();
    for placement in &candidate.placements {
        let uuid = snapshot.uuid(placement.slot);
        let class = snapshot.catalog().class_name(placement.class);
        let amount = (
            class.map_or_else(String::new, |name| name.to_string()),
            placement.amount,
        );
        match allocations.iter_mut().find(|(provider, _)| provider == uuid) {
            Some((_, resources)) => resources.push(amount),
            None => allocations.push((uuid.to_owned(), vec![amount])),
        }
    }
    let uuids = |slots: &[Slot]| slots.iter().map(|slot| snapshot.uuid(*slot).to_owned()).collect();
    let mappings = candidate.mappings.iter();
    ClaimCandidate {
        allocations,
        mappings: Some(
            mappings
                .map(|(suffix, slots)| (suffix.to_string(), uuids(slots)))
                .collect(),
        ),
    }
}
