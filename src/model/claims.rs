//! Place and claim in one call (`POST /v1/claims`): each consumer brings candidates in order of preference, or a query
//! from which candidates are found, and gets the first that fits.
//!
//! - `place` is the driver: plan, submit, answer, or plan again;
//! - `preparation` brings the snapshot up to date;
//! - `plan` finds the candidates of queries, in a version of the snapshot;
//! - `refusal` says why a query has no candidate;
//! - `planned` turns the plan into the command that claims it;
//! - `in_batch` plans inside the writer's batch, after other claims took the places of several plans;
//! - `memory` keeps the answers to calls with an id, so that a call can be repeated.

mod in_batch;
pub mod memory;
mod place;
mod placements;
mod plan;
mod planned;
mod preparation;
mod refusal;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use self::memory::{Memory, RepeatableCall};
use super::allocations::{ConsumerClaim, ProviderShare};
use super::snapshot::stamp::Stamp;
use crate::error::Reasons;
use crate::search::{self, Purpose, Rank};
pub use in_batch::{PlaceInBatch, PlacedInBatch};
pub(super) use place::LOSSES_MAX;
pub(super) use placements::{avoiding, claim_candidate, negated};
pub use plan::{Plan, PlanJob, Planned};
pub use planned::PlannedCall;
pub(super) use refusal::{conditions, of_one};

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
    /// What is said about the repetition of the call, unless it is a dry run: that is always decided as a new call.
    pub fn remembered(&self) -> Option<&RepeatableCall> {
        self.repeatable.as_ref().filter(|_| !self.is_dry_run)
    }
}

/// A consumer of a call.
#[derive(Debug, Clone)]
pub struct RequestedConsumer {
    /// The claim without its allocations.
    pub claim: ConsumerClaim,
    pub wanted: Wanted,
}

/// Where a consumer may be placed.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// At one of these, in order of preference; at least one.
    Candidates(Arc<[ClaimCandidate]>),
    /// Where the query with this index in [`PlaceRequest::queries`] finds a place.
    Query(usize),
}

/// A query for candidates, and which of them is the best.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimQuery {
    pub request: search::Request,
    /// `None`: any.
    pub rank: Option<Rank>,
}

/// The answer to a call.
#[derive(Debug, Clone)]
pub struct Placed {
    /// In the order of the call: what each consumer got, or why it got nothing.
    pub consumers: Vec<ClaimOutcome>,
    /// False if a tree had too many combinations to compare all of them by `rank`.
    pub is_exact: bool,
}

/// The answer to a call that may be a repetition.
#[derive(Debug, Clone)]
pub enum PlaceAnswer {
    Placed(Placed),
    /// The stored answer, as the client got it the first time.
    Repeated(String),
}

/// A request to claim for several consumers, each with a choice. Each consumer sees the claims of those before it.
#[derive(Debug, Clone)]
pub struct ClaimFirst {
    /// Each consumer once.
    pub consumers: Vec<ConsumerChoice>,
    /// If its answer is to be stored.
    pub memory: Option<Arc<Memory>>,
    /// If the candidates were found without reading the change feed: they count only while the snapshot has this stamp.
    pub searched: Option<Stamp>,
    /// About how many rows it writes.
    rows: usize,
}

/// The answer to [`ClaimFirst`].
#[derive(Debug, Clone)]
pub enum ClaimAnswer {
    /// In the order of the consumers.
    Claimed(Arc<[ClaimOutcome]>),
    /// The stored answer to an earlier call. Nothing was claimed.
    Repeated(String),
}

/// The place of a consumer, or why it gets none.
pub type ClaimOutcome = std::result::Result<ClaimedConsumer, Reasons>;

/// A consumer, and the places that it may get.
#[derive(Debug, Clone)]
pub struct ConsumerChoice {
    /// The claim without its allocations, which come from a candidate.
    pub claim: ConsumerClaim,
    pub candidates: Candidates,
    pub limits: Limits,
    /// Whether the whole claim is refused if this consumer gets no place.
    pub is_required: bool,
}

/// Which limits hold for a claim with a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limits {
    /// The normal limit of each class that has one.
    Normal,
    /// The normal limits, for all candidates first. If none is within them, the one that goes least over them.
    NormalFirst,
}

/// Candidates in order of preference. Consumers with the same request share the list, and begin at different ones.
#[derive(Debug, Clone)]
pub struct Candidates {
    /// At least one.
    pub list: Arc<[ClaimCandidate]>,
    /// The index of the most preferred one. After the last one follows the first.
    pub first: usize,
    /// How many of them are tried. It bounds the writer's work for a gang whose list has one for each consumer.
    pub tries: usize,
}

/// One place for one consumer, in the form that a search gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimCandidate {
    /// By provider uuid: class names and amounts, which are at least 1. Not empty.
    pub allocations: Vec<(String, Vec<(String, i64)>)>,
    /// The suffixes of the groups, each with the uuids of the providers that serve it, if the caller named them.
    pub mappings: Option<Vec<(String, Vec<String>)>>,
}

/// What one consumer got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedConsumer {
    /// Uuid.
    pub consumer: String,
    /// The index of the candidate in the list.
    pub candidate: usize,
    pub mappings: Option<Vec<(String, Vec<String>)>>,
    /// The classes that it took beyond their normal limits.
    pub over_normal: Vec<String>,
    /// The consumer's generation after the claim.
    pub generation: i64,
    /// With the providers' generations after the whole call.
    pub providers: Vec<ProviderShare>,
}

impl Placed {
    /// `refused` has the reasons of each consumer of the call that did not claim, `outcomes` those that did, in the
    /// same order.
    pub fn new(refused: Vec<Option<Reasons>>, outcomes: &[ClaimOutcome], is_exact: bool) -> Placed {
        let mut outcomes = outcomes.iter().cloned();
        let outcome = |reasons: Option<Reasons>| match reasons {
            Some(reasons) => Err(reasons),
            None => outcomes.next().unwrap_or_else(|| Err(Reasons::default())),
        };
        Placed {
            consumers: refused.into_iter().map(outcome).collect(),
            is_exact,
        }
    }

    /// How many amounts all consumers together got, each of a class of a provider; one for a consumer without any.
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

/// As many candidates to try count as one row.
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
        let tries: usize = consumers.iter().map(|consumer| consumer.candidates.count()).sum();
        ClaimFirst {
            rows: written + tries / CANDIDATES_OF_A_ROW,
            consumers,
            memory,
            searched: None,
        }
    }

    /// About how many rows it writes. What it takes to try the candidates counts too.
    pub fn rows(&self) -> usize {
        self.rows
    }
}

impl Candidates {
    /// All candidates of a list, from the first one on.
    pub fn all(list: Arc<[ClaimCandidate]>) -> Candidates {
        Candidates {
            tries: list.len(),
            first: 0,
            list,
        }
    }

    /// The candidates in order of preference, each with its index in the list.
    pub fn in_order(&self) -> impl Iterator<Item = (usize, &ClaimCandidate)> {
        let (before, from_first) = self.list.split_at(self.first.min(self.list.len()));
        let from_first = from_first.iter().enumerate().map(|(at, it)| (before.len() + at, it));
        from_first.chain(before.iter().enumerate()).take(self.tries)
    }

    /// Whether each candidate that is tried names one of these providers. An empty list has no such candidate.
    pub fn are_all_on(&self, providers: &BTreeSet<String>) -> bool {
        !self.list.is_empty() && self.in_order().all(|(_, candidate)| candidate.names_any(providers))
    }

    /// How many candidates are tried at most.
    fn count(&self) -> usize {
        self.list.len().min(self.tries)
    }

    /// How many rows of `allocations` a candidate has at most.
    fn allocation_rows(&self) -> usize {
        let rows =
            |candidate: &ClaimCandidate| candidate.allocations.iter().map(|(_, resources)| resources.len()).sum();
        self.list.iter().map(rows).max().unwrap_or_default()
    }
}

impl ClaimCandidate {
    /// Whether it names one of these providers.
    pub fn names_any(&self, providers: &BTreeSet<String>) -> bool {
        !providers.is_empty() && self.allocations.iter().any(|(uuid, _)| providers.contains(uuid))
    }
}

impl Limits {
    /// Those of a purpose.
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

    /// The claim of one of the candidates.
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
