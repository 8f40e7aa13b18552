//! Ranks candidates: the best of all candidates of a request, not the best of the first.
//!
//! Naively, each candidate would be built, scored and sorted: most of the time would go into candidates without a
//! chance. Instead the search keeps the best in a bounded heap (`best_of`), and knows the worst kept candidate:
//!
//! - blocks are visited in the order of lower bounds of their costs (`bound_queue`), until no bound is better;
//! - single providers are scored a block at a time, in columns (`costs`). Only providers better than the worst
//!   candidate are visited one by one;
//! - trees are searched in the order of their own bounds (`trees/roots`);
//! - a candidate is built when the search has ended.
//!
//! Of equal candidates the first wins. The walk begins where the seed says, so callers that must not all get the same
//! candidate need seeds of their own.

mod best_of;
mod bound_queue;
mod costs;

use super::candidate::Candidate;
use super::snapshot::{ClassId, Slot};

pub(super) use best_of::BestOf;
pub(super) use bound_queue::BoundQueue;
pub(super) use costs::{RankCost, lesser};

/// Which candidates of a request a caller prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    Fullest,
    Emptiest,
    Tightest,
    /// No preference: the first candidates of a search with a seed that differs each time.
    Random,
}

impl Rank {
    /// All ranks with their names.
    pub const ALL: [(&'static str, Rank); 4] = [
        ("fullest", Rank::Fullest),
        ("emptiest", Rank::Emptiest),
        ("tightest", Rank::Tightest),
        ("random", Rank::Random),
    ];

    pub fn by_name(name: &str) -> Option<Rank> {
        let found = Rank::ALL.iter().find(|(known, _)| *known == name);
        found.map(|&(_, rank)| rank)
    }

    /// How candidates are scored; `None` if they need no score.
    pub fn scoring(self) -> Option<Scoring> {
        match self {
            Rank::Fullest => Some(Scoring::Fullest),
            Rank::Emptiest => Some(Scoring::Emptiest),
            Rank::Tightest => Some(Scoring::Tightest),
            Rank::Random => None,
        }
    }
}

/// The score of a candidate, and which score is best.
///
/// Scores come from values of `CandidateLoad`, one for each provider and class in the candidate. A share is
/// `used / limit`. A limit of zero or less counts as full: its share is 1, and its free share 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scoring {
    /// The greatest share; the highest score is best.
    Fullest,
    /// The greatest share; the lowest score is best.
    Emptiest,
    /// The sum of `(limit - used) / limit`; the lowest score is best.
    Tightest,
}

/// The usage of one provider and class as if a candidate were claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandidateLoad {
    pub slot: Slot,
    pub class: ClassId,
    /// After the claim.
    pub used: i64,
    /// [`super::Inventory::limit`].
    pub limit: i64,
}

/// The goal of a search that ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranking {
    pub scoring: Scoring,
    /// The number of candidates. At least one candidate is kept, if there is any.
    pub count: usize,
    /// Whether only the best candidate of each tree counts. If each candidate is one provider, all candidates count.
    pub one_per_tree: bool,
}

/// The best candidates with their costs, best first.
#[derive(Debug)]
pub(super) struct BestCandidates {
    pub all: Vec<(f64, Candidate)>,
    pub is_exact: bool,
}
