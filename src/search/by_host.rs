//! The best candidate of each host, for callers that choose hosts by rules of their own; and which hosts a request may use at
//! all, if room does not count.

use super::candidates::{Candidate, SearchSettings, candidates};
use super::rank::{Ranking, Scoring, ranked};
use super::request::Request;
use super::snapshot::{Slot, Snapshot};
use crate::error::Result;

/// The best candidate of one host.
#[derive(Clone, Debug)]
pub struct HostCandidate {
    pub host: Slot,
    /// The lowest is best; 0 without a scoring.
    pub cost: f64,
    pub candidate: Candidate,
}

/// The candidates of all hosts that have one, each host once, and whether all candidates were compared.
///
/// # Errors
/// As of [`super::best`].
pub fn best_of_each_host(
    snapshot: &Snapshot,
    request: &Request,
    scoring: Option<Scoring>,
    settings: &SearchSettings,
) -> Result<(Vec<HostCandidate>, bool)> {
    let found = ranked(snapshot, request, settings, &ranking(scoring, usize::MAX, settings))?;
    let mut has_one = vec![false; snapshot.slots()];
    let mut best = Vec::with_capacity(found.all.len());
    for (cost, candidate) in found.all {
        let host = host_of(snapshot, &candidate);
        if !std::mem::replace(&mut has_one[host.index()], true) {
            let cost = if scoring.is_some() { cost } else { 0.0 };
            best.push(HostCandidate { host, cost, candidate });
        }
    }
    Ok((best, found.is_exact))
}

/// The best candidate in the tree of one host.
///
/// # Errors
/// As of [`super::best`].
pub fn best_in_host(
    snapshot: &Snapshot,
    request: &Request,
    scoring: Option<Scoring>,
    host: Slot,
    settings: &SearchSettings,
) -> Result<Option<Candidate>> {
    let found = candidates(snapshot, request, settings, ())?
        .in_tree(host)
        .best(&ranking(scoring, 1, settings))?;
    Ok(found.all.into_iter().next().map(|(_, candidate)| candidate))
}

/// The root of the tree that serves a candidate. Providers that share their resources with other trees do not count, unless
/// there are no others.
fn host_of(snapshot: &Snapshot, candidate: &Candidate) -> Slot {
    let slots = || candidate.placements.iter().map(|placement| placement.slot);
    let own = slots().find(|&slot| !snapshot.is_sharing(slot));
    let any = own.or_else(|| slots().next());
    any.map_or_else(|| candidate.mappings[0].1[0], |slot| snapshot.cached_root(slot))
}

fn ranking(scoring: Option<Scoring>, count: usize, settings: &SearchSettings) -> Ranking {
    Ranking {
        scoring: scoring.unwrap_or(Scoring::Tightest),
        count,
        max_combinations: settings.max_combinations,
        one_per_tree: true,
    }
}

impl Snapshot {
    /// Whether the tree of this host is one provider, and no other is shared: then a request has at most one candidate there.
    pub fn is_alone(&self, host: Slot) -> bool {
        self.children(host).is_empty() && self.sharing().next().is_none()
    }

    /// Whether a provider shares its resources with other trees.
    pub fn shares(&self, slot: Slot) -> bool {
        self.is_sharing(slot)
    }

    /// The sum of what the providers of these hosts, and those that share their resources, have free of a class.
    pub fn free_of(&self, class: super::ClassId, hosts: impl Iterator<Item = Slot>) -> i64 {
        let free = |slot: Slot| {
            let (limit, used) = self.limit_and_used(slot, class);
            limit.saturating_sub(used).max(0)
        };
        let mut shared: Vec<Slot> = self.sharing().collect();
        shared.sort_unstable();
        let own = hosts.flat_map(|host| self.tree(host));
        let own = own.filter(|slot| shared.binary_search(slot).is_err());
        let own = own.fold(0_i64, |sum, slot| sum.saturating_add(free(slot)));
        shared.iter().fold(own, |sum, &slot| sum.saturating_add(free(slot)))
    }
}
