//! Decides `safe`: whether the majority of the placed replicas survives the loss of any single domain.

use std::collections::HashSet;

use super::Judging;
use crate::placing::compared::occupied::occupied_tree;
use crate::placing::rules::Axis;
use crate::placing::rules::modes::{AxisRule, may_be_down};

impl Judging<'_> {
    /// `None` without quorum, or if no rule compares anything. `down` replicas are on hosts that are not up.
    pub fn safe(&self, rules: &[AxisRule], down: u32) -> Option<bool> {
        if !self.workload.quorum || self.n < 2 {
            return None;
        }
        if down > may_be_down(self.n) {
            return Some(false);
        }
        let judged = rules.iter().filter_map(|rule| match rule.axis {
            Axis::Host => self.survives_each_host(),
            Axis::Domain(dimension) => self.survives_each_domain(dimension),
        });
        judged.reduce(|all, one| all && one)
    }

    /// `None` without hosts. A single host has all replicas that can be placed.
    fn survives_each_host(&self) -> Option<bool> {
        let others = self.on_hosts.keys().filter(|host| !self.eligible.any[**host as usize]);
        match self.eligible.count + others.count() as u32 {
            0 => None,
            1 => Some(false),
            _ => Some(self.has_few_on_each(|_| true)),
        }
    }

    /// Looks at the first level on which at least two domains hold an eligible host or a replica. Without such a level,
    /// all replicas are in one domain. `None` if no host has a domain. A replica on a host without a domain may fail
    /// with any domain.
    fn survives_each_domain(&self, dimension: usize) -> Option<bool> {
        let counts = &self.counts[dimension];
        let leaves = &self.cluster.dimensions[dimension].leaves;
        if counts.len() == 1 {
            return None;
        }
        if self.workload.placed.iter().any(|it| leaves[it.host as usize].0 == 0) {
            return Some(false);
        }
        let (placed, any) = (self.workload.placed, &self.eligible.any);
        let levels = self.eligible.trees[dimension].levels();
        if self
            .budget
            .count((any.len() + counts.len()) as u64 + self.on_hosts.len() as u64 * levels)
        {
            return None;
        }
        let occupied = occupied_tree(self.cluster, any, placed, dimension);
        let tree = occupied.as_ref().unwrap_or(&self.eligible.trees[dimension]);
        let level = tree.first_level();
        if level.is_empty() {
            return (!tree.limited_level().is_empty()).then_some(false);
        }
        // A host beside these domains is a domain of its own.
        let compared: HashSet<u32> = level.iter().copied().collect();
        let is_beside = |host: u32| {
            let mut domain = leaves[host as usize].0;
            while domain > 0 && !compared.contains(&domain) {
                domain = tree.parent(domain);
            }
            domain == 0
        };
        let inside: u32 = level.iter().map(|&domain| counts[domain as usize]).sum();
        let has_few = level
            .iter()
            .all(|&domain| counts[domain as usize] <= may_be_down(self.n));
        Some(has_few && (inside == counts[0] || self.has_few_on_each(is_beside)))
    }

    fn has_few_on_each(&self, counts: impl Fn(u32) -> bool) -> bool {
        let mut judged = self.on_hosts.iter().filter(|(host, _)| counts(**host));
        judged.all(|(_, replicas)| replicas.len() as u32 <= may_be_down(self.n))
    }
}
