//! The domains that a rule `within` may choose, the most promising first.
//!
//! The naive solution places the replicas in each domain, and compares. A cluster may have thousands of racks. So each
//! domain gets a lower bound of the placement's rank: the cheapest places of its hosts, one by one. Domains are tried
//! in the order of the bounds, until no bound is below the best placement.

use std::collections::HashMap;

use super::host_items::cost_of_offer;
use crate::placing::budget::Budget;
use crate::placing::cluster::{Cluster, Hosts, Workload};
use crate::placing::cost::Cost;
use crate::placing::eligible::Eligible;
use crate::placing::rules::affinity::AffinityRules;
use crate::placing::rules::modes::has_host_rule;
use crate::placing::rules::{Level, Within};
use crate::placing::within::{AxisDomain, PathDomains, around};

/// The most replicas for which a host is asked before the search. A host with more room counts as a host with room for
/// all: the bound stays a lower bound.
const MOST_ASKED: u32 = 16;

/// The rank of a placement; the least is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlacementRank {
    pub unplaced: u32,
    /// Of a refused request, the replicas that a rule or the room does not admit. Otherwise zero.
    pub not_admitted: u32,
    before_growth: Cost,
    is_stuck: bool,
    cost: Cost,
}

impl PlacementRank {
    pub fn new((unplaced, not_admitted): (u32, u32), cost: Cost, is_stuck: bool) -> PlacementRank {
        let cost = cost.beyond_hard_bounds();
        PlacementRank {
            unplaced,
            not_admitted,
            before_growth: cost.before_rank(),
            is_stuck,
            cost,
        }
    }
}

/// A domain that may hold all replicas.
#[derive(Clone, Copy, Debug)]
pub struct CandidateDomain {
    pub domain: AxisDomain,
    /// No placement in the domain has a lower rank.
    pub least: PlacementRank,
}

/// The places of a domain.
#[derive(Default)]
struct DomainPlaces {
    /// The cost of a host's cheapest replica, and the most new replicas of the host.
    hosts: Vec<(Cost, u32)>,
    has_eligible: bool,
}

impl DomainPlaces {
    fn count(&self) -> u32 {
        self.hosts.iter().fold(0, |sum, (_, most)| sum.saturating_add(*most))
    }

    /// The least cost of this number of replicas, or of all places if there are fewer.
    fn least_cost(&mut self, mut number: u32, budget: &Budget) -> Cost {
        budget.sort(&mut self.hosts);
        let mut sum = Cost::ZERO;
        for &(cost, most) in &self.hosts {
            let taken = most.min(number);
            sum += cost * taken;
            number -= taken;
            if number == 0 {
                break;
            }
        }
        sum
    }
}

/// The domains, by their bounds. Replicas that are placed keep the workload in the domain that holds most of them, if
/// the rule is hard.
pub fn candidate_domains(
    (cluster, eligible): (&Cluster, &Eligible),
    hosts: &impl Hosts,
    (workload, missing): (&Workload, &[u32]),
    within: &Within,
    (seed, is_atomic, budget): (u64, bool, &Budget),
) -> Vec<CandidateDomain> {
    let domains = PathDomains::of(cluster, within.axis, workload.placed);
    budget.count_list(u64::from(cluster.hosts) + domains.len() as u64);
    let (is_hard, most) = (within.level == Level::Hard, domains.most());
    let total: u32 = missing.iter().sum();
    let (mut by_domain, mut all) = places(
        (cluster, eligible),
        hosts,
        (workload, missing),
        (within, is_hard),
        (seed, budget),
    );
    let wanted = WantedPlaces {
        total,
        anywhere: all.least_cost(total, budget),
        level: within.level,
        is_atomic,
    };
    let may_hold = domains.all().filter(|(_, count)| !is_hard || *count == most);
    let candidates = may_hold.filter_map(|(domain, placed)| {
        let places = by_domain.remove(&domain.domain.0).unwrap_or_default();
        if placed == 0 && !places.has_eligible {
            return None;
        }
        let outside = workload.placed.len() as u32 - placed;
        Some(CandidateDomain {
            domain,
            least: wanted.least_rank(places, outside, budget),
        })
    });
    let mut candidates: Vec<CandidateDomain> = candidates.collect();
    candidates.sort_by_key(|candidate| candidate.least);
    candidates
}

/// What the bounds of all domains share.
struct WantedPlaces {
    /// The missing replicas.
    total: u32,
    /// The least cost of all missing replicas on hosts of the cluster, if the rule is not hard.
    anywhere: Cost,
    level: Level,
    is_atomic: bool,
}

impl WantedPlaces {
    /// The bound of a domain. `outside` are placed replicas outside of the domain.
    fn least_rank(&self, mut places: DomainPlaces, outside: u32, budget: &Budget) -> PlacementRank {
        let (total, lacking) = (self.total, self.total.saturating_sub(places.count()));
        let inside = places.least_cost(total, budget);
        if self.level == Level::Hard {
            let short = match lacking {
                0 => (0, 0),
                // A refused request places nothing.
                _ if self.is_atomic => (total, lacking),
                _ => (lacking, 0),
            };
            return PlacementRank::new(short, if short.0 == total { Cost::ZERO } else { inside }, false);
        }
        let of_level = Cost::of_level(self.level);
        let partly = self.anywhere + of_level * (outside + lacking.max(1));
        let whole = (lacking == 0).then(|| inside + of_level * outside);
        PlacementRank::new((0, 0), whole.map_or(partly, |whole| whole.min(partly)), false)
    }
}

/// The places by domain, and the places of all hosts. Lists of a domain's hosts are needed only for a hard rule.
fn places(
    (cluster, eligible): (&Cluster, &Eligible),
    hosts: &impl Hosts,
    (workload, missing): (&Workload, &[u32]),
    (within, is_hard): (&Within, bool),
    (seed, budget): (u64, &Budget),
) -> (HashMap<u32, DomainPlaces>, DomainPlaces) {
    let affinity = AffinityRules::of(cluster, workload.rules, budget).effects(budget);
    let one_a_host = !has_host_rule(workload.rules);
    let total: u32 = missing.iter().sum();
    let mut is_taken = vec![false; cluster.hosts as usize];
    let standing = workload.standing();
    standing.hosts().for_each(|(_, host)| is_taken[host as usize] = true);
    let (mut by_domain, mut all): (HashMap<u32, DomainPlaces>, DomainPlaces) = Default::default();
    for host in 0..cluster.hosts {
        if budget.count_list(missing.len() as u64) {
            break;
        }
        if !eligible.any[host as usize] {
            continue;
        }
        let effect = affinity.get(host as usize).copied().unwrap_or_default();
        let is_full = effect.excluding.is_some() || one_a_host && is_taken[host as usize];
        let most = if is_full {
            0
        } else if one_a_host {
            1
        } else {
            total
        };
        let offers = (0..missing.len()).filter(|&role| missing[role] > 0 && eligible.is_eligible(host, role));
        let offers = offers.filter_map(|role| {
            let first = hosts.offer(host, role, 0)?;
            let cost = cost_of_offer(first, host, seed) + effect.cost;
            let asked = missing[role].min(most).min(MOST_ASKED);
            let room = room(hosts, (host, role), asked, budget);
            Some((
                cost,
                if room == MOST_ASKED {
                    missing[role].min(most)
                } else {
                    room
                },
            ))
        });
        let offers: Vec<(Cost, u32)> = offers.take_while(|_| most > 0).collect();
        let cheapest = offers.iter().map(|(cost, _)| *cost).min();
        let of_host = cheapest.map(|cost| {
            let room = offers.iter().map(|(_, room)| *room).sum::<u32>();
            (cost, room.min(most))
        });
        for domain in around(cluster, within.axis, host) {
            let places = by_domain.entry(domain).or_default();
            places.has_eligible = true;
            places.hosts.extend(of_host);
        }
        if !is_hard {
            all.hosts.extend(of_host);
        }
    }
    (by_domain, all)
}

/// The room of a host in replicas of a role, `most` at most. Found by bisection.
pub fn room(hosts: &impl Hosts, (host, role): (u32, usize), most: u32, budget: &Budget) -> u32 {
    let (mut room, mut none) = (0, most + 1);
    while room + 1 < none {
        let middle = room + (none - room) / 2;
        budget.count(1);
        match hosts.offer(host, role, middle - 1) {
            Some(_) => room = middle,
            None => none = middle,
        }
    }
    room
}
