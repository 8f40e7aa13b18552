//! Which hosts are eligible, and the live domains that follow from it.

use super::cluster::{Cluster, Hosts};
use super::live_tree::LiveTree;
use crate::mutants::{Mutant, is};

/// The eligible hosts of a cluster.
pub struct Eligible {
    roles: usize,
    /// By host and role.
    by_role: Vec<bool>,
    /// Whether a host is eligible for any role.
    pub any: Vec<bool>,
    /// Hosts that are eligible for any role.
    pub count: u32,
    /// By dimension.
    pub trees: Vec<LiveTree>,
}

impl Eligible {
    pub fn of(cluster: &Cluster, hosts: &impl Hosts, roles: usize) -> Eligible {
        let mut by_role = Vec::with_capacity(cluster.hosts as usize * roles);
        let mut any = Vec::with_capacity(cluster.hosts as usize);
        for host in 0..cluster.hosts {
            let mut is_any = false;
            for role in 0..roles {
                let has_room = !is(Mutant::JudgeRoom) || hosts.offer(host, role, 0).is_some();
                let is_eligible = has_room && hosts.is_eligible(host, role);
                by_role.push(is_eligible);
                is_any |= is_eligible;
            }
            any.push(is_any);
        }
        let trees = cluster.dimensions.iter().map(|dimension| {
            let mut direct = vec![0; dimension.tree.count()];
            for (leaf, _) in dimension.leaves.iter().zip(&any).filter(|(_, any)| **any) {
                direct[leaf.0 as usize] += 1;
            }
            LiveTree::of(&dimension.tree, direct)
        });
        Eligible {
            roles,
            trees: trees.collect(),
            count: any.iter().filter(|any| **any).count() as u32,
            by_role,
            any,
        }
    }

    pub fn is_eligible(&self, host: u32, role: usize) -> bool {
        self.by_role[host as usize * self.roles + role]
    }
}
