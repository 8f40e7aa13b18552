//! Place and claim in one call (`POST /v1/claims`). Each consumer brings candidates in order of preference, or a query
//! from which candidates are found. The consumer gets the first candidate that fits, or the reasons of the refusal.
//! `place` drives a call from the first plan to the answer (`planner`).

pub mod memory;
mod place;
mod placements;
mod plan;
mod planned;
mod preparation;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use self::memory::{ClaimId, RepeatableCall, StoredAnswer};
use super::allocations::{ConsumerClaim, ProviderShare};
use super::snapshot::stamp::Stamp;
use crate::error::Reasons;
use crate::search::{self, Purpose, Rank};
pub use place::place;
#[cfg(test)]
pub(super) use place::place_with;
pub(super) use placements::{avoiding, claim_candidate, negated};
pub use plan::{ClaimPlanJob, Plan, PlannedConsumer};
pub use planned::PlannedCall;

/// A call: up to a thousand consumers, each with candidates or a query.
#[derive(Debug, Clone)]
pub struct PlaceRequest {
    /// Each consumer once.
    pub consumers: Vec<RequestedConsumer>,
    /// Each query once.
    pub queries: Vec<ClaimQuery>,
    /// Whether the consumers may go over the normal limits.
    pub purpose: Purpose,
    /// Whether all consumers are placed or none.
    pub is_atomic: bool,
    /// Whether the answer is only foreseen, and nothing is written.
    pub is_dry_run: bool,
    /// If the call has an id.
    pub repeatable: Option<RepeatableCall>,
}

impl PlaceRequest {
    /// The id and digests of the call. `None` for a dry run, which is always decided as a new call.
    pub fn remembered(&self) -> Option<&RepeatableCall> {
        self.repeatable.as_ref().filter(|_| !self.is_dry_run)
    }
}

/// A consumer of a call.
#[derive(Debug, Clone)]
pub struct RequestedConsumer {
    /// The claim without allocations.
    pub claim: ConsumerClaim,
    pub wanted: Wanted,
}

/// Where a consumer may be placed.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// In order of preference. Not empty.
    Candidates(Arc<[ClaimCandidate]>),
    /// Where the query with this index in [`PlaceRequest::queries`] finds a place.
    Query(usize),
}

/// A query for candidates, and the rank by which the best candidate is chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimQuery {
    pub request: search::Request,
    /// `None`: any candidate.
    pub rank: Option<Rank>,
}

/// The answer to a call.
#[derive(Debug, Clone)]
pub struct PlacedCall {
    /// The outcomes, in the order of the call.
    pub consumers: Vec<ClaimOutcome>,
    /// False if a tree had too many combinations for a comparison of all by `rank`.
    pub is_exact: bool,
}

/// The answer to a call, which may be a repetition.
#[derive(Debug, Clone)]
pub enum PlaceAnswer {
    Placed(PlacedCall),
    /// The stored answer, byte for byte as the client got the first answer.
    Repeated(String),
}

/// A command: each consumer claims the first candidate that fits. A consumer sees the claims of the consumers before.
#[derive(Debug, Clone)]
pub struct ClaimFirst {
    /// Each consumer once.
    pub consumers: Vec<ConsumerChoice>,
    /// `None` if the answer is not stored.
    pub memory: Option<Arc<Memory>>,
    /// If the candidates were found without reading the change feed: the candidates count only while the snapshot has
    /// this stamp.
    pub searched: Option<Stamp>,
    /// An estimate of the rows to write.
    rows: usize,
}

/// The data from which a claim makes the answer to store.
#[derive(Debug, Clone)]
pub struct Memory {
    pub call: RepeatableCall,
    pub request: Arc<PlaceRequest>,
    /// By consumer of the call, the reasons of a refusal. `None` for the consumers of the claim.
    pub refused: Vec<Option<Reasons>>,
    pub is_exact: bool,
}

/// Writes an answer in the form of the API.
pub type WriteAnswer = fn(&PlaceRequest, &PlacedCall) -> String;

/// The answer to [`ClaimFirst`].
#[derive(Debug, Clone)]
pub enum ClaimAnswer {
    /// In the order of the consumers.
    Claimed(Arc<[ClaimOutcome]>),
    /// The stored answer to an earlier call. Nothing was claimed.
    Repeated(String),
}

/// The place of a consumer, or the reasons of the refusal.
pub type ClaimOutcome = std::result::Result<ClaimedConsumer, Reasons>;

/// A consumer with candidates for a place.
#[derive(Debug, Clone)]
pub struct ConsumerChoice {
    /// The claim without allocations, which come from a candidate.
    pub claim: ConsumerClaim,
    pub candidates: Candidates,
    pub limits: Limits,
    /// Whether the whole claim is refused if this consumer gets no place.
    pub is_required: bool,
}

/// Which limits hold for a claim with a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limits {
    /// The normal limit of each class that has a normal limit.
    Normal,
    /// The normal limits, for all candidates first. If no candidate is within them, the candidate with the least
    /// excess.
    NormalFirst,
}

/// Candidates in order of preference. Consumers with the same request share the list, and begin at different indexes.
#[derive(Debug, Clone)]
pub struct Candidates {
    /// Empty only in the dry run that compares generations alone (`place`).
    pub list: Arc<[ClaimCandidate]>,
    /// The index of the most preferred candidate. After the last candidate follows the first.
    pub first: usize,
    /// How many candidates are tried. This bounds the writer's work for a gang, whose list has a candidate per
    /// consumer.
    pub tries: usize,
}

/// A place for one consumer, in the form of an allocation request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimCandidate {
    /// By provider uuid: class names and amounts, which are at least 1. Not empty.
    pub allocations: Vec<(String, Vec<(String, i64)>)>,
    /// By suffix of a group, the uuids of the providers that serve the group. `None` if the caller named none.
    pub mappings: Option<Vec<(String, Vec<String>)>>,
}

/// The place that one consumer got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedConsumer {
    /// Uuid.
    pub consumer: String,
    /// The index of the candidate in the list.
    pub candidate: usize,
    pub mappings: Option<Vec<(String, Vec<String>)>>,
    /// The classes of which the consumer took more than the normal limit.
    pub over_normal: Vec<String>,
    /// The consumer's generation after the claim.
    pub generation: i64,
    /// With the providers' generations after the whole call.
    pub providers: Vec<ProviderShare>,
}

impl PlacedCall {
    /// `refused` has the reasons of consumers that did not claim, `outcomes` the outcomes of the rest, in the same
    /// order.
    pub fn new(refused: Vec<Option<Reasons>>, outcomes: &[ClaimOutcome], is_exact: bool) -> PlacedCall {
        let mut outcomes = outcomes.iter().cloned();
        let outcome = |reasons: Option<Reasons>| match reasons {
            Some(reasons) => Err(reasons),
            None => outcomes.next().unwrap_or_else(|| Err(Reasons::default())),
        };
        PlacedCall {
            consumers: refused.into_iter().map(outcome).collect(),
            is_exact,
        }
    }

    /// How many amounts all consumers got, each of a class of a provider. A consumer without amounts counts as 1.
    pub fn amounts(&self) -> usize {
        let of_each = self.consumers.iter().map(|consumer| {
            let providers = consumer.iter().flat_map(|claimed| &claimed.providers);
            providers.map(|share| share.resources.len()).sum::<usize>().max(1)
        });
        of_each.sum()
    }

    /// Whether anything was claimed.
    pub fn has_claims(&self) -> bool {
        self.consumers.iter().any(Result::is_ok)
    }
}

impl Memory {
    pub fn id(&self) -> &ClaimId {
        &self.call.id
    }

    /// The answer if the claim is granted.
    pub fn answer(&self, outcomes: &[ClaimOutcome], write: WriteAnswer) -> StoredAnswer {
        let placed = PlacedCall::new(self.refused.clone(), outcomes, self.is_exact);
        StoredAnswer {
            digest: self.call.digest.clone(),
            answer: write(&self.request, &placed),
        }
    }
}

/// This many candidates to try count as a row.
const CANDIDATES_OF_A_ROW: usize = 16;

impl ClaimFirst {
    /// `memory` if the answer is to be stored.
    pub fn new(consumers: Vec<ConsumerChoice>, memory: Option<Arc<Memory>>) -> ClaimFirst {
        // Consumers may share a list.
        let mut rows_of = HashMap::new();
        let mut rows = |candidates: &Candidates| {
            let list = candidates.list.as_ptr();
            1 + *rows_of.entry(list).or_insert_with(|| candidates.allocation_rows())
        };
        let written: usize = consumers.iter().map(|consumer| rows(&consumer.candidates)).sum();
        let lists = consumers.iter().map(|consumer| &consumer.candidates);
        let tries: usize = lists
            .map(|candidates| candidates.list.len().min(candidates.tries))
            .sum();
        ClaimFirst {
            rows: written + tries / CANDIDATES_OF_A_ROW,
            consumers,
            memory,
            searched: None,
        }
    }

    /// An estimate of the rows to write. Candidates to try count, too.
    pub fn rows(&self) -> usize {
        self.rows
    }
}

impl Candidates {
    /// All candidates of a list, from the first on.
    pub fn all(list: Arc<[ClaimCandidate]>) -> Candidates {
        Candidates {
            tries: list.len(),
            first: 0,
            list,
        }
    }

    /// The candidates to try in order of preference, each with the index in the list.
    pub fn in_order(&self) -> impl Iterator<Item = (usize, &ClaimCandidate)> {
        let (before, from_first) = self.list.split_at(self.first.min(self.list.len()));
        let from_first = from_first.iter().enumerate().map(|(at, it)| (before.len() + at, it));
        from_first.chain(before.iter().enumerate()).take(self.tries)
    }

    /// Whether each candidate to try names any of these providers. False for an empty list.
    pub fn are_all_on(&self, providers: &BTreeSet<String>) -> bool {
        !self.list.is_empty() && self.in_order().all(|(_, candidate)| candidate.names_any(providers))
    }

    /// How many rows of `allocations` a candidate has at most.
    fn allocation_rows(&self) -> usize {
        let rows =
            |candidate: &ClaimCandidate| candidate.allocations.iter().map(|(_, resources)| resources.len()).sum();
        self.list.iter().map(rows).max().unwrap_or_default()
    }
}

impl ClaimCandidate {
    /// Whether the candidate names any of these providers.
    pub fn names_any(&self, providers: &BTreeSet<String>) -> bool {
        !providers.is_empty() && self.allocations.iter().any(|(uuid, _)| providers.contains(uuid))
    }
}

impl Limits {
    /// The limits of a purpose.
    pub fn of(purpose: Purpose) -> Limits {
        if purpose.may_exceed_normal() {
            Limits::NormalFirst
        } else {
            Limits::Normal
        }
    }
}

impl ConsumerChoice {
    /// The uuid of the consumer.
    pub fn uuid(&self) -> &str {
        &self.claim.consumer
    }

    /// The claim with the allocations of a candidate.
    pub fn claim_of(&self, candidate: &ClaimCandidate) -> ConsumerClaim {
        ConsumerClaim {
            allocations: candidate.allocations.clone(),
            ..self.claim.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_begins_at_the_first_and_wraps_around() {
        let candidate = ClaimCandidate {
            allocations: Vec::new(),
            mappings: None,
        };
        let order = |first, tries| {
            let candidates = Candidates {
                list: vec![candidate.clone(); 3].into(),
                first,
                tries,
            };
            candidates.in_order().map(|(index, _)| index).collect::<Vec<_>>()
        };
        assert_eq!(order(0, 3), [0, 1, 2]);
        assert_eq!(order(2, 3), [2, 0, 1]);
        assert_eq!(order(2, 2), [2, 0]);
    }
}
