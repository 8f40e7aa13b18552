//! Affinity and anti-affinity to other workloads: the hosts that a rule excludes, and the costs of the hosts that a
//! rule advises against.

use super::{Affinity, AffinityKind, Level, Members, Rule};
use crate::placing::budget::Budget;
use crate::placing::cluster::Cluster;
use crate::placing::cost::Cost;
use crate::placing::domain_tree::{DomainId, DomainTree};

/// The effect of the rules on a replica on one host.
#[derive(Clone, Copy, Default)]
pub struct AffinityEffect {
    /// The cost of the soft rules, if the hard rules admit the host.
    pub cost: Cost,
    /// The index of the first hard rule that excludes the host.
    pub excluding: Option<usize>,
}

/// The `Affinity` rules of a workload, ready to judge hosts.
pub struct AffinityRules<'a> {
    cluster: &'a Cluster,
    rules: Vec<MarkedRule<'a>>,
}

/// An affinity or anti-affinity rule.
pub struct MarkedRule<'a> {
    /// The index among all rules of the workload.
    pub index: usize,
    pub affinity: &'a Affinity,
    marks: Marks,
}

enum Marks {
    /// Ascending.
    Hosts(Vec<u32>),
    /// By domain: whether the domain is a member or lies in a member.
    Domains(usize, Vec<bool>),
}

impl<'a> AffinityRules<'a> {
    pub fn of(cluster: &'a Cluster, rules: &'a [Rule], budget: &Budget) -> AffinityRules<'a> {
        let affinity = rules.iter().enumerate().filter_map(|(index, rule)| match rule {
            Rule::Affinity(affinity) => Some((index, affinity)),
            Rule::Spread(_) | Rule::Within(_) => None,
        });
        let affinity = affinity.map_while(|(index, affinity)| {
            let marks = Marks::of(cluster, &affinity.members, budget)?;
            Some(MarkedRule { index, affinity, marks })
        });
        AffinityRules {
            cluster,
            rules: affinity.collect(),
        }
    }

    /// The number of rules.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether any of the rules is hard.
    pub fn has_hard(&self) -> bool {
        self.rules.iter().any(|rule| rule.affinity.level == Level::Hard)
    }

    /// The effect on each host of the cluster, because a search asks a host once for each offer. Empty without rules,
    /// and incomplete if the answer is not wanted any more.
    pub fn effects(&self, budget: &Budget) -> Vec<AffinityEffect> {
        let hosts = if self.rules.is_empty() { 0 } else { self.cluster.hosts };
        let hosts = (0..hosts).take_while(|_| !budget.count_list(self.len() as u64));
        hosts.map(|host| self.effect(host)).collect()
    }

    /// The effect on a host.
    pub fn effect(&self, host: u32) -> AffinityEffect {
        let mut effect = AffinityEffect::default();
        for rule in self.broken_by(host) {
            match rule.affinity.level {
                Level::Hard => effect.excluding = effect.excluding.or(Some(rule.index)),
                level => effect.cost += Cost::of_level(level),
            }
        }
        effect
    }

    /// The rules that a replica on a host breaks.
    pub fn broken_by(&self, host: u32) -> impl Iterator<Item = &MarkedRule<'a>> {
        self.rules.iter().filter(move |rule| {
            let is_member = match &rule.marks {
                Marks::Hosts(hosts) => hosts.binary_search(&host).is_ok(),
                Marks::Domains(dimension, marks) => {
                    marks[self.cluster.dimensions[*dimension].leaves[host as usize].0 as usize]
                }
            };
            is_member == (rule.affinity.kind == AffinityKind::AntiAffinity)
        })
    }
}

impl MarkedRule<'_> {
    /// The topmost member of an anti-affinity rule among `leaf` and the ancestors of `leaf`.
    pub fn topmost_member(&self, cluster: &Cluster, leaf: DomainId) -> Option<DomainId> {
        let Marks::Domains(dimension, marks) = &self.marks else {
            return None;
        };
        let is_kept_away = self.affinity.kind == AffinityKind::AntiAffinity && marks[leaf.0 as usize];
        let tree = &cluster.dimensions[*dimension].tree;
        let mut domain = leaf;
        while marks[tree.parent(domain).0 as usize] && domain != DomainTree::ROOT {
            domain = tree.parent(domain);
        }
        is_kept_away.then_some(domain)
    }
}

impl Marks {
    /// `None` if the answer is not wanted any more.
    fn of(cluster: &Cluster, members: &Members, budget: &Budget) -> Option<Marks> {
        let marks = match members {
            Members::Hosts(hosts) => {
                let mut hosts = hosts.clone();
                budget.sort(&mut hosts);
                Marks::Hosts(hosts)
            }
            Members::Domains { dimension, domains } => {
                let tree = &cluster.dimensions[*dimension].tree;
                if budget.count_list(tree.count() as u64) {
                    return None;
                }
                let mut marks = vec![false; tree.count()];
                for domain in domains {
                    marks[domain.0 as usize] = true;
                }
                for id in 1..tree.count() {
                    marks[id] |= marks[tree.parent(DomainId(id as u32)).0 as usize];
                }
                Marks::Domains(*dimension, marks)
            }
        };
        (!budget.has_ended()).then_some(marks)
    }
}
