//! The candidates of one query of a plan: those that its consumers get, and a few to spare.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::super::placements::claim_candidate;
use super::PlanJob;
use crate::error::{Reasons, Result};
use crate::model::claims::{ClaimCandidate, ClaimQuery, RequestedConsumer, Wanted};
use crate::search::{CandidateSequence, Placement, PlannedUsage, Rank, Scoring, SearchSettings, Snapshot};

/// How many candidates a list has beyond those of its consumers, for those that others take first: with a rank, by
/// which many want the same ones.
const RANKED_SPARES: usize = 15;
/// The same without a rank. Each costs some 2 µs on nested hosts.
const SPARES: usize = 3;

/// The candidates of a query.
pub struct PlannedQuery<'a> {
    /// How many candidates to spare the list has.
    spares: usize,
    pub sequence: CandidateSequence<'a>,
    /// Those that consumers get, each once.
    chosen: Vec<ClaimCandidate>,
    /// By number in the sequence, the index in `chosen`.
    chosen_at: HashMap<usize, usize>,
    /// Why a consumer got none.
    pub refusal: Option<Reasons>,
}

/// The settings of the search for a consumer. With a scoring its uuid alone is the seed, so that a claim gets the place
/// that a dry run showed; without one each call has another seed.
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
    /// `consumer` is the first that has the query. Of equal candidates not all consumers shall get the same: it decides
    /// where the search begins.
    pub fn new(job: &'a PlanJob, query: usize, consumer: &RequestedConsumer, settings: &SearchSettings) -> Self {
        let has_it = |it: &&RequestedConsumer| matches!(it.wanted, Wanted::Query(other) if other == query);
        let consumers = job.consumers().filter(has_it).count();
        let ClaimQuery { request, rank } = &job.request.queries[query];
        let scoring = rank.and_then(Rank::scoring);
        let spares = if scoring.is_some() { RANKED_SPARES } else { SPARES };
        let settings = seeded(settings, scoring, consumer);
        Self {
            spares,
            sequence: CandidateSequence::new(request, scoring, settings, consumers, spares),
            chosen: Vec::new(),
            chosen_at: HashMap::new(),
            refusal: None,
        }
    }

    /// The first choice of the next consumer: its index in the list, and what it takes.
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

    /// The candidates that consumers get, then those to spare.
    pub fn into_list(self, snapshot: &Snapshot) -> Arc<[ClaimCandidate]> {
        let found = self.sequence.into_found();
        let spare = found.filter(|(number, _)| !self.chosen_at.contains_key(number));
        let spare = spare
            .take(self.spares)
            .map(|(_, candidate)| claim_candidate(snapshot, &candidate));
        self.chosen.into_iter().chain(spare).collect()
    }
}
