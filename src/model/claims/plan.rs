//! Finds candidates for consumers that want a place by query, in one version of the snapshot. Pure: no SQL and no clock.
//!
//! Naively, each consumer of a gang would be searched for on its own. But a gang mostly repeats one query, and one search
//! can find places for all of it:
//! - It looks for as many candidates as there are consumers, and a few to spare.
//! - Consumers are assigned to them in turn, best first. What the earlier ones take is subtracted.
//! - Each consumer keeps the whole list. If its own candidate is gone when the claim is decided, the next one is tried.
//!
//! Candidates of one list may take room from each other: in a tree, or at a shared provider. So a gang may fail although
//! there is room. Then it is planned again one by one: each consumer by a search of its own, in a snapshot that shows what
//! the ones before it take. Consumers that exist are always planned so, because what they have counts as free for them.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::{Candidates, ClaimCandidate, ClaimQuery, PlaceRequest, RequestedConsumer, Wanted, refusal};
use crate::error::{Reasons, Result};
use crate::model::allocations::Expected;
use crate::search::{
    self, Candidate, ClassId, Delta, Interrupt, Load, Placement, ProviderId, Rank, SearchSettings, Slot, Snapshot,
    SnapshotChange,
};

/// How many candidates a list has beyond one for each consumer, for those that others take first.
const SPARE_CANDIDATES: usize = 15;

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
    /// Whether each consumer is searched for in a snapshot that shows what the ones before it take.
    pub(super) one_by_one: bool,
    pub(super) settings: SearchSettings,
}

/// Candidates of each pending consumer, or why it has none.
pub struct Plan {
    pub consumers: Vec<std::result::Result<Candidates, Reasons>>,
    pub is_exact: bool,
}

/// A list of candidates, each with what it takes and what was there before.
struct CandidateList {
    list: Arc<[ClaimCandidate]>,
    found: Vec<Found>,
    is_exact: bool,
}

/// A candidate in slots and ids.
struct Found {
    placements: Vec<Placement>,
    loads: Vec<Load>,
}

impl PlanJob {
    /// Searches. A plan that `interrupt` ended is incomplete.
    ///
    /// # Errors
    /// Of the search, as for `GET /allocation_candidates`.
    pub fn run(&self, interrupt: &Interrupt) -> Result<Plan> {
        let settings = SearchSettings {
            interrupt: interrupt.clone(),
            ..self.settings.clone()
        };
        let exists = |at: &usize| self.request.consumers[*at].claim.generation != Expected::New;
        if self.one_by_one || self.pending.iter().any(exists) {
            self.plan_one_by_one(&settings)
        } else {
            self.plan_together(&settings)
        }
    }

    /// One search for each query.
    fn plan_together(&self, settings: &SearchSettings) -> Result<Plan> {
        let mut lists: HashMap<usize, (CandidateList, Taken)> = HashMap::new();
        for consumer in self.consumers() {
            let Wanted::Query(query) = consumer.wanted else {
                continue;
            };
            if let Entry::Vacant(entry) = lists.entry(query) {
                let wanting = |it: &&RequestedConsumer| matches!(it.wanted, Wanted::Query(other) if other == query);
                let count = self.consumers().filter(wanting).count() + SPARE_CANDIDATES;
                let list = self.search(&self.snapshot, query, consumer, count, settings)?;
                entry.insert((list, Taken::default()));
            }
        }
        let is_exact = lists.values().all(|(list, _)| list.is_exact);
        let mut refusals: HashMap<usize, Reasons> = HashMap::new();
        let consumers = self.consumers().map(|consumer| match &consumer.wanted {
            Wanted::Candidates(list) => Ok(Ok(Candidates::all(Arc::clone(list)))),
            Wanted::Query(query) => match lists.get_mut(query) {
                Some((list, taken)) if !list.list.is_empty() => Ok(Ok(Candidates {
                    list: Arc::clone(&list.list),
                    first: taken.take_best(list, self.queries[*query].rank),
                    tries: GANG_TRIES,
                })),
                _ => {
                    if let Entry::Vacant(entry) = refusals.entry(*query) {
                        entry.insert(self.no_candidate(&self.snapshot, *query, settings)?);
                    }
                    Ok(Err(refusals[query].clone()))
                }
            },
        });
        Ok(Plan {
            consumers: consumers.collect::<Result<_>>()?,
            is_exact,
        })
    }

    /// A search for each consumer, in a snapshot that shows what the ones before it take.
    fn plan_one_by_one(&self, settings: &SearchSettings) -> Result<Plan> {
        let mut snapshot = Arc::clone(&self.snapshot);
        let mut plan = Plan {
            consumers: Vec::with_capacity(self.pending.len()),
            is_exact: true,
        };
        for consumer in self.consumers() {
            if let Some(own) = self.own.get(&consumer.claim.consumer) {
                let released = own.iter().map(|(provider, class, used)| (*provider, *class, -used));
                snapshot = Arc::new(with_usage(&snapshot, released));
            }
            let (candidates, taken) = match &consumer.wanted {
                Wanted::Candidates(list) => (
                    Ok(Candidates::all(Arc::clone(list))),
                    first_that_fits(&snapshot, list, settings.strict_step),
                ),
                Wanted::Query(query) => {
                    let found = self.search(&snapshot, *query, consumer, 1 + SPARE_CANDIDATES, settings)?;
                    plan.is_exact &= found.is_exact;
                    match found.found.first() {
                        None => (Err(self.no_candidate(&snapshot, *query, settings)?), Vec::new()),
                        Some(best) => (Ok(Candidates::all(Arc::clone(&found.list))), best.placements.clone()),
                    }
                }
            };
            let ids = taken.iter().map(|it| (snapshot.id(it.slot), it.class, it.amount));
            snapshot = Arc::new(with_usage(&snapshot, ids));
            plan.consumers.push(candidates);
        }
        Ok(plan)
    }

    fn consumers(&self) -> impl Iterator<Item = &RequestedConsumer> {
        self.pending.iter().map(|at| &self.request.consumers[*at])
    }

    /// The best candidates of a query, at most `count`. Equals are not all the same for all consumers: `consumer` decides
    /// where the search begins.
    fn search(
        &self,
        snapshot: &Arc<Snapshot>,
        query: usize,
        consumer: &RequestedConsumer,
        count: usize,
        settings: &SearchSettings,
    ) -> Result<CandidateList> {
        let ClaimQuery { request, rank } = &self.queries[query];
        let mut hasher = DefaultHasher::new();
        consumer.claim.consumer.hash(&mut hasher);
        let settings = SearchSettings {
            seed: hasher.finish() ^ settings.seed,
            ..settings.clone()
        };
        let Some(scoring) = rank.and_then(Rank::scoring) else {
            return unranked(snapshot, request, count, &settings);
        };
        let ranked = search::best(Arc::clone(snapshot), request, scoring, count, &settings)?;
        let list = ranked.best.iter().map(|it| claim_candidate(snapshot, &it.candidate));
        Ok(CandidateList {
            list: list.collect(),
            is_exact: ranked.is_exact,
            found: ranked
                .best
                .into_iter()
                .map(|it| Found {
                    placements: it.candidate.placements,
                    loads: it.loads,
                })
                .collect(),
        })
    }

    fn no_candidate(&self, snapshot: &Snapshot, query: usize, settings: &SearchSettings) -> Result<Reasons> {
        refusal::reasons(snapshot, &self.queries[query].request, settings)
    }
}

/// The first candidates that the search finds: any are as good.
fn unranked(
    snapshot: &Arc<Snapshot>,
    request: &search::Request,
    count: usize,
    settings: &SearchSettings,
) -> Result<CandidateList> {
    let request = search::Request {
        limit: Some(count),
        ..request.clone()
    };
    let mut found: Vec<Candidate> = Vec::new();
    for candidate in search::candidates(Arc::clone(snapshot), &request, settings, ())?.select() {
        match candidate {
            Ok(candidate) => found.push(candidate),
            // Some trees were given up. What others gave is as good.
            Err(_) if !found.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(CandidateList {
        list: found.iter().map(|it| claim_candidate(snapshot, it)).collect(),
        is_exact: true,
        found: found
            .into_iter()
            .map(|it| Found {
                placements: it.placements,
                loads: Vec::new(),
            })
            .collect(),
    })
}

/// What consumers of a gang take that were assigned already.
#[derive(Default)]
struct Taken {
    amounts: HashMap<(Slot, ClassId), i64>,
    consumers: usize,
}

impl Taken {
    /// The index of the candidate that is the best after what was taken. Without a rank consumers take turns.
    fn take_best(&mut self, list: &CandidateList, rank: Option<Rank>) -> usize {
        let turn = self.consumers % list.found.len();
        self.consumers += 1;
        let Some(scoring) = rank.and_then(Rank::scoring) else {
            return turn;
        };
        let fitting = list.found.iter().enumerate().filter_map(|(at, found)| {
            let loads = self.loads(found);
            let fits = loads.iter().all(|load| load.used <= load.limit);
            fits.then(|| (at, scoring.cost_of_loads(&loads)))
        });
        let Some((best, _)) = fitting.min_by(|(_, one), (_, other)| one.total_cmp(other)) else {
            return turn;
        };
        for placement in &list.found[best].placements {
            *self.amounts.entry((placement.slot, placement.class)).or_default() += placement.amount;
        }
        best
    }

    fn loads(&self, found: &Found) -> Vec<Load> {
        let taken = |load: &Load| self.amounts.get(&(load.slot, load.class)).copied().unwrap_or(0);
        let loads = found.loads.iter();
        loads
            .map(|load| Load {
                used: load.used.saturating_add(taken(load)),
                ..*load
            })
            .collect()
    }
}

/// What the first of the posted candidates takes that fits. The claim is decided by all rules.
fn first_that_fits(snapshot: &Snapshot, list: &[ClaimCandidate], is_strict: bool) -> Vec<Placement> {
    let placements = |candidate: &ClaimCandidate| {
        let of_provider = candidate.allocations.iter().map(|(uuid, resources)| {
            let slot = snapshot.by_uuid(uuid)?;
            let of_class = resources.iter().map(move |(class, amount)| {
                let class = snapshot.catalog().class_id(class)?;
                let inventory = snapshot.inventory(slot, class)?;
                let fits = inventory.allows_amount(*amount, is_strict)
                    && inventory.has_room(snapshot.used(slot, class), *amount);
                fits.then_some(Placement {
                    slot,
                    class,
                    amount: *amount,
                })
            });
            of_class.collect::<Option<Vec<Placement>>>()
        });
        Some(of_provider.collect::<Option<Vec<_>>>()?.concat())
    };
    list.iter().find_map(placements).unwrap_or_default()
}

/// The snapshot with these amounts added to the usage of providers.
fn with_usage(snapshot: &Snapshot, amounts: impl Iterator<Item = (ProviderId, ClassId, i64)>) -> Snapshot {
    let mut by_provider: BTreeMap<ProviderId, Vec<(ClassId, i64)>> = BTreeMap::new();
    for (provider, class, amount) in amounts {
        by_provider.entry(provider).or_default().push((class, amount));
    }
    let deltas = by_provider.into_iter().filter_map(|(provider, used)| {
        let slot = snapshot.by_id(provider)?;
        Some(Delta {
            provider,
            moves: 0,
            generation: snapshot.generation(slot),
            modified: None,
            used,
        })
    });
    snapshot.apply(&SnapshotChange {
        deltas: deltas.collect(),
        ..SnapshotChange::default()
    })
}

/// A candidate in the names of a claim.
fn claim_candidate(snapshot: &Snapshot, candidate: &Candidate) -> ClaimCandidate {
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
