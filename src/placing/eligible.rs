//! Which hosts are eligible, and the live domains that follow from it.

use std::sync::Arc;

use super::cluster::Cluster;
use super::domain_tree::DomainTree;
use super::live_tree::LiveTree;
use super::rules::{Axis, Level, Rule};

/// The eligible hosts of a cluster. A host is eligible for a role if it is what the role asks for, and has a domain in
/// each dimension that the rules need. Room does not matter, nor what else is there, so callers may keep this while
/// claims come and go.
///
/// A host that is eligible for any role counts in the modes and in the comparison of domains.
pub struct Eligible {
    /// By role and host, whether the host is what the role asks for.
    asked: Vec<Arc<[bool]>>,
    /// The dimensions in which a host needs a domain.
    needed: Vec<usize>,
    /// By role and host.
    by_role: Vec<Arc<[bool]>>,
    /// Whether a host is eligible for any role.
    pub(super) any: Arc<[bool]>,
    /// Hosts that are eligible for any role.
    pub(super) count: u32,
    /// By dimension.
    pub(super) trees: Vec<LiveTree>,
}

impl Eligible {
    /// `asked` has for each role whether each host of the cluster is what it asks for. In the dimensions of `needed`
    /// (`needed_dimensions`) a host needs a domain.
    pub fn of(cluster: &Cluster, asked: Vec<Arc<[bool]>>, needed: Vec<usize>) -> Eligible {
        let lacks = |host: usize| lacking(cluster, &needed, host).is_some();
        let has_lack = (0..cluster.hosts as usize).any(lacks);
        let by_role: Vec<Arc<[bool]>> = if has_lack {
            let described = |of_role: &Arc<[bool]>| {
                let all = of_role.iter().enumerate();
                all.map(|(host, is_asked)| *is_asked && !lacks(host)).collect()
            };
            asked.iter().map(described).collect()
        } else {
            asked.clone()
        };
        let any: Arc<[bool]> = match by_role.as_slice() {
            [only] => Arc::clone(only),
            all => (0..cluster.hosts as usize)
                .map(|host| all.iter().any(|of_role| of_role[host]))
                .collect(),
        };
        let trees = cluster.dimensions.iter().map(|dimension| {
            let mut direct = vec![0; dimension.tree.count()];
            for (leaf, _) in dimension.leaves.iter().zip(&*any).filter(|(_, any)| **any) {
                direct[leaf.0 as usize] += 1;
            }
            LiveTree::of(&dimension.tree, direct)
        });
        Eligible {
            trees: trees.collect(),
            count: any.iter().filter(|any| **any).count() as u32,
            asked,
            needed,
            by_role,
            any,
        }
    }

    pub fn is_eligible(&self, host: u32, role: usize) -> bool {
        self.by_role[role][host as usize]
    }

    /// The first dimension in which a host lacks a domain that is all that the role asks for.
    pub fn lacking_dimension(&self, cluster: &Cluster, host: u32, role: usize) -> Option<usize> {
        let is_asked = self.asked[role][host as usize];
        lacking(cluster, &self.needed, host as usize).filter(|_| is_asked)
    }
}

fn lacking(cluster: &Cluster, needed: &[usize], host: usize) -> Option<usize> {
    let is_lacking = |dimension: &usize| cluster.dimensions[*dimension].leaves[host] == DomainTree::ROOT;
    needed.iter().copied().find(is_lacking)
}

/// The dimensions in which rules need a domain of each host: a hard `Spread` rule says nothing about a host without
/// one.
pub fn needed_dimensions(rules: &[Rule]) -> Vec<usize> {
    let hard = rules.iter().filter_map(|rule| match rule {
        Rule::Spread(spread) if spread.level == Level::Hard => Some(&spread.axes),
        _ => None,
    });
    let dimensions = hard.flatten().filter_map(|axis| match axis {
        Axis::Domain(dimension) => Some(*dimension),
        Axis::Host => None,
    });
    let mut needed: Vec<usize> = dimensions.collect();
    needed.sort_unstable();
    needed.dedup();
    needed
}
