//! Judges the placed replicas: the mode of each rule, `safe`, and the violations.

pub mod safe;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::budget::Budget;
use super::cluster::{Cluster, Workload};
use super::domain_tree::{DomainId, DomainTree};
use super::eligible::Eligible;
use super::rules::affinity::{AffinityRules, MarkedRule};
use super::rules::modes::{AxisRule, axis_rules, has_host_rule};
use super::rules::{Axis, Members, Mode, within_rule};
use super::safety::Safety;
use super::within::{PathDomains, hard_domain};
use crate::interrupt::Interrupt;

/// How the replicas comply with the rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Of each `Spread` rule and each of its axes, in their order.
    pub modes: Vec<SpreadMode>,
    pub safety: Safety,
    pub violations: Vec<BrokenRule>,
}

/// The present meaning of a `Spread` rule in one dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpreadMode {
    pub rule: AxisRule,
    /// The greatest number of replicas in a domain of the level: L, 1 for one-each, n / domains rounded up for
    /// max-difference. `None` without domains.
    pub limit: Option<u32>,
    /// The replicas in each of these domains, zeros too. Without such a level, in the one domain with all eligible
    /// hosts. For [`Axis::Host`] the eligible hosts with a replica.
    pub counts: Vec<DomainCount>,
}

/// A rule that is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenRule {
    pub rule: Broken,
    /// The dimension in which the rule is broken.
    pub axis: Axis,
    /// The domain that holds too many replicas; for [`Axis::Host`] the host. Of a rule `within` the domain that holds
    /// most replicas: the replicas of the violation are outside. [`DomainTree::ROOT`] if no replica is in a domain.
    pub domain: DomainId,
    /// Replicas there, and the most replicas there. For a max-difference the limit is the least count of a sibling plus
    /// 1.
    pub count: u32,
    pub limit: u32,
    /// For a max-difference, the sibling with the least replicas.
    pub least: Option<DomainCount>,
    /// Indices of [`Workload::placed`].
    pub replicas: Vec<usize>,
}

/// The rule or the condition that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// By the index of the rule.
    Rule(usize),
    /// More than one replica on a host, if no rule admits several replicas.
    OneAHost,
    /// A replica on a host that is not eligible for the replica's role.
    NotEligible,
}

/// Replicas in a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainCount {
    pub domain: DomainId,
    pub count: u32,
}

/// Judges the placed replicas for the wanted number. `alive` says of each placed replica whether the host is up, and
/// then of each replica with a place outside of the cluster whether the replica is alive. After `interrupt` is set the
/// answer comes soon, and means nothing.
pub fn judge(
    (cluster, eligible): (&Cluster, &Eligible),
    workload: &Workload,
    alive: &[bool],
    interrupt: &Interrupt,
) -> Judgement {
    let budget = Budget::unbounded(interrupt);
    let domains = eligible.trees.iter().map(|tree| tree.len() as u64).sum::<u64>();
    let levels = eligible.trees.iter().map(|tree| tree.levels()).sum::<u64>();
    budget.count(domains + workload.placed.len() as u64 + workload.further.len() as u64 * levels);
    let inside = hard_domain(cluster, workload.rules, workload.placed);
    let inside = inside.map(|domain| eligible.inside(cluster, domain, interrupt));
    let (all, eligible) = (eligible, inside.as_ref().unwrap_or(eligible));
    let rules = axis_rules(workload, &eligible.trees, eligible.count);
    let mut on_hosts: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, host) in workload.standing().hosts() {
        on_hosts.entry(host).or_default().push(at);
    }
    let dimensions = cluster.dimensions.iter().zip(&eligible.trees);
    let judging = Judging {
        cluster,
        workload,
        all,
        eligible,
        alive,
        n: workload.wanted.iter().sum(),
        budget: &budget,
        counts: dimensions
            .map(|(dimension, tree)| tree.counts(dimension, workload.standing(), |_| true))
            .collect(),
        on_hosts,
    };
    let mut violations = judging.not_eligible();
    if !has_host_rule(workload.rules) {
        violations.extend(judging.hosts_above(Broken::OneAHost, 1));
    }
    for rule in &rules {
        if budget.count(judging.on_hosts.len() as u64) {
            break;
        }
        match rule.axis {
            Axis::Host => violations.extend(judging.broken_on_hosts(rule)),
            Axis::Domain(dimension) => violations.extend(judging.broken_in(rule, dimension)),
        }
    }
    violations.extend(judging.within());
    violations.extend(judging.affinity());
    Judgement {
        modes: rules.iter().map(|rule| judging.mode(rule)).collect(),
        safety: judging.safety(&rules),
        violations,
    }
}

/// A judgement in progress.
pub(super) struct Judging<'a> {
    pub cluster: &'a Cluster,
    pub workload: &'a Workload<'a>,
    /// The hosts that are eligible apart from a rule `within`.
    pub all: &'a Eligible,
    /// The eligible hosts in the domain of a hard rule `within`.
    pub eligible: &'a Eligible,
    /// By index of [`Workload::placed`], and then of replicas outside of the cluster.
    pub alive: &'a [bool],
    pub n: u32,
    pub budget: &'a Budget<'a>,
    /// By dimension and domain the replicas in the domain and below.
    pub counts: Vec<Vec<u32>>,
    /// By host the replicas on the host, as indices of [`Workload::placed`].
    pub on_hosts: BTreeMap<u32, Vec<usize>>,
}

impl Judging<'_> {
    fn mode(&self, rule: &AxisRule) -> SpreadMode {
        let counts = match rule.axis {
            Axis::Host => self.host_counts(),
            Axis::Domain(dimension) => {
                let first = self.eligible.trees[dimension].limited_level();
                self.budget.count(first.len() as u64);
                first.iter().map(|&domain| self.count(dimension, domain)).collect()
            }
        };
        SpreadMode {
            rule: *rule,
            limit: rule.limit(self.n),
            counts,
        }
    }

    fn host_counts(&self) -> Vec<DomainCount> {
        let occupied = self.on_hosts.iter();
        let eligible = occupied.filter(|(host, _)| self.eligible.any[**host as usize]);
        let counts = eligible.map(|(host, replicas)| DomainCount {
            domain: DomainId(*host),
            count: replicas.len() as u32,
        });
        counts.collect()
    }

    fn count(&self, dimension: usize, domain: u32) -> DomainCount {
        DomainCount {
            domain: DomainId(domain),
            count: self.counts[dimension][domain as usize],
        }
    }

    fn not_eligible(&self) -> Vec<BrokenRule> {
        let all = self.on_hosts.iter().filter_map(|(host, replicas)| {
            let is_wrong = |at: &usize| !self.all.is_eligible(*host, self.workload.placed[*at].role);
            let replicas: Vec<usize> = replicas.iter().copied().filter(is_wrong).collect();
            (!replicas.is_empty()).then(|| on_host(Broken::NotEligible, *host, 0, replicas))
        });
        all.collect()
    }

    fn hosts_above(&self, rule: Broken, limit: u32) -> Vec<BrokenRule> {
        let above = self.on_hosts.iter().filter(|(_, it)| it.len() as u32 > limit);
        above
            .map(|(host, replicas)| on_host(rule, *host, limit, replicas.clone()))
            .collect()
    }

    /// Replicas on ineligible hosts do not count, as in every dimension.
    fn broken_on_hosts(&self, rule: &AxisRule) -> Vec<BrokenRule> {
        let mut limit = rule.cap;
        if rule.mode == Mode::MaxDifference {
            let eligible = self
                .on_hosts
                .iter()
                .filter(|(host, _)| self.eligible.any[**host as usize]);
            let occupied: Vec<u32> = eligible.map(|(_, it)| it.len() as u32).collect();
            let least = if (occupied.len() as u32) < self.eligible.count {
                0
            } else {
                occupied.into_iter().min().unwrap_or(0)
            };
            limit = limit.into_iter().chain([least + 1]).min();
        }
        let mut above = limit.map_or(Vec::new(), |limit| self.hosts_above(Broken::Rule(rule.rule), limit));
        above.retain(|violation| self.eligible.any[violation.domain.0 as usize]);
        above
    }

    fn broken_in(&self, rule: &AxisRule, dimension: usize) -> Vec<BrokenRule> {
        let tree = &self.eligible.trees[dimension];
        let mut all = Vec::new();
        let mut known: HashMap<DomainId, usize> = HashMap::new();
        if self.budget.count(tree.len() as u64) {
            return all;
        }
        for &domain in tree.limited_level() {
            let count = self.count(dimension, domain);
            if let Some(cap) = rule.cap.filter(|cap| count.count > *cap) {
                known.insert(count.domain, all.len());
                all.push(self.in_domain(rule, dimension, count, cap, None));
            }
        }
        if rule.mode != Mode::MaxDifference {
            return all;
        }
        for parent in (0..tree.len() as u32).filter(|&domain| tree.is_live(domain)) {
            let children = tree.children(parent).iter().map(|&child| self.count(dimension, child));
            let Some(least) = children.clone().min_by_key(|child| child.count) else {
                continue;
            };
            let limit = least.count + 1;
            if self.budget.has_ended() {
                break;
            }
            for child in children.filter(|child| child.count > limit) {
                let found = self.in_domain(rule, dimension, child, limit, Some(least));
                // Of two limits below a domain's count, the lower limit is kept.
                match known.get(&found.domain).map(|at| &mut all[*at]) {
                    Some(same) if found.limit < same.limit => *same = found,
                    Some(_) => {}
                    None => {
                        known.insert(found.domain, all.len());
                        all.push(found);
                    }
                }
            }
        }
        all
    }

    fn in_domain(
        &self,
        rule: &AxisRule,
        dimension: usize,
        count: DomainCount,
        limit: u32,
        least: Option<DomainCount>,
    ) -> BrokenRule {
        BrokenRule {
            rule: Broken::Rule(rule.rule),
            axis: rule.axis,
            domain: count.domain,
            count: count.count,
            limit,
            least,
            replicas: self.replicas_in(dimension, count.domain),
        }
    }

    fn replicas_in(&self, dimension: usize, domain: DomainId) -> Vec<usize> {
        let tree = &self.eligible.trees[dimension];
        let leaves = &self.cluster.dimensions[dimension].leaves;
        let standing = self.workload.standing();
        if self.budget.count(standing.count() as u64 * tree.levels()) {
            return Vec::new();
        }
        let inside = standing
            .hosts()
            .filter(|(_, host)| tree.is_in(leaves[*host as usize].0, domain.0));
        let inside: BTreeSet<usize> = inside.map(|(at, _)| at).collect();
        inside.into_iter().collect()
    }

    /// The replicas outside of the domain that holds most replicas, if a rule keeps all replicas in one domain.
    fn within(&self) -> Option<BrokenRule> {
        let (rule, within) = within_rule(self.workload.rules)?;
        let (cluster, placed) = (self.cluster, self.workload.placed);
        let domains = PathDomains::of(cluster, within.axis, self.workload.placed);
        self.budget.count(u64::from(cluster.hosts) + domains.len() as u64);
        let fullest = domains.fullest();
        let outside = match fullest {
            Some(domain) => domain.outside(cluster, self.workload.standing()),
            None => (0..placed.len()).collect(),
        };
        (placed.len() > 1 && !outside.is_empty()).then(|| BrokenRule {
            rule: Broken::Rule(rule),
            axis: within.axis,
            domain: fullest.map_or(DomainTree::ROOT, |domain| domain.domain),
            count: (placed.len() - outside.len()) as u32,
            limit: 0,
            least: None,
            replicas: outside,
        })
    }

    /// Violations of affinity and anti-affinity, by member or by host.
    fn affinity(&self) -> Vec<BrokenRule> {
        let rules = AffinityRules::of(self.cluster, self.workload.rules, self.budget);
        let mut all: Vec<BrokenRule> = Vec::new();
        let mut known: HashMap<(usize, Axis, DomainId), usize> = HashMap::new();
        for (host, replicas) in &self.on_hosts {
            if self.budget.count(rules.len() as u64) {
                break;
            }
            for rule in rules.broken_by(*host) {
                let (axis, domain) = self.affinity_domain(rule, *host);
                if self.budget.has_ended() {
                    break;
                }
                if let Some(known) = known.get(&(rule.index, axis, domain)).map(|at| &mut all[*at]) {
                    known.replicas.extend_from_slice(replicas);
                    continue;
                }
                known.insert((rule.index, axis, domain), all.len());
                all.push(BrokenRule {
                    axis,
                    domain,
                    ..on_host(Broken::Rule(rule.index), *host, 0, replicas.clone())
                });
            }
        }
        for violation in &mut all {
            // A replica may stand on several hosts of the domain.
            if !self.workload.further.is_empty() {
                violation.replicas.sort_unstable();
                violation.replicas.dedup();
            }
            violation.count = violation.replicas.len() as u32;
        }
        all
    }

    /// The domain of a violation of affinity: the topmost member with the host. Without a member, the host's own
    /// domain.
    fn affinity_domain(&self, rule: &MarkedRule, host: u32) -> (Axis, DomainId) {
        let Members::Domains { dimension, .. } = &rule.affinity.members else {
            return (Axis::Host, DomainId(host));
        };
        let leaf = self.cluster.dimensions[*dimension].leaves[host as usize];
        self.budget.count(self.eligible.trees[*dimension].levels());
        (
            Axis::Domain(*dimension),
            rule.topmost_member(self.cluster, leaf).unwrap_or(leaf),
        )
    }
}

fn on_host(rule: Broken, host: u32, limit: u32, replicas: Vec<usize>) -> BrokenRule {
    BrokenRule {
        rule,
        axis: Axis::Host,
        domain: DomainId(host),
        count: replicas.len() as u32,
        limit,
        least: None,
        replicas,
    }
}
