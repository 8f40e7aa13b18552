//! The candidates with the least amount above the normal limits, for consumers that find no room within the limits.
//!
//! All candidates within the hard limits are compared, but only if no provider has normal room. The naive solution
//! compares all candidates for each consumer of a gang again, which takes seconds in a large cloud. But a consumer
//! changes one host, and only the candidates of this host are compared again. For a host the search keeps the cost of
//! the best candidate; the candidate of the chosen host is searched again.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::candidate::Candidate;
use super::candidates::{CandidateIter, candidates};
use super::purpose::Purpose;
use super::rank::{RankCost, Scoring};
use super::request::Request;
use super::sequence::{PlannedUsage, UsageChange};
use super::settings::SearchSettings;
use super::snapshot::{Slot, Snapshot};
use crate::error::Result;

/// At most this many candidates are compared.
const MAX_COMPARED: usize = 1 << 17;

/// The best candidate, and whether all candidates were compared.
#[derive(Debug)]
pub struct LeastOver {
    pub candidate: Option<Candidate>,
    pub is_exact: bool,
}

/// The candidates of one request that go least over the normal limits, for one consumer after the other.
#[derive(Debug, Default)]
pub struct OverSequence {
    scoring: Option<Scoring>,
    /// By host, the quality of the host's best candidate.
    hosts: HashMap<Slot, Quality>,
    /// The same qualities, the best first.
    order: BTreeSet<(Quality, Slot)>,
    /// The hosts whose usage has changed since the last search.
    changed: Vec<Slot>,
    /// Whether the candidates of all unchanged hosts are known.
    is_known: bool,
    is_exact: bool,
    /// The number of compared candidates.
    compared: usize,
}

/// The quality of a candidate; less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Quality {
    over: i64,
    cost: RankCost,
    /// The number of candidates compared before. Of equal candidates the first is best, so a gang is on several hosts.
    number: usize,
}

impl OverSequence {
    pub fn new(scoring: Option<Scoring>) -> OverSequence {
        OverSequence {
            scoring,
            ..OverSequence::default()
        }
    }

    /// Notes the change of usage since [`OverSequence::next`].
    pub fn note(&mut self, change: &UsageChange) {
        self.is_known &= !change.is_shared;
        self.changed.extend_from_slice(&change.roots);
    }

    /// The candidate in `snapshot` that adds the least amount over the limits of `normal`; of equal amounts the best by
    /// the scoring, then the first.
    ///
    /// # Errors
    /// As of [`candidates`]; [`crate::error::Error::BadRequest`] if the search found no candidate and was not complete.
    pub fn next(
        &mut self,
        normal: &PlannedUsage,
        snapshot: &Snapshot,
        request: &Request,
        settings: &SearchSettings,
    ) -> Result<LeastOver> {
        let mut changed = std::mem::take(&mut self.changed);
        let search = || candidates(snapshot, request, settings);
        if !self.is_known {
            self.hosts.clear();
            self.order.clear();
            let found = self.compare(search()?, normal, (snapshot, settings))?;
            self.is_exact = found.is_exact;
            // A sharing provider has candidates on many hosts. Hosts that were not reached are compared the next time.
            self.is_known = found.is_exact && !snapshot.has_sharing();
            return Ok(found);
        }
        changed.sort_unstable();
        changed.dedup();
        for host in changed {
            if let Some(quality) = self.hosts.remove(&host) {
                self.order.remove(&(quality, host));
            }
            let found = self.compare(search()?.in_tree(host), normal, (snapshot, settings))?;
            self.is_exact &= found.is_exact;
        }
        let best = self.order.first().map(|&(_, host)| host);
        let found = best.map(|host| self.compare(search()?.in_tree(host), normal, (snapshot, settings)));
        Ok(LeastOver {
            candidate: found.transpose()?.and_then(|found| found.candidate),
            is_exact: self.is_exact,
        })
    }

    /// Finds the best candidate, and keeps the quality of the best candidate of each host.
    fn compare(
        &mut self,
        mut search: CandidateIter<&Snapshot>,
        normal: &PlannedUsage,
        (snapshot, settings): (&Snapshot, &SearchSettings),
    ) -> Result<LeastOver> {
        let before = self.compared;
        let mut best: Option<(Quality, Candidate)> = None;
        for candidate in search.by_ref().take(MAX_COMPARED) {
            self.compared += 1;
            let Some(host) = snapshot.host_of(&candidate.placements) else {
                continue;
            };
            let cost = |scoring: Scoring| scoring.cost(snapshot, &candidate.placements);
            let quality = Quality {
                over: normal.added_over(&candidate.placements),
                cost: RankCost(self.scoring.map_or(0.0, cost)),
                number: self.compared,
            };
            self.keep(host, quality);
            if best.as_ref().is_none_or(|(known, _)| quality < *known) {
                best = Some((quality, candidate));
            }
        }
        let complete = search.check_complete();
        let is_exact = complete.is_ok() && self.compared - before < MAX_COMPARED;
        if self.hosts.is_empty() || settings.interrupt.has_ended() {
            complete?;
        }
        Ok(LeastOver {
            candidate: best.map(|(_, candidate)| candidate),
            is_exact,
        })
    }

    fn keep(&mut self, host: Slot, quality: Quality) {
        if self.hosts.get(&host).is_some_and(|known| *known <= quality) {
            return;
        }
        if let Some(known) = self.hosts.insert(host, quality) {
            self.order.remove(&(known, host));
        }
        self.order.insert((quality, host));
    }
}

/// The version of a snapshot for the candidates of a purpose: with the normal limits in place of capacities. If the
/// purpose may exceed the normal limits and no candidate is within the limits, the snapshot itself.
///
/// # Errors
/// As of [`candidates`].
pub fn for_purpose(
    snapshot: &Arc<Snapshot>,
    purpose: Purpose,
    request: &Request,
    settings: &SearchSettings,
) -> Result<Arc<Snapshot>> {
    if !snapshot.catalog().has_normal_limits() {
        return Ok(Arc::clone(snapshot));
    }
    let normal = Arc::new(snapshot.at_normal_limits());
    if purpose.may_exceed_normal() && candidates(&*normal, request, settings)?.next().is_none() {
        return Ok(Arc::clone(snapshot));
    }
    Ok(normal)
}
