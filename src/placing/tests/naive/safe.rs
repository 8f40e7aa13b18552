//! Whether the majority of the replicas survives failures, over trees of paths.

use std::collections::{BTreeMap, BTreeSet};

use super::{Question, n, quorum, segments};
use crate::placing::safety::Survives;
use crate::placing::tests::worlds::subsets;
use crate::placing::{Axis, PlacedReplica, Rule, Safety};

impl Question<'_> {
    /// Whether the majority is alive and survives failures, by all sets of failures.
    pub fn safety(&self, alive: &[bool]) -> Safety {
        let n = n(self.workload);
        let mut safety = Safety::default();
        if !self.workload.quorum || n == 0 {
            return safety;
        }
        let all = alive.iter().filter(|alive| **alive).count() as u32;
        safety.is_quorum_lost = Some(all < quorum(n));
        let spreads = self.workload.rules.iter().filter_map(|rule| match rule {
            Rule::Spread(spread) => Some(&spread.axes),
            Rule::Affinity(_) | Rule::Within(_) => None,
        });
        let mut judged: Vec<Axis> = Vec::new();
        for &axis in spreads.flatten().filter(|_| n > 1) {
            let Some(domains) = self.domains_of_replicas(axis) else {
                continue;
            };
            if judged.contains(&axis) {
                continue;
            }
            judged.push(axis);
            let live = domains.iter().zip(alive).filter(|(_, alive)| **alive);
            let live: Vec<&BTreeSet<Option<String>>> = live.map(|(domains, _)| domains).collect();
            let is_lost = |lost: &[&String], singles: usize| {
                let fails = |domain: &Option<String>| domain.as_ref().is_some_and(|domain| lost.contains(&domain));
                let left = live.iter().filter(|domains| !domains.iter().any(fails)).count();
                left.saturating_sub(singles) < quorum(n) as usize
            };
            let all_domains = live.iter().flat_map(|domains| domains.iter());
            let may_fail_with_any = all_domains.clone().any(Option::is_none);
            let names: BTreeSet<&String> = all_domains.flatten().collect();
            let names: Vec<&String> = names.into_iter().collect();
            let survives_each =
                !is_lost(&[], 0) && !may_fail_with_any && names.iter().all(|name| !is_lost(&[*name], 0));
            safety.is_safe = Some(safety.is_safe != Some(false) && survives_each);
            let fewest = |singles: bool| {
                (0..=live.len()).find(|&failures| {
                    (0..=failures.min(names.len())).any(|domains| {
                        let singles = if singles { failures - domains } else { 0 };
                        let mut lost = subsets(names.len(), domains).into_iter();
                        lost.any(|lost| is_lost(&lost.into_iter().map(|at| names[at]).collect::<Vec<_>>(), singles))
                    })
                })
            };
            safety.survives.push(Survives {
                axis,
                domains: fewest(false).map(|number| number as u32),
                failures: fewest(true).map_or(u32::MAX, |number| number as u32),
            });
        }
        safety
    }

    /// The hosts of each placed replica and of each new replica. A further host belongs to one of all these replicas.
    pub fn hosts_of_replicas(&self, new: &[PlacedReplica]) -> Vec<BTreeSet<u32>> {
        let all = self.workload.placed.iter().chain(new).enumerate();
        let hosts = all.map(|(at, replica)| {
            let further = self.workload.further.iter().filter(|further| further.replica == at);
            let further = further.map(|further| further.host);
            further.chain([replica.host]).collect()
        });
        hosts.collect()
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

    /// The domains with which each placed replica fails; `None` among these on a host without a domain. `None` if
    /// nothing is compared.
    fn domains_of_replicas(&self, axis: Axis) -> Option<Vec<BTreeSet<Option<String>>>> {
        let path = |host: usize| self.path(axis, host);
        let hosts = 0..self.world.names.len();
        let of_replicas = self.hosts_of_replicas(&[]);
        let placed = of_replicas.iter().flatten().map(|host| *host as usize);
        let is_used = |host: &usize| self.is_eligible(*host) || placed.clone().any(|at| at == *host);
        let mut described = hosts.filter(|host| !path(*host).is_empty());
        let is_described_by_any = described.clone().next().is_some();
        let has_undescribed = placed.clone().any(|host| path(host).is_empty());
        if !is_described_by_any || !described.any(|host| is_used(&host)) && !has_undescribed {
            return None;
        }
        let tree = self.tree(axis, &[]);
        let first = tree.first_present();
        let domain = |host: usize| {
            let inside = path(host);
            inside.first()?;
            let all = first.is_empty().then(|| "all".to_owned());
            let own = inside.into_iter().find(|prefix| first.contains(&prefix));
            all.or(own).or(Some(format!("host {host}")))
        };
        let domains = |hosts: &BTreeSet<u32>| hosts.iter().map(|host| domain(*host as usize)).collect();
        Some(of_replicas.iter().map(domains).collect())
    }
}
