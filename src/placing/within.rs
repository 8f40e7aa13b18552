//! The rule `within`: all replicas of a workload are in one domain of a dimension.
//!
//! The domains of the rule are the whole paths of hosts, as for `Affinity`. A domain contains the domains below.

use std::collections::{BTreeSet, HashMap};

use super::cluster::{Cluster, PlacedReplica, Standing};
use super::domain_tree::{DomainId, DomainTree};
use super::rules::{Axis, Rule, hard_within_rule};

/// A domain of a dimension. For [`Axis::Host`] a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisDomain {
    pub axis: Axis,
    pub domain: DomainId,
}

impl AxisDomain {
    /// Whether a host is in the domain.
    pub fn has(self, cluster: &Cluster, host: u32) -> bool {
        around(cluster, self.axis, host).any(|domain| domain == self.domain.0)
    }

    /// The indices of the replicas with a host outside of the domain, ascending.
    pub fn outside(self, cluster: &Cluster, standing: Standing) -> Vec<usize> {
        let outside = standing.hosts().filter(|(_, host)| !self.has(cluster, *host));
        let outside: BTreeSet<usize> = outside.map(|(replica, _)| replica).collect();
        outside.into_iter().collect()
    }
}

/// The domain of a host, and the domains around it. The host itself for [`Axis::Host`].
pub fn around(cluster: &Cluster, axis: Axis, host: u32) -> impl Iterator<Item = u32> {
    let (tree, leaf) = match axis {
        Axis::Host => (None, Some(DomainId(host))),
        Axis::Domain(at) => {
            let dimension = &cluster.dimensions[at];
            let leaf = dimension.leaves[host as usize];
            (Some(&dimension.tree), (leaf != DomainTree::ROOT).then_some(leaf))
        }
    };
    let parent = move |domain: &DomainId| {
        let parent = tree.map(|tree| tree.parent(*domain));
        parent.filter(|parent| *parent != DomainTree::ROOT)
    };
    std::iter::successors(leaf, parent).map(|domain| domain.0)
}

/// The domains of a rule: by domain, whether the domain is the whole path of a host, and the replicas inside. A replica
/// on several hosts is inside the domains of the first host, which is up if any of the hosts is.
pub struct PathDomains {
    axis: Axis,
    is_path: Vec<bool>,
    counts: Vec<u32>,
}

impl PathDomains {
    pub fn of(cluster: &Cluster, axis: Axis, placed: &[PlacedReplica]) -> PathDomains {
        let domains = match axis {
            Axis::Host => cluster.hosts as usize,
            Axis::Domain(at) => cluster.dimensions[at].tree.count(),
        };
        let mut is_path = vec![false; domains];
        for host in 0..cluster.hosts {
            if let Some(domain) = around(cluster, axis, host).next() {
                is_path[domain as usize] = true;
            }
        }
        let mut counts = vec![0; domains];
        for domain in placed.iter().flat_map(|replica| around(cluster, axis, replica.host)) {
            counts[domain as usize] += 1;
        }
        PathDomains { axis, is_path, counts }
    }

    /// The number of domains and the root.
    pub fn len(&self) -> usize {
        self.is_path.len()
    }

    /// The domains, each with its replicas.
    pub fn all(&self) -> impl Iterator<Item = (AxisDomain, u32)> {
        let paths = (0..self.len()).filter(|&domain| self.is_path[domain]);
        paths.map(|domain| {
            let place = AxisDomain {
                axis: self.axis,
                domain: DomainId(domain as u32),
            };
            (place, self.counts[domain])
        })
    }

    /// The most replicas in a domain.
    pub fn most(&self) -> u32 {
        self.all().map(|(_, count)| count).max().unwrap_or_default()
    }

    /// The domain with the most replicas; of equal domains the innermost. `None` without a replica in a domain.
    pub fn fullest(&self) -> Option<AxisDomain> {
        let occupied = self.all().filter(|(_, count)| *count > 0);
        let fullest = occupied.max_by_key(|(place, count)| (*count, place.domain));
        fullest.map(|(place, _)| place)
    }
}

/// The domain that keeps the most replicas, if at most `wanted` replicas of each role stay. Of equal domains the
/// fullest, then the innermost.
pub fn best_to_keep(cluster: &Cluster, axis: Axis, placed: &[PlacedReplica], wanted: &[u32]) -> Option<AxisDomain> {
    let domains = PathDomains::of(cluster, axis, placed);
    let mut by_role: HashMap<(u32, usize), u32> = HashMap::new();
    let mut kept: HashMap<u32, u32> = HashMap::new();
    for replica in placed {
        for domain in around(cluster, axis, replica.host) {
            let of_role = by_role.entry((domain, replica.role)).or_default();
            *of_role += 1;
            *kept.entry(domain).or_default() += u32::from(*of_role <= wanted[replica.role]);
        }
    }
    let occupied = domains.all().filter(|(_, count)| *count > 0);
    let best = occupied.max_by_key(|(place, count)| (kept.get(&place.domain.0).copied(), *count, place.domain));
    best.map(|(place, _)| place)
}

/// The domain that holds most of the placed replicas, if a hard rule `within` keeps all replicas in one domain.
pub fn hard_domain(cluster: &Cluster, rules: &[Rule], placed: &[PlacedReplica]) -> Option<AxisDomain> {
    let (_, within) = hard_within_rule(rules)?;
    PathDomains::of(cluster, within.axis, placed).fullest()
}
