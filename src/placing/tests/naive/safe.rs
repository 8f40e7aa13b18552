//! Whether the majority of the replicas survives the loss of a domain, over trees of paths.

use std::collections::BTreeMap;

use super::{Question, n, quorum, segments};
use crate::placing::{Axis, PlacedReplica, Rule};

impl Question<'_> {
    /// Whether the majority survives: `None` if nothing is compared.
    pub fn safe(&self, down: u32) -> Option<bool> {
        let n = n(self.workload);
        if !self.workload.quorum || n < 2 {
            return None;
        }
        if down > n - quorum(n) {
            return Some(false);
        }
        let mut safe = None;
        for rule in self.workload.rules {
            let Rule::Spread(spread) = rule else { continue };
            for &axis in &spread.axes {
                if let Some(survives) = self.survives(axis, n - quorum(n)) {
                    safe = Some(safe != Some(false) && survives);
                }
            }
        }
        safe
    }

    /// Whether each domain with new replicas may be lost, if the rule is strict.
    pub fn stays_safe(&self, rule: &Rule, new: &[PlacedReplica]) -> bool {
        let n = n(self.workload);
        let Rule::Spread(spread) = rule else { return true };
        if !spread.strict || !self.workload.quorum || n < 2 {
            return true;
        }
        spread.axes.iter().all(|&axis| {
            let first = self.tree(axis, new);
            let first = first.first_present();
            let failing = |all: &[PlacedReplica]| self.failing(axis, &first, all.iter().map(|it| it.host as usize));
            let all = [self.workload.placed, new].concat();
            let (gain, count) = (failing(new), failing(&all));
            gain.keys().all(|domain| count[domain] <= n - quorum(n))
        })
    }

    /// The paths of a host, the longest last.
    fn path(&self, axis: Axis, host: usize) -> Vec<String> {
        match axis {
            Axis::Host => vec![host.to_string()],
            Axis::Domain(dimension) => self.world.paths[dimension][host]
                .as_ref()
                .map_or(Vec::new(), |path| segments(path)),
        }
    }

    /// The replicas on hosts that fail at the same time, by their domain of the first level, or by host.
    fn failing(&self, axis: Axis, first: &[&String], hosts: impl Iterator<Item = usize>) -> BTreeMap<String, u32> {
        let mut failing: BTreeMap<String, u32> = BTreeMap::new();
        for host in hosts {
            let domain = self.path(axis, host).into_iter().find(|prefix| first.contains(&prefix));
            *failing.entry(domain.unwrap_or(format!("host {host}"))).or_default() += 1;
        }
        failing
    }

    fn survives(&self, axis: Axis, most: u32) -> Option<bool> {
        let path = |host: usize| self.path(axis, host);
        let hosts = 0..self.world.names.len();
        if hosts.clone().all(|host| path(host).is_empty()) {
            return None;
        }
        let placed = self.workload.placed.iter().map(|it| it.host as usize);
        if placed.clone().any(|host| path(host).is_empty()) {
            return Some(false);
        }
        let tree = self.tree(axis, &[]);
        let first = tree.first_present();
        if first.is_empty() {
            let is_used = |host: usize| self.is_eligible(host) || placed.clone().any(|at| at == host);
            let mut described = hosts.filter(|host| !path(*host).is_empty());
            return described.any(is_used).then_some(false);
        }
        let failing = self.failing(axis, &first, placed);
        Some(failing.values().all(|count| *count <= most))
    }
}
