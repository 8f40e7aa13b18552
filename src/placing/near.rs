//! `Near` rules: which hosts they exclude, and what those cost that they only advise against.

use super::budget::Budget;
use super::cluster::Cluster;
use super::cost::Cost;
use super::domain_tree::DomainId;
use super::rules::{Level, Members, Near, NearKind, Rule};

/// What the `Near` rules of a workload are on each host: a host is asked once for each offer.
pub struct NearHosts {
    /// By host; empty without rules.
    hosts: Vec<(Cost, Option<usize>)>,
}

impl NearHosts {
    pub fn of(cluster: &Cluster, rules: &[Rule], budget: &Budget) -> NearHosts {
        let rules = NearRules::of(cluster, rules);
        let number = rules.rules.len() as u64;
        let hosts = if number == 0 { 0 } else { cluster.hosts };
        let hosts = (0..hosts).map(|host| {
            if budget.count_list(number) {
                return (Cost::ZERO, None);
            }
            (rules.cost(host), rules.excluding(host))
        });
        NearHosts { hosts: hosts.collect() }
    }

    /// As [`NearRules::cost`].
    pub fn cost(&self, host: u32) -> Cost {
        self.hosts.get(host as usize).map_or(Cost::ZERO, |(cost, _)| *cost)
    }

    /// As [`NearRules::excluding`].
    pub fn excluding(&self, host: u32) -> Option<usize> {
        self.hosts.get(host as usize).and_then(|(_, excluding)| *excluding)
    }
}

/// The `Near` rules of a workload, ready to judge hosts.
pub struct NearRules<'a> {
    cluster: &'a Cluster,
    rules: Vec<NearRule<'a>>,
}

struct NearRule<'a> {
    index: usize,
    near: &'a Near,
    marks: Marks,
}

enum Marks {
    /// Ascending.
    Hosts(Vec<u32>),
    /// By domain: whether it is a member or lies in one.
    Domains(usize, Vec<bool>),
}

impl<'a> NearRules<'a> {
    pub fn of(cluster: &'a Cluster, rules: &'a [Rule]) -> NearRules<'a> {
        let near = rules.iter().enumerate().filter_map(|(index, rule)| match rule {
            Rule::Near(near) => Some(NearRule {
                index,
                near,
                marks: Marks::of(cluster, &near.members),
            }),
            Rule::Spread(_) => None,
        });
        NearRules {
            cluster,
            rules: near.collect(),
        }
    }

    /// What the rules cost on a host that they admit.
    pub fn cost(&self, host: u32) -> Cost {
        let broken = self.broken(host).filter(|rule| rule.near.level != Level::Hard);
        broken.fold(Cost::ZERO, |sum, rule| sum + Cost::of_level(rule.near.level))
    }

    /// The index of the first hard rule that excludes a host.
    pub fn excluding(&self, host: u32) -> Option<usize> {
        let mut hard = self.broken(host).filter(|rule| rule.near.level == Level::Hard);
        hard.next().map(|rule| rule.index)
    }

    /// Of each rule that a replica on a host breaks, its index.
    pub fn broken_by(&self, host: u32) -> impl Iterator<Item = usize> {
        self.broken(host).map(|rule| rule.index)
    }

    fn broken(&self, host: u32) -> impl Iterator<Item = &NearRule<'a>> {
        self.rules.iter().filter(move |rule| {
            let is_member = match &rule.marks {
                Marks::Hosts(hosts) => hosts.binary_search(&host).is_ok(),
                Marks::Domains(dimension, marks) => {
                    marks[self.cluster.dimensions[*dimension].leaves[host as usize].0 as usize]
                }
            };
            is_member == (rule.near.kind == NearKind::Apart)
        })
    }
}

impl Marks {
    fn of(cluster: &Cluster, members: &Members) -> Marks {
        match members {
            Members::Hosts(hosts) => {
                let mut hosts = hosts.clone();
                hosts.sort_unstable();
                Marks::Hosts(hosts)
            }
            Members::Domains { dimension, domains } => {
                let tree = &cluster.dimensions[*dimension].tree;
                let mut marks = vec![false; tree.count()];
                for domain in domains {
                    marks[domain.0 as usize] = true;
                }
                for id in 1..tree.count() {
                    marks[id] |= marks[tree.parent(DomainId(id as u32)).0 as usize];
                }
                Marks::Domains(*dimension, marks)
            }
        }
    }
}
