//! Decides `safe`: whether the majority of the wanted replicas survives the loss of any single domain. Counts the
//! failures that take the majority.

use std::collections::HashSet;

use super::Judging;
use crate::placing::compared::occupied::occupied_tree;
use crate::placing::rules::Axis;
use crate::placing::rules::modes::{AxisRule, quorum};
use crate::placing::safety::{Safety, Survives};

/// The live replicas of one dimension, by the domain that takes the replicas along.
struct DomainLosses {
    /// The live replicas of each domain that fails as a whole.
    domains: Vec<u32>,
    /// Live replicas on hosts without a domain. These replicas may fail with any domain.
    undescribed: u32,
}

impl DomainLosses {
    /// Whether a majority is alive outside of each domain.
    fn is_safe(&self, alive: u32, quorum: u32) -> bool {
        let leaves_quorum = |lost: &u32| alive - lost >= quorum;
        alive >= quorum && self.undescribed == 0 && self.domains.iter().all(leaves_quorum)
    }

    /// `need` is the number of live replicas whose loss takes the majority.
    fn survives(mut self, axis: Axis, need: u32) -> Survives {
        self.domains.retain(|lost| *lost > 0);
        self.domains.sort_unstable_by(|one, other| other.cmp(one));
        let mut left = need;
        let mut domains = 0;
        for lost in self.domains {
            if left == 0 {
                break;
            }
            left = left.saturating_sub(lost);
            domains += 1;
        }
        Survives {
            axis,
            domains: (left == 0).then_some(domains),
            failures: domains + left,
        }
    }
}

impl Judging<'_> {
    /// Whether the majority is alive, and after which failures the majority is lost.
    pub fn safety(&self, rules: &[AxisRule]) -> Safety {
        let mut safety = Safety::default();
        if !self.workload.quorum || self.n == 0 {
            return safety;
        }
        let count = |alive: &[bool]| alive.iter().filter(|alive| **alive).count() as u32;
        let (alive, quorum) = (count(self.alive), quorum(self.n));
        // A replica outside of the cluster may fail with any domain, so `is_safe` does not count the replica.
        let on_hosts = count(&self.alive[..self.workload.placed.len()]);
        safety.is_quorum_lost = Some(alive < quorum);
        if self.n < 2 {
            return safety;
        }
        let mut axes: Vec<Axis> = Vec::new();
        for rule in rules {
            if !axes.contains(&rule.axis) {
                axes.push(rule.axis);
            }
        }
        for axis in axes {
            let losses = match axis {
                Axis::Host => self.losses_by_host(on_hosts),
                Axis::Domain(dimension) => self.losses_by_domain(dimension),
            };
            let Some(losses) = losses else { continue };
            safety.is_safe = Some(safety.is_safe != Some(false) && losses.is_safe(on_hosts, quorum));
            safety
                .survives
                .push(losses.survives(axis, (alive + 1).saturating_sub(quorum)));
        }
        safety
    }

    /// `None` without hosts. A single host has all replicas that can be placed. `alive` are the replicas on hosts.
    fn losses_by_host(&self, alive: u32) -> Option<DomainLosses> {
        let others = self.on_hosts.keys().filter(|host| !self.eligible.any[**host as usize]);
        let domains = match self.eligible.count + others.count() as u32 {
            0 => return None,
            1 => vec![alive],
            _ => self.on_hosts.values().map(|replicas| self.alive_of(replicas)).collect(),
        };
        Some(DomainLosses {
            domains,
            undescribed: 0,
        })
    }

    /// Looks at the first level on which at least two domains hold an eligible host or a replica. Without such a level,
    /// all replicas are in one domain. `None` if no host has a domain.
    fn losses_by_domain(&self, dimension: usize) -> Option<DomainLosses> {
        let of_cluster = &self.cluster.dimensions[dimension];
        let leaf = |host: u32| of_cluster.leaves[host as usize].0;
        let domains = self.counts[dimension].len();
        if domains == 1 {
            return None;
        }
        let any = &self.eligible.any;
        let levels = self.eligible.trees[dimension].levels();
        let standing = self.workload.standing();
        let looked_up = (self.on_hosts.len() + standing.count()) as u64 * levels;
        let operations = (any.len() + domains) as u64 + looked_up;
        if self.budget.count(operations) {
            return None;
        }
        let occupied = occupied_tree(self.cluster, any, standing, dimension);
        let tree = occupied.as_ref().unwrap_or(&self.eligible.trees[dimension]);
        let counts = tree.counts(of_cluster, standing, |at| self.alive[at]);
        let level = tree.first_level();
        let undescribed = standing.hosts().filter(|(_, host)| leaf(*host) == 0);
        let undescribed: HashSet<usize> = undescribed.map(|(at, _)| at).collect();
        if level.is_empty() && tree.limited_level().is_empty() && undescribed.is_empty() {
            return None;
        }
        let judged = if level.is_empty() { tree.limited_level() } else { level };
        let mut losses = DomainLosses {
            domains: judged.iter().map(|&domain| counts[domain as usize]).collect(),
            undescribed: undescribed.iter().filter(|at| self.alive[**at]).count() as u32,
        };
        // A host beside these domains is a domain of its own.
        let judged: HashSet<u32> = judged.iter().copied().collect();
        for (&host, replicas) in &self.on_hosts {
            let mut domain = leaf(host);
            let is_described = domain > 0;
            while domain > 0 && !judged.contains(&domain) {
                domain = tree.parent(domain);
            }
            if is_described && domain == 0 {
                losses.domains.push(self.alive_of(replicas));
            }
        }
        Some(losses)
    }

    /// How many of these replicas are alive.
    fn alive_of(&self, replicas: &[usize]) -> u32 {
        replicas.iter().filter(|at| self.alive[**at]).count() as u32
    }
}
