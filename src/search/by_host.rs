//! The offer of each host for a request, for callers that choose hosts by their own rules; and the hosts that a request
//! may use if room does not count.
//!
//! The naive search builds the best candidate of each host, although the caller takes five of 100,000 hosts. So a
//! search returns numbers alone, in the order of slots. A candidate is built when the host is chosen
//! ([`best_in_host`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::candidate::{Candidate, Placement};
use super::candidates::{CandidateIter, SearchVariant, candidates, candidates_by};
use super::described_filter::HostFilter;
use super::rank::Scoring;
use super::request::{HostConditions, Request};
use super::settings::SearchSettings;
use super::snapshot::{AmountRules, AmountRulesByClass, BlockSlots, ClassId, Slot, Snapshot};
use crate::error::Result;

/// The cost of the best candidate of each host with a candidate.
#[derive(Clone, Debug)]
pub struct HostCosts {
    /// By the index of the root's slot. NaN stands for no candidate; no cost is NaN.
    costs: Vec<f64>,
    /// False if better candidates, or candidates of more hosts, may exist.
    pub is_exact: bool,
}

impl HostCosts {
    fn none(snapshot: &Snapshot) -> HostCosts {
        HostCosts {
            costs: vec![f64::NAN; snapshot.slots()],
            is_exact: true,
        }
    }

    /// The lowest cost is best; 0 without a scoring. `None` if the host has no candidate.
    pub fn of(&self, host: Slot) -> Option<f64> {
        let cost = self.costs[host.index()];
        (!cost.is_nan()).then_some(cost)
    }

    fn add(&mut self, host: Slot, cost: f64) {
        let least = &mut self.costs[host.index()];
        if least.is_nan() || cost < *least {
            *least = cost;
        }
    }
}

/// The costs of the best candidates of all hosts.
///
/// # Errors
/// As of [`super::best()`].
pub fn best_of_each_host(
    snapshot: &Snapshot,
    request: &Request,
    scoring: Option<Scoring>,
    settings: &SearchSettings,
) -> Result<HostCosts> {
    let mut found = HostCosts::none(snapshot);
    found.is_exact = each_host(snapshot, request, scoring, settings, |host, cost, _| {
        found.add(host, cost)
    })?;
    Ok(found)
}

/// Calls `found` with the host and the cost of candidates, among them the best candidate of each host. Returns whether
/// all candidates were compared.
///
/// # Errors
/// As of [`super::best()`].
pub fn each_host(
    snapshot: &Snapshot,
    request: &Request,
    scoring: Option<Scoring>,
    settings: &SearchSettings,
    found: impl FnMut(Slot, f64, &dyn Fn() -> Candidate),
) -> Result<bool> {
    each_of(candidates(snapshot, request, settings)?, scoring, found)
}

/// A search whose candidates are found tree by tree, also if only sharing providers of further trees serve. With
/// `only`, the search is of this host alone.
///
/// # Errors
/// As of [`candidates`].
pub(super) fn search_of_trees<'s>(
    snapshot: &'s Snapshot,
    request: &Request,
    amount_rules: AmountRulesByClass,
    only: Option<Slot>,
    settings: &SearchSettings,
) -> Result<CandidateIter<&'s Snapshot>> {
    let variant = SearchVariant {
        by_tree: true,
        amount_rules,
    };
    let search = candidates_by(&variant, snapshot, request, settings)?;
    Ok(match only {
        Some(host) => search.in_tree(host),
        None => search,
    })
}

/// The hosts with a candidate if room does not count, each with the cost 0.
///
/// # Errors
/// As of [`super::best()`].
pub fn eligible_hosts(snapshot: &Snapshot, request: &Request, settings: &SearchSettings) -> Result<HostCosts> {
    let units_alone = AmountRules {
        units: true,
        capacity: None,
    };
    let variant = SearchVariant {
        by_tree: false,
        amount_rules: AmountRulesByClass::equal(units_alone),
    };
    let mut found = HostCosts::none(snapshot);
    let search = candidates_by(&variant, snapshot, request, settings)?;
    found.is_exact = each_of(search, None, |host, cost, _| found.add(host, cost))?;
    Ok(found)
}

/// The hosts with these properties and domains, in the order of memory. States do not count.
pub fn hosts_within<'s>(snapshot: &'s Snapshot, conditions: &HostConditions) -> impl Iterator<Item = Slot> + use<'s> {
    let filter = HostFilter::new(snapshot, conditions);
    (0..snapshot.blocks.len()).flat_map(move |block| {
        let hosts = snapshot.host_lanes(block);
        let matching = |filter: &HostFilter| filter.matching(snapshot, block, hosts);
        BlockSlots::new(block, filter.as_ref().map_or(hosts, matching))
    })
}

/// The best candidate of one host.
///
/// # Errors
/// As of [`super::best()`].
pub fn best_in_host(
    snapshot: &Snapshot,
    request: &Request,
    scoring: Option<Scoring>,
    host: Slot,
    settings: &SearchSettings,
) -> Result<Option<Candidate>> {
    let mut search = candidates(snapshot, request, settings)?;
    // A sharing provider may serve a foreign tree alone, whose root meets conditions that its own root does not meet.
    if !snapshot.tree(host).into_iter().any(|slot| snapshot.is_sharing(slot)) {
        search = search.in_tree(host);
    }
    let mut best: Option<(f64, Candidate)> = None;
    each_of(search, scoring, |its_host, cost, candidate| {
        if its_host == host && best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, candidate()));
        }
    })?;
    Ok(best.map(|(_, candidate)| candidate))
}

/// As [`each_host`], of a search that has not begun.
fn each_of(
    mut search: CandidateIter<&Snapshot>,
    scoring: Option<Scoring>,
    mut found: impl FnMut(Slot, f64, &dyn Fn() -> Candidate),
) -> Result<bool> {
    let mut has_any = false;
    let is_exact = search.each_host(scoring, |host, cost, candidate| {
        has_any = true;
        found(host, cost, candidate);
    })?;
    if !has_any {
        search.check_complete()?;
    }
    Ok(is_exact)
}

impl Snapshot {
    /// All hosts, in the order of memory: the roots without the sharing providers, which only serve hosts.
    pub fn hosts(&self) -> impl Iterator<Item = Slot> {
        (0..self.blocks.len()).flat_map(|block| BlockSlots::new(block, self.host_lanes(block)))
    }

    /// Whether a provider is a host.
    pub fn is_host(&self, slot: Slot) -> bool {
        self.parent(slot).is_none() && !self.is_sharing(slot)
    }

    /// The hosts of a block.
    fn host_lanes(&self, block: usize) -> u64 {
        let sharing = self.sharing_of_block(block);
        sharing.fold(self.blocks.get(block).roots, |lanes, slot| lanes & !slot.bit())
    }

    /// The hosts with a path in a dimension, in groups with the same path. No group is empty.
    pub fn hosts_by_domain(&self, dimension: &str) -> impl Iterator<Item = (&Arc<str>, impl Iterator<Item = Slot>)> {
        let blocks = self.property_name(dimension).map(|name| (name, 0..self.blocks.len()));
        blocks.into_iter().flat_map(move |(name, blocks)| {
            blocks.flat_map(move |block| {
                let hosts = self.host_lanes(block);
                let paths = self.described_roots(block).paths(name);
                let paths = paths.map(move |(path, lanes)| (path, lanes & hosts));
                let paths = paths.filter(|(_, lanes)| *lanes != 0);
                paths.map(move |(path, lanes)| (path, BlockSlots::new(block, lanes)))
            })
        })
    }

    /// Whether a host has a domain of this dimension.
    pub fn has_dimension(&self, name: &str) -> bool {
        self.hosts_by_domain(name).next().is_some()
    }

    /// The names of the dimensions in which a host has a domain.
    pub fn dimensions(&self) -> BTreeSet<&Arc<str>> {
        let blocks = (0..self.blocks.len()).flat_map(|block| {
            let hosts = self.host_lanes(block);
            let dimensions = self.described_roots(block).dimensions();
            dimensions.filter(move |(_, lanes)| lanes & hosts != 0)
        });
        blocks.map(|(id, _)| self.property_text(id)).collect()
    }

    /// The root of the serving tree. Providers that share their resources with other trees do not count, unless only
    /// such providers serve. `None` without placements.
    pub(super) fn host_of(&self, placements: &[Placement]) -> Option<Slot> {
        let slots = || placements.iter().map(|placement| placement.slot);
        let own = slots().find(|&slot| !self.is_sharing(slot));
        let any = own.or_else(|| slots().next());
        any.map(|slot| self.cached_root(slot))
    }

    /// Whether a request has at most one candidate in this host: the tree is one provider, and no provider is shared.
    pub fn is_alone(&self, host: Slot) -> bool {
        self.children(host).is_empty() && !self.has_sharing()
    }

    /// The sum of the free capacity of a class on the providers of these hosts and on all sharing providers. `enough`
    /// if the sum is no less.
    pub fn free_of(&self, class: ClassId, hosts: impl Iterator<Item = Slot>, enough: i64) -> i64 {
        let free = |slot: Slot| {
            let (limit, used) = self.limit_and_used(slot, class);
            limit.saturating_sub(used).max(0)
        };
        let shared_free = self.sharing().fold(0_i64, |sum, slot| sum.saturating_add(free(slot)));
        let own = hosts.flat_map(|host| self.tree(host));
        let mut own = own.filter(|slot| !self.is_sharing(*slot));
        let all = own.try_fold(shared_free, |sum, slot| {
            let sum = sum.saturating_add(free(slot));
            (sum < enough).then_some(sum)
        });
        all.unwrap_or(enough)
    }
}
