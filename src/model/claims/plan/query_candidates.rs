//! The candidates of one query in a plan: the candidates of the consumers, and a few to spare.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use crate::error::{Reasons, Result};
use crate::model::claims::placements::claim_candidate;
use crate::model::claims::{ClaimCandidate, ClaimQuery, RequestedConsumer};
use crate::search::{CandidateSequence, Placement, PlannedUsage, Rank, Scoring, SearchSettings, Snapshot};

/// Spare candidates of a list with a rank, for candidates that other claims take first. Claims with a rank compete for
/// the same candidates.
const RANKED_SPARES: usize = 15;
/// Spare candidates of a list without a rank. Each costs some 2 µs on nested hosts.
const SPARES: usize = 3;

/// The candidates of a query.
pub struct PlannedQuery<'a> {
    /// The number of spare candidates in the list.
    spares: usize,
    pub sequence: CandidateSequence<'a>,
    /// The candidates of consumers, each once.
    chosen: Vec<ClaimCandidate>,
    /// By number in the sequence, the index in `chosen`.
    chosen_at: HashMap<usize, usize>,
    /// Why a consumer got no candidate.
    pub refusal: Option<Reasons>,
}

/// The settings of the search for a consumer. With a scoring, the seed is the consumer's uuid alone, so a claim gets
/// the place of a dry run before. Without a scoring, each call has a different seed.
pub(super) fn seeded(
    settings: &SearchSettings,
    scoring: Option<Scoring>,
    consumer: &RequestedConsumer,
) -> SearchSettings {
    let mut hasher = DefaultHasher::new();
    consumer.claim.consumer.hash(&mut hasher);
    let hash = hasher.finish();
    SearchSettings {
        seed: scoring.map_or(hash ^ settings.seed, |_| hash),
        ..settings.clone()
    }
}

impl<'a> PlannedQuery<'a> {
    /// `first` is the first of `consumers` consumers with the query, and decides where the search begins. So different
    /// consumers get different candidates of several equal candidates.
    pub fn new(
        ClaimQuery { request, rank }: &'a ClaimQuery,
        consumers: usize,
        first: &RequestedConsumer,
        settings: &SearchSettings,
    ) -> Self {
        let scoring = rank.and_then(Rank::scoring);
        let spares = if scoring.is_some() { RANKED_SPARES } else { SPARES };
        let settings = seeded(settings, scoring, first);
        Self {
            spares,
            sequence: CandidateSequence::new(request, scoring, settings, consumers, spares),
            chosen: Vec::new(),
            chosen_at: HashMap::new(),
            refusal: None,
        }
    }

    /// The first choice of the next consumer: the index in the list, and the placements.
    pub fn choose(&mut self, usage: &mut PlannedUsage, snapshot: &Snapshot) -> Result<Option<(usize, Vec<Placement>)>> {
        let Some((number, candidate)) = self.sequence.next(usage)? else {
            return Ok(None);
        };
        let chosen = &mut self.chosen;
        let first = *self.chosen_at.entry(number).or_insert_with(|| {
            chosen.push(claim_candidate(snapshot, candidate));
            chosen.len() - 1
        });
        Ok(Some((first, candidate.placements.clone())))
    }

    /// The candidates of consumers, and after them the spare candidates.
    pub fn into_list(self, snapshot: &Snapshot) -> Arc<[ClaimCandidate]> {
        let found = self.sequence.into_found();
        let spare = found.filter(|(number, _)| !self.chosen_at.contains_key(number));
        let spare = spare
            .take(self.spares)
            .map(|(_, candidate)| claim_candidate(snapshot, &candidate));
        self.chosen.into_iter().chain(spare).collect()
    }
}
