//! The candidates that go least over the normal limits, for consumers that find no room within them.
//!
//! All candidates within the hard limits are compared. That happens only if nothing has normal room. The naive solution
//! compares them for each consumer of a gang again, which takes seconds in a large cloud. But what a consumer takes
//! changes one host, and only the candidates there are compared again.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use super::candidates::{Candidate, Candidates, SearchSettings, candidates};
use super::purpose::Purpose;
use super::rank::Scoring;
use super::request::Request;
use super::sequence::{PlannedUsage, UsageChange};
use super::snapshot::{Slot, Snapshot};
use crate::error::Result;

/// At most this many candidates are compared.
const MAX_COMPARED: usize = 1 << 17;

/// The candidate that was found, and whether all were compared.
#[derive(Debug)]
pub struct LeastOver {
    pub candidate: Option<Candidate>,
    pub is_exact: bool,
}

/// The candidates of one request that go least over the normal limits, for one consumer after the other.
#[derive(Debug)]
pub struct OverSequence {
    scoring: Option<Scoring>,
    /// The best candidate of each host.
    hosts: BTreeMap<Slot, Best>,
    /// The hosts whose usage has changed since.
    changed: Vec<Slot>,
    /// Whether the candidates of all other hosts are as they were.
    is_known: bool,
    is_exact: bool,
    /// The number of candidates that were compared.
    compared: usize,
}

/// The best candidate of a host.
#[derive(Debug)]
struct Best {
    over: i64,
    cost: f64,
    /// How many were compared before it. Of equal ones the first is the best: so a gang is on different hosts.
    number: usize,
    candidate: Candidate,
}

impl Best {
    fn is_better(&self, other: &Best) -> bool {
        (self.over, self.cost, self.number) < (other.over, other.cost, other.number)
    }
}

impl OverSequence {
    pub fn new(scoring: Option<Scoring>) -> OverSequence {
        OverSequence {
            scoring,
            hosts: BTreeMap::new(),
            changed: Vec::new(),
            is_known: false,
            is_exact: true,
            compared: 0,
        }
    }

    /// Notes what changed in the usage since [`OverSequence::next`].
    pub fn note(&mut self, change: &UsageChange) {
        self.is_known &= !change.is_shared;
        self.changed.extend_from_slice(&change.roots);
    }

    /// The candidate in `snapshot` that adds the least amount over the limits of `normal`; of several such, the best by
    /// the scoring, then the first.
    ///
    /// # Errors
    /// As of [`candidates`]; [`crate::error::Error::BadRequest`] if the search found none and was not complete.
    pub fn next(
        &mut self,
        normal: &PlannedUsage,
        snapshot: &Snapshot,
        request: &Request,
        settings: &SearchSettings,
    ) -> Result<LeastOver> {
        let mut changed = std::mem::take(&mut self.changed);
        if self.is_known {
            changed.sort_unstable();
            changed.dedup();
            for host in changed {
                self.hosts.remove(&host);
                let search = candidates(snapshot, request, settings, ())?.in_tree(host);
                self.is_exact &= self.compare(search, normal, (snapshot, settings))?;
            }
        } else {
            self.hosts.clear();
            let search = candidates(snapshot, request, settings, ())?;
            self.is_exact = self.compare(search, normal, (snapshot, settings))?;
            // A provider that shares its resources has candidates on many hosts.
            self.is_known = !snapshot.has_sharing();
        }
        let best = self.hosts.values();
        let best = best.reduce(|best, other| if other.is_better(best) { other } else { best });
        Ok(LeastOver {
            candidate: best.map(|best| best.candidate.clone()),
            is_exact: self.is_exact,
        })
    }

    /// Keeps the best candidate of each host. Returns whether all were compared.
    fn compare(
        &mut self,
        mut search: Candidates<&Snapshot, ()>,
        normal: &PlannedUsage,
        (snapshot, settings): (&Snapshot, &SearchSettings),
    ) -> Result<bool> {
        let before = self.compared;
        for candidate in search.by_ref().take(MAX_COMPARED) {
            self.compared += 1;
            let Some(host) = snapshot.host_of(&candidate.placements) else {
                continue;
            };
            let found = Best {
                over: normal.added_over(&candidate.placements),
                cost: self
                    .scoring
                    .map_or(0.0, |scoring| scoring.cost(snapshot, &candidate.placements)),
                number: self.compared,
                candidate,
            };
            match self.hosts.entry(host) {
                Entry::Vacant(entry) => {
                    entry.insert(found);
                }
                Entry::Occupied(mut known) if found.is_better(known.get()) => {
                    known.insert(found);
                }
                Entry::Occupied(_) => {}
            }
        }
        let complete = search.check_complete();
        let is_complete = complete.is_ok();
        if self.hosts.is_empty() || settings.interrupt.has_ended() {
            complete?;
        }
        Ok(is_complete && self.compared - before < MAX_COMPARED)
    }
}

/// The version of a snapshot in which candidates for a purpose are searched: with the normal limits in place of
/// capacities. If the purpose may go over them and nothing fits within them, the snapshot itself.
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
    if purpose.may_exceed_normal() && candidates(&*normal, request, settings, ())?.next().is_none() {
        return Ok(Arc::clone(snapshot));
    }
    Ok(normal)
}
