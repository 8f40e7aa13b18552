//! The best candidates of a request, with their scores.

use std::ops::Deref;

use super::candidate::{Candidate, Placement};
use super::candidates::candidates;
use super::rank::{BestCandidates, CandidateLoad, Ranking, Scoring};
use super::request::Request;
use super::settings::SearchSettings;
use super::shown_providers::ShownProviders;
use super::snapshot::{BlockSlots, Snapshot};
use crate::error::Result;

/// A candidate with its score.
#[derive(Clone, Debug)]
pub struct Scored {
    pub candidate: Candidate,
    pub score: f64,
    /// The inputs of the score, in the order of the candidate's placements.
    pub loads: Vec<CandidateLoad>,
}

/// The best candidates of a request.
#[derive(Clone, Debug)]
pub struct Ranked {
    /// Best first.
    pub best: Vec<Scored>,
    /// False if better or more candidates may exist: a tree had more candidates than
    /// [`SearchSettings::max_combinations`], or the search of a tree was given up.
    pub is_exact: bool,
}

/// The best `count` candidates of a request; at least one, if there is any. The limits of the request and the settings
/// do not count.
///
/// # Errors
/// As of [`candidates`] and `Selection`. Trees that were given up are no error if candidates were found.
pub fn best<S: Deref<Target = Snapshot>>(
    snapshot: S,
    request: &Request,
    scoring: Scoring,
    count: usize,
    settings: &SearchSettings,
) -> Result<Ranked> {
    let ranking = Ranking {
        scoring,
        count,
        one_per_tree: false,
    };
    let found = ranked(&snapshot, request, settings, &ranking)?;
    let load = |&Placement { slot, class, amount }: &Placement| {
        let (limit, used) = snapshot.limit_and_used(slot, class);
        let used = used.saturating_add(amount);
        CandidateLoad {
            slot,
            class,
            used,
            limit,
        }
    };
    let scored = |(_, candidate): (f64, Candidate)| Scored {
        loads: candidate.placements.iter().map(load).collect(),
        score: scoring.score(&snapshot, &candidate.placements),
        candidate,
    };
    Ok(Ranked {
        best: found.all.into_iter().map(scored).collect(),
        is_exact: found.is_exact,
    })
}

/// As [`best`], with costs instead of scores.
pub(super) fn ranked(
    snapshot: &Snapshot,
    request: &Request,
    settings: &SearchSettings,
    ranking: &Ranking,
) -> Result<BestCandidates> {
    let mut candidates = candidates(snapshot, request, settings)?;
    let found = candidates.best(ranking)?;
    if found.all.is_empty() {
        candidates.check_complete()?;
    }
    Ok(found)
}

impl Ranked {
    /// The providers that summaries must show: the providers of the candidates, each once.
    pub fn summaries(&self, snapshot: &Snapshot, request: &Request) -> Vec<BlockSlots> {
        let mut shown = ShownProviders::new(snapshot, request.nested && snapshot.has_trees());
        for scored in &self.best {
            shown.add(snapshot, &scored.candidate);
        }
        shown.into_blocks(snapshot)
    }
}
