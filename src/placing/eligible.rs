//! Which hosts are eligible, and the live domains that follow from it.

use std::sync::Arc;

use super::cluster::Cluster;
use super::live_tree::LiveTree;

/// The eligible hosts of a cluster. A host is eligible for a role if it is what the role asks for. Room does not matter,
/// nor what else is there, so callers may keep this while claims come and go.
///
/// A host that is eligible for any role counts in the modes and in the comparison of domains.
pub struct Eligible {
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
    /// `by_role` has for each role whether each host of the cluster is eligible.
    pub fn of(cluster: &Cluster, by_role: Vec<Arc<[bool]>>) -> Eligible {
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
            by_role,
            any,
        }
    }

    pub fn is_eligible(&self, host: u32, role: usize) -> bool {
        self.by_role[role][host as usize]
    }
}
