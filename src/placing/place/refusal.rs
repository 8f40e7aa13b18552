//! Explains a refusal: how many hosts each condition removes, in the order in which the conditions are checked.

use std::collections::BTreeMap;

use super::domains::room;
use super::host_items::Placing;
use crate::placing::cluster::Hosts;
use crate::placing::compared::{Compared, ComparedDimension, CountBounds};
use crate::placing::domain_tree::DomainId;
use crate::placing::eligible::Eligible;
use crate::placing::rules::modes::AxisRule;
use crate::placing::rules::{Axis, Level, Mode};

/// The most hosts that a refusal names for each condition.
const NAMED_HOSTS: usize = 15;

/// Why replicas have no place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The number of hosts.
    pub hosts: u32,
    /// Hosts by the first condition that removes the host, in the order of the conditions.
    pub removed: Vec<(Removed, u32)>,
    /// The first removed hosts of each condition.
    pub named: Vec<(Removed, Vec<u32>)>,
    /// Hosts that no condition removes.
    pub left: u32,
    /// For each hard `Spread` rule the domains of the first level with several domains: limits and replicas.
    pub limits: Vec<DomainLimit>,
    /// If a hard `Within` rule keeps all replicas in one domain. Everything else is then about this domain.
    pub within: Option<WithinLimit>,
    /// The number of missing replicas.
    pub missing: u32,
    /// The most replicas that the strictest hard rule admits, with the room of the hosts. If `admitted` is not less
    /// than `missing`, the rules together admit no placement.
    pub admitted: u32,
}

/// A condition that removes hosts, in the order in which the conditions are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Removed {
    /// The host is eligible for no missing role.
    NotEligible,
    /// By the index of a dimension: a hard `Spread` rule needs a domain, and the host has none.
    NoDomain(usize),
    /// By the index of a hard `Within` rule: the host is outside of the domain for all replicas.
    Outside(usize),
    /// By the index of a hard `Affinity` rule.
    Affinity(usize),
    /// The host holds as many replicas of the workload as the rules on hosts admit.
    Taken,
    NoRoom,
    /// By the index of a hard `Spread` rule: the host's domain is at its limit.
    Full(usize),
}

/// How many replicas a domain may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DomainLimit {
    /// The index of the rule.
    pub rule: usize,
    /// The index of the dimension.
    pub dimension: usize,
    pub domain: DomainId,
    pub limit: u32,
    pub taken: u32,
    /// The number of further replicas that its hosts have room for.
    pub room: u32,
}

impl DomainLimit {
    /// The number of further replicas that the domain takes.
    pub fn free(&self) -> u32 {
        self.limit.saturating_sub(self.taken).min(self.room)
    }
}

/// The domain of a hard `Within` rule in a refusal: no domain admits more new replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WithinLimit {
    /// The index of the rule.
    pub rule: usize,
    pub axis: Axis,
    pub domain: DomainId,
    /// Placed replicas in the domain.
    pub taken: u32,
    /// The most new replicas in the domain.
    pub admitted: u32,
}

/// Why the missing replicas have no place together. Means nothing if the answer is not wanted any more.
pub fn refusal<H: Hosts>(placing: &Placing<H>, rules: &[AxisRule]) -> Refusal {
    let missing = placing.missing.iter().sum();
    let total = placing.compared.placed + missing;
    let mut limited: Vec<Limited> = Limited::all(placing.compared, rules, missing);
    let bounds = placing.compared.hosts.bounds(total);
    let mut removed: BTreeMap<Removed, RemovedHosts> = BTreeMap::new();
    let (mut left, mut room) = (0, 0);
    for limited in &limited {
        placing.budget.count_list(limited.around.len() as u64);
    }
    let conditions = (placing.missing.len() + limited.len()) as u64;
    for host in 0..placing.cluster.hosts {
        if placing.budget.count(conditions) {
            break;
        }
        let by = match free_places(placing, &bounds, host) {
            Ok(more) => {
                room += more;
                let leaf = |dimension: usize| placing.cluster.dimensions[dimension].leaves[host as usize].0;
                let by = limited.iter_mut().filter_map(|limited| {
                    let is_full = limited.add_room(leaf(limited.compared.dimension), more);
                    is_full.then_some(Removed::Full(limited.rule))
                });
                by.fold(None, |first: Option<Removed>, by| first.or(Some(by)))
            }
            Err(by) => Some(by),
        };
        match by {
            Some(by) => removed.entry(by).or_default().add(host),
            None => left += 1,
        }
    }
    // Of two levels that a rule limits, the level that admits fewer replicas explains the refusal.
    limited.dedup_by(|other, limited| {
        let is_same = (other.rule, other.compared.dimension) == (limited.rule, limited.compared.dimension);
        if is_same && other.admits() < limited.admits() {
            std::mem::swap(other, limited);
        }
        is_same
    });
    let admitted = limited.iter().map(Limited::admits).min().unwrap_or(u32::MAX);
    Refusal {
        hosts: placing.cluster.hosts,
        removed: removed.iter().map(|(by, hosts)| (*by, hosts.number)).collect(),
        named: removed.into_iter().map(|(by, hosts)| (by, hosts.first)).collect(),
        left,
        admitted: admitted.min(room).min(missing),
        limits: limited.into_iter().flat_map(|limited| limited.domains).collect(),
        within: None,
        missing,
    }
}

/// The hosts that a condition removes.
#[derive(Default)]
struct RemovedHosts {
    number: u32,
    /// The first hosts, [`NAMED_HOSTS`] at most.
    first: Vec<u32>,
}

impl RemovedHosts {
    fn add(&mut self, host: u32) {
        self.number += 1;
        if self.first.len() < NAMED_HOSTS {
            self.first.push(host);
        }
    }
}

/// The room of a host in replicas, or the condition that removes the host.
fn free_places<H: Hosts>(placing: &Placing<H>, bounds: &CountBounds, host: u32) -> Result<u32, Removed> {
    let mut eligible = missing_roles(placing)
        .filter(|&role| placing.eligible.is_eligible(host, role))
        .peekable();
    if eligible.peek().is_none() {
        let mut lacking =
            missing_roles(placing).filter_map(|role| placing.eligible.lacking_dimension(placing.cluster, host, role));
        let is_outside = |(rule, all): (usize, &Eligible)| {
            let is_eligible = missing_roles(placing).any(|role| all.is_eligible(host, role));
            is_eligible.then_some(Removed::Outside(rule))
        };
        let outside = placing.outside.and_then(is_outside);
        let removed = lacking.next().map(Removed::NoDomain).or(outside);
        return Err(removed.unwrap_or(Removed::NotEligible));
    }
    if let Some(rule) = placing.affinity(host).excluding {
        return Err(Removed::Affinity(rule));
    }
    let more = bounds.more(placing.placed[host as usize]);
    if more == 0 {
        return Err(Removed::Taken);
    }
    let offers = eligible.map(|role| {
        let most = placing.missing[role].min(more);
        room(placing.hosts, (host, role), most, placing.budget)
    });
    match offers.sum::<u32>().min(more) {
        0 => Err(Removed::NoRoom),
        room => Ok(room),
    }
}

fn missing_roles<H: Hosts>(placing: &Placing<H>) -> impl Iterator<Item = usize> {
    (0..placing.missing.len()).filter(|&role| placing.missing[role] > 0)
}

/// The most replicas in a domain of the limited level that receives a replica. `None` if the rule limits no domain.
fn limit(rule: &AxisRule, compared: &ComparedDimension, missing: u32) -> Option<u32> {
    let even = compared.tree.first_level().first().map(|&domain| {
        let parent = compared.tree.parent(domain);
        compared
            .siblings(parent)
            .share(compared.below[parent as usize] + missing)
    });
    let even = even
        .filter(|_| rule.mode == Mode::MaxDifference)
        .map(|share| share.most);
    rule.cap.into_iter().chain(even).min()
}

/// The domains under a hard rule in one dimension.
struct Limited<'a> {
    rule: usize,
    compared: &'a ComparedDimension,
    domains: Vec<DomainLimit>,
    /// By domain of the dimension, the index of the limited domain around it.
    around: Vec<Option<u32>>,
    /// The room of hosts in none of these domains.
    outside: u32,
}

impl<'a> Limited<'a> {
    /// The limited domains of all hard rules for the missing replicas.
    fn all(compared: &'a Compared, rules: &[AxisRule], missing: u32) -> Vec<Limited<'a>> {
        let hard = rules.iter().filter(|rule| rule.level == Level::Hard);
        let limited = hard.flat_map(|rule| {
            let of_axis = |other: &&ComparedDimension| Axis::Domain(other.dimension) == rule.axis;
            let compared = compared.dimensions.iter().find(of_axis);
            let level = compared.and_then(|compared| {
                let limit = limit(rule, compared, missing)?;
                Some(Limited::new(rule.rule, compared, compared.tree.limited_level(), limit))
            });
            let outer = compared.and_then(|compared| {
                let (domain, _) = compared.outer?;
                Some(Limited::new(rule.rule, compared, &[domain], rule.strict?))
            });
            level.into_iter().chain(outer)
        });
        limited.collect()
    }

    fn new(rule: usize, compared: &'a ComparedDimension, domains: &[u32], limit: u32) -> Limited<'a> {
        let mut around: Vec<Option<u32>> = vec![None; compared.tree.len()];
        for (at, &domain) in (0..).zip(domains) {
            around[domain as usize] = Some(at);
        }
        for domain in 1..around.len() {
            let outer = compared.tree.parent(domain as u32) as usize;
            around[domain] = around[domain].or(around[outer]);
        }
        let domains = domains.iter().map(|&domain| DomainLimit {
            rule,
            dimension: compared.dimension,
            domain: DomainId(domain),
            limit,
            taken: compared.placed[domain as usize],
            room: 0,
        });
        Limited {
            rule,
            compared,
            domains: domains.collect(),
            around,
            outside: 0,
        }
    }

    /// Adds the room of a host; true if the host's domain is full.
    fn add_room(&mut self, leaf: u32, more: u32) -> bool {
        let Some(at) = self.around[leaf as usize] else {
            self.outside += more;
            return false;
        };
        let domain = &mut self.domains[at as usize];
        domain.room += more;
        domain.taken >= domain.limit
    }

    /// The most new replicas that the rule admits.
    fn admits(&self) -> u32 {
        self.domains.iter().map(DomainLimit::free).sum::<u32>() + self.outside
    }
}
