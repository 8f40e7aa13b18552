//! Candidates of one request for several consumers in sequence: each consumer gets the best candidate in the state that
//! the consumers before leave.
//!
//! Naively, each consumer has a search of its own. But a claim changes the candidates of one tree only. So one search
//! finds the best candidate of each of the best trees, at least one tree for each consumer. The candidates wait in a
//! queue, by cost. If the tree of the best candidate changed since, the search repeats this tree alone.
//!
//! The whole search is repeated in two situations:
//!
//! - The best waiting candidate costs more than the worst candidate found. Trees that were not found may be better now.
//! - A sharing provider changed: the candidates of all trees in its reach change.
//!
//! Without a rank all candidates are equal. Consumers share the found candidates in turns, while the candidates fit.

mod planned_usage;

use std::collections::HashMap;

use super::best::ranked;
use super::candidate::Candidate;
use super::candidates::candidates;
use super::rank::{BestCandidates, BoundQueue, Ranking, Scoring};
use super::request::Request;
use super::settings::SearchSettings;
use super::snapshot::{Slot, Snapshot};
use crate::error::Result;
pub use planned_usage::{PlannedUsage, UsageChange};

/// The found candidates, and the order in which consumers take candidates.
#[derive(Debug)]
pub struct CandidateSequence<'a> {
    request: &'a Request,
    scoring: Option<Scoring>,
    settings: SearchSettings,
    /// The number of consumers still to come.
    consumers: usize,
    /// How many candidates a search finds beyond one for each consumer.
    spare: usize,
    found: Vec<Candidate>,
    /// The number of the first candidate in `found`. Candidates are numbered through all searches.
    first: usize,
    /// By cost; without a rank, by how often a candidate was taken.
    queue: BoundQueue<QueuedCandidate>,
    /// Candidates outside `found` cost at least this.
    max_cost: f64,
    /// By root, the trees that changed since the search.
    changed: HashMap<Slot, ChangedTree>,
    /// Whether nothing changed since the search.
    is_new: bool,
    /// Whether a change concerns only the changed trees: no sharing provider serves in a candidate, or changed since
    /// the search. False before the first search.
    is_local: bool,
    /// Whether the candidates of a search reached a sharing provider. Each consumer then needs a search.
    searches_for_each: bool,
    /// Whether a search found nothing, and nothing was released since.
    is_exhausted: bool,
    is_exact: bool,
}

/// A candidate in the queue, or a tree whose best candidate is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct QueuedCandidate {
    root: Slot,
    /// An index into `found`.
    candidate: Option<usize>,
    /// The number of changes of the tree at the search of the candidate.
    changes: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct ChangedTree {
    changes: u32,
    /// The number of changes before the last search of the tree.
    searched: u32,
    /// The last candidate that was taken.
    candidate: Option<usize>,
}

impl<'a> CandidateSequence<'a> {
    /// For at least one consumer. `spare` candidates more are found.
    pub fn new(
        request: &'a Request,
        scoring: Option<Scoring>,
        settings: SearchSettings,
        consumers: usize,
        spare: usize,
    ) -> Self {
        Self {
            request,
            scoring,
            settings,
            consumers,
            spare,
            found: Vec::new(),
            first: 0,
            queue: BoundQueue::default(),
            max_cost: f64::INFINITY,
            changed: HashMap::new(),
            is_new: false,
            is_local: false,
            searches_for_each: false,
            is_exhausted: false,
            is_exact: true,
        }
    }

    /// The candidate for the next consumer, and its number: equal numbers mean the same candidate. The caller adds the
    /// candidate to `usage`, and passes the change to [`CandidateSequence::note`]. `None` if the request has none now.
    ///
    /// # Errors
    /// As of [`super::best()`].
    pub fn next(&mut self, usage: &mut PlannedUsage) -> Result<Option<(usize, &Candidate)>> {
        loop {
            if let Some(at) = self.next_waiting(usage)? {
                self.consumers = self.consumers.saturating_sub(1);
                return Ok(Some((self.first + at, &self.found[at])));
            }
            if self.is_new || self.is_exhausted {
                return Ok(None);
            }
            self.search(usage)?;
        }
    }

    /// Notes the change of usage since [`CandidateSequence::next`].
    pub fn note(&mut self, change: &UsageChange) {
        self.is_new = false;
        self.is_exhausted &= !change.is_release;
        let Some(scoring) = self.scoring else { return };
        self.is_local &= !change.is_shared;
        if !self.is_local {
            self.searches_for_each |= !self.found.is_empty();
            self.queue.clear();
            return;
        }
        for &root in &change.roots {
            let tree = self.changed.entry(root).or_default();
            tree.changes += 1;
            // A claim never makes a tree better for `Emptiest`. So the tree's candidate may wait until it comes first.
            if scoring != Scoring::Emptiest || change.is_release {
                let waiting = QueuedCandidate {
                    root,
                    candidate: tree.candidate,
                    changes: tree.searched,
                };
                self.queue.push(Scoring::NO_BOUND, waiting);
            }
        }
    }

    /// False if better candidates may exist, as in [`super::Ranked`].
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// The candidates of the last search, best first, and all candidates found since, with their numbers.
    pub fn into_found(self) -> impl Iterator<Item = (usize, Candidate)> {
        (self.first..).zip(self.found)
    }

    /// The index of the best waiting candidate, which waits on behind its equals. `None` if a search may find better.
    fn next_waiting(&mut self, usage: &mut PlannedUsage) -> Result<Option<usize>> {
        while let Some((cost, waiting)) = self.queue.pop_if(|cost| cost <= self.max_cost) {
            let Some(scoring) = self.scoring else {
                if let Some(at) = waiting.candidate
                    && usage.has_room(&self.found[at].placements)
                {
                    self.queue.push(cost + 1.0, waiting);
                    return Ok(Some(at));
                }
                continue;
            };
            let tree = self.changed.get(&waiting.root).copied().unwrap_or_default();
            if waiting.changes == tree.changes && waiting.candidate.is_some() {
                self.queue.push(cost, waiting);
                self.changed.entry(waiting.root).or_default().candidate = waiting.candidate;
                return Ok(waiting.candidate);
            }
            if tree.searched != tree.changes {
                self.search_tree(usage, scoring, waiting, tree.changes)?;
            }
        }
        Ok(None)
    }

    /// Finds the best candidate of one tree again.
    fn search_tree(
        &mut self,
        usage: &mut PlannedUsage,
        scoring: Scoring,
        waiting: QueuedCandidate,
        changes: u32,
    ) -> Result<()> {
        let QueuedCandidate { root, candidate, .. } = waiting;
        self.changed.entry(root).or_default().searched = changes;
        if let Some(at) = candidate
            && usage.is_alone(root)
        {
            let placements = &self.found[at].placements;
            if usage.has_room(placements) {
                let cost = usage.cost(scoring, placements);
                self.queue.push(cost, QueuedCandidate { changes, ..waiting });
            }
            return Ok(());
        }
        let snapshot = usage.snapshot();
        let ranking = self.ranking(scoring, 1);
        let search = candidates(&**snapshot, self.request, &self.settings)?;
        let found = search.in_tree(root).best(&ranking)?;
        self.is_exact &= found.is_exact;
        for (cost, best) in found.all {
            self.is_local &= is_local(snapshot, &best);
            let known = candidate.filter(|&at| self.found[at] == best);
            let at = known.unwrap_or(self.found.len());
            if known.is_none() {
                self.found.push(best);
            }
            let waiting = QueuedCandidate {
                root,
                candidate: Some(at),
                changes,
            };
            self.queue.push(cost, waiting);
        }
        Ok(())
    }

    /// Searches all trees.
    fn search(&mut self, usage: &mut PlannedUsage) -> Result<()> {
        let snapshot = usage.snapshot();
        let consumers = if self.searches_for_each {
            1
        } else {
            self.consumers.max(1)
        };
        let count = consumers + self.spare;
        let BestCandidates { all, is_exact } = match self.scoring {
            Some(scoring) => ranked(snapshot, self.request, &self.settings, &self.ranking(scoring, count))?,
            None => first_candidates(snapshot, self.request, &self.settings, count)?,
        };
        self.is_exact &= is_exact;
        self.max_cost = match all.last() {
            Some((worst, _)) if self.scoring.is_some() && all.len() >= count => *worst,
            _ => f64::INFINITY,
        };
        self.is_local = all.iter().all(|(_, candidate)| is_local(snapshot, candidate));
        let waiting = all.iter().enumerate().map(|(at, (cost, candidate))| {
            let waiting = QueuedCandidate {
                root: snapshot.cached_root(candidate.mappings[0].1[0]),
                candidate: Some(at),
                changes: 0,
            };
            (*cost, waiting)
        });
        self.queue = waiting.collect();
        self.changed.clear();
        self.first += self.found.len();
        self.found = all.into_iter().map(|(_, candidate)| candidate).collect();
        self.is_new = true;
        self.is_exhausted = self.found.is_empty();
        Ok(())
    }

    /// A single consumer gets the best of all candidates, with the next best to spare. Several consumers need
    /// candidates that do not take room from each other.
    fn ranking(&self, scoring: Scoring, count: usize) -> Ranking {
        Ranking {
            scoring,
            count,
            one_per_tree: self.consumers > 1,
        }
    }
}

/// The first candidates of the search, at no cost.
fn first_candidates(
    snapshot: &Snapshot,
    request: &Request,
    settings: &SearchSettings,
    count: usize,
) -> Result<BestCandidates> {
    let request = Request {
        limit: Some(count),
        ..request.clone()
    };
    let mut search = candidates(snapshot, &request, settings)?;
    let (max, _) = search.max_candidates;
    let all: Vec<(f64, Candidate)> = search.by_ref().take(max).map(|candidate| (0.0, candidate)).collect();
    // If some trees were given up, the candidates of the remaining trees are as good.
    if all.len() < max
        && let Err(error) = search.check_complete()
        && (all.is_empty() || settings.interrupt.is_set())
    {
        return Err(error);
    }
    Ok(BestCandidates { all, is_exact: true })
}

/// Whether no sharing provider serves, and so all providers are of one tree.
fn is_local(snapshot: &Snapshot, candidate: &Candidate) -> bool {
    let mut providers = candidate.mappings.iter().flat_map(|(_, providers)| providers.iter());
    providers.all(|&slot| !snapshot.is_sharing(slot))
}
