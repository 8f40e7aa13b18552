//! What each host offers for each role, found by the search as for any claim.
//!
//! Eligible is a host that has a candidate if room does not count. The best candidate within the normal limits is offered
//! first; of a host without one the best within the capacity, with what it goes over the normal limits.
//!
//! A host is mostly asked for one replica. If a rule lets it take several, each next one is searched with those before it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::hosts::HostList;
use super::wish::Role;
use crate::error::Result;
use crate::model::claims::negated;
use crate::placing::{Hosts, Offer};
use crate::search::{
    self, Candidate, HostCandidate, Placement, PlannedUsage, Rank, Request, Scoring, SearchSettings, Slot, Snapshot,
};

/// Costs are compared as whole numbers.
const COST_SCALE: f64 = (1 << 24) as f64;
const MAX_COST: f64 = (1_i64 << 35) as f64;
const MAX_OVER: i64 = 1 << 40;

/// The offers of all hosts.
pub struct HostOffers<'a> {
    pub list: &'a HostList,
    roles: Vec<RoleOffers<'a>>,
    settings: &'a SearchSettings,
    /// With the normal limits, and what the workload gives back.
    normal: RefCell<PlannedUsage>,
    /// With the capacities.
    hard: RefCell<PlannedUsage>,
    /// What a host offers for several replicas, by the roles in their order; as many as have room.
    series: RefCell<Series>,
    /// Whether all candidates were compared.
    pub is_exact: bool,
}

/// Places by host and roles; `None` if there is no room for the last of them.
type Series = HashMap<(u32, Vec<usize>), Option<Offered>>;

struct RoleOffers<'a> {
    request: &'a Request,
    scoring: Option<Scoring>,
    eligible: Vec<bool>,
    best: Vec<Option<Offered>>,
}

/// A place on a host.
#[derive(Clone)]
pub struct Offered {
    pub offer: Offer,
    pub candidate: Candidate,
}

/// Which hosts are eligible for each role.
pub struct Eligible {
    by_role: Vec<Vec<bool>>,
}

impl Eligible {
    /// `roles` have names as the tables spell them.
    pub fn of(snapshot: &Snapshot, list: &HostList, roles: &[Role], settings: &SearchSettings) -> Result<Eligible> {
        let unlimited = snapshot.with_unlimited_room();
        let mut by_role: Vec<Vec<bool>> = Vec::with_capacity(roles.len());
        for (at, role) in roles.iter().enumerate() {
            let same = roles[..at]
                .iter()
                .position(|other| other.query.request == role.query.request);
            if let Some(same) = same {
                by_role.push(by_role[same].clone());
                continue;
            }
            let mut eligible = vec![false; list.slots.len()];
            let (found, _) = search::best_of_each_host(&unlimited, &role.query.request, None, settings)?;
            for host in found.iter().filter_map(|it| list.of_root(it.host)) {
                eligible[host as usize] = true;
            }
            by_role.push(eligible);
        }
        Ok(Eligible { by_role })
    }

    pub fn is_eligible(&self, host: u32, role: usize) -> bool {
        self.by_role.get(role).is_some_and(|hosts| hosts[host as usize])
    }

    /// The hosts that are eligible for a role.
    pub fn hosts(&self, role: usize) -> impl Iterator<Item = u32> {
        let hosts = (0..).zip(&self.by_role[role]);
        hosts.filter(|(_, is_eligible)| **is_eligible).map(|(host, _)| host)
    }
}

/// For judgements, which ask for no offer.
impl Hosts for Eligible {
    fn is_eligible(&self, host: u32, role: usize) -> bool {
        Eligible::is_eligible(self, host, role)
    }

    fn offer(&self, _: u32, _: usize, _: u32) -> Option<Offer> {
        None
    }

    fn fits(&self, _: u32, _: &[u32]) -> bool {
        false
    }
}

impl<'a> HostOffers<'a> {
    /// `wanted` has the number of new replicas of each role; roles without any are not searched.
    pub fn new(
        (normal, hard): (PlannedUsage, PlannedUsage),
        (list, eligible): (&'a HostList, &Eligible),
        roles: &'a [Role],
        wanted: &[u32],
        settings: &'a SearchSettings,
    ) -> Result<HostOffers<'a>> {
        let mut offers = HostOffers {
            list,
            roles: Vec::with_capacity(roles.len()),
            settings,
            normal: RefCell::new(normal),
            hard: RefCell::new(hard),
            series: RefCell::default(),
            is_exact: true,
        };
        for (at, role) in roles.iter().enumerate() {
            let mut of_role = RoleOffers {
                request: &role.query.request,
                scoring: role.query.rank.and_then(Rank::scoring),
                eligible: eligible.by_role[at].clone(),
                best: vec![None; list.slots.len()],
            };
            if wanted[at] > 0 {
                offers.is_exact &= offers.search(&mut of_role)?;
            }
            offers.roles.push(of_role);
        }
        Ok(offers)
    }

    /// Finds the best candidate of each host.
    fn search(&mut self, role: &mut RoleOffers<'_>) -> Result<bool> {
        let normal = Arc::clone(self.normal.get_mut().snapshot());
        let hard = Arc::clone(self.hard.get_mut().snapshot());
        let (found, mut is_exact) = search::best_of_each_host(&normal, role.request, role.scoring, self.settings)?;
        for HostCandidate { host, cost, candidate } in found {
            if let Some(host) = self.list.of_root(host) {
                let offer = Offer {
                    over: 0,
                    score: score(cost),
                };
                role.best[host as usize] = Some(Offered { offer, candidate });
            }
        }
        let has_limits = hard.catalog().has_normal_limits();
        if has_limits {
            let (found, is_complete) = search::best_of_each_host(&hard, role.request, role.scoring, self.settings)?;
            is_exact &= is_complete;
            for HostCandidate { host, cost, candidate } in found {
                if let Some(host) = self.list.of_root(host)
                    && role.best[host as usize].is_none()
                {
                    let over = self
                        .normal
                        .get_mut()
                        .added_over(&candidate.placements)
                        .clamp(0, MAX_OVER);
                    let offer = Offer {
                        over,
                        score: score(cost),
                    };
                    role.best[host as usize] = Some(Offered { offer, candidate });
                }
            }
        }
        Ok(is_exact)
    }

    /// The place of one new replica on a host, after those of `before`.
    pub fn next(&self, host: u32, before: &[usize], role: usize) -> Option<Offered> {
        let best = self.roles[role].best[host as usize].as_ref();
        if before.is_empty() {
            return best.cloned();
        }
        let mut key = before.to_vec();
        key.push(role);
        if let Some(known) = self.series.borrow().get(&(host, key.clone())) {
            return known.clone();
        }
        let offered = self.search_next(host, before, role);
        self.series.borrow_mut().insert((host, key), offered.clone());
        offered
    }

    fn search_next(&self, host: u32, before: &[usize], role: usize) -> Option<Offered> {
        let mut taken: Vec<Placement> = Vec::new();
        for at in 0..before.len() {
            taken.extend(self.next(host, &before[..at], before[at])?.candidate.placements);
        }
        let slot = self.list.slots[host as usize];
        let alone = self.hard.borrow_mut().snapshot().is_alone(slot);
        let of_role = &self.roles[role];
        if alone {
            // A tree that is one provider has one candidate.
            let candidate = of_role.best[host as usize].clone()?.candidate;
            let all: Vec<Placement> = taken.iter().chain(&candidate.placements).copied().collect();
            let all = summed(all);
            if !self.hard.borrow().has_room(&all) {
                return None;
            }
            let normal = self.normal.borrow();
            let over = normal.added_over(&all) - normal.added_over(&summed(taken));
            return Some(self.offered(of_role, over, candidate, &all));
        }
        self.search_tree(of_role, slot, &taken)
    }

    /// Searches the tree of a host again, with what is taken there.
    fn search_tree(&self, role: &RoleOffers<'_>, slot: Slot, taken: &[Placement]) -> Option<Offered> {
        let mut found = None;
        for usage in [&self.normal, &self.hard] {
            let mut usage = usage.borrow_mut();
            usage.add(taken);
            let snapshot = Arc::clone(usage.snapshot());
            usage.add(&negated(taken));
            let best = search::best_in_host(&snapshot, role.request, role.scoring, slot, self.settings);
            if let Ok(Some(candidate)) = best {
                found = Some(candidate);
                break;
            }
        }
        let candidate = found?;
        let all: Vec<Placement> = summed(taken.iter().chain(&candidate.placements).copied().collect());
        let normal = self.normal.borrow();
        let over = normal.added_over(&all) - normal.added_over(&summed(taken.to_vec()));
        drop(normal);
        Some(self.offered(role, over, candidate, &all))
    }

    fn offered(&self, role: &RoleOffers<'_>, over: i64, candidate: Candidate, all: &[Placement]) -> Offered {
        let cost = role
            .scoring
            .and_then(|scoring| self.hard.borrow().cost_of(scoring, all))
            .unwrap_or_default();
        let offer = Offer {
            over: over.clamp(0, MAX_OVER),
            score: score(cost),
        };
        Offered { offer, candidate }
    }
}

impl Hosts for HostOffers<'_> {
    fn is_eligible(&self, host: u32, role: usize) -> bool {
        self.roles[role].eligible[host as usize]
    }

    fn offer(&self, host: u32, role: usize, already: u32) -> Option<Offer> {
        if already == 0 {
            return self.roles[role].best[host as usize].as_ref().map(|it| it.offer);
        }
        let before = vec![role; already as usize];
        let previous = self.offer(host, role, already - 1)?;
        let next = self.next(host, &before, role)?.offer;
        // With rank `fullest` each next replica scores better; here costs may not fall.
        Some(Offer {
            over: next.over.max(previous.over),
            score: if next.over > previous.over {
                next.score
            } else {
                next.score.max(previous.score)
            },
        })
    }

    fn fits(&self, host: u32, counts: &[u32]) -> bool {
        let mut before: Vec<usize> = Vec::new();
        for (role, count) in counts.iter().enumerate() {
            for _ in 0..*count {
                if self.next(host, &before, role).is_none() {
                    return false;
                }
                before.push(role);
            }
        }
        true
    }
}

fn score(cost: f64) -> i64 {
    (cost * COST_SCALE).clamp(-MAX_COST, MAX_COST) as i64
}

/// Each provider and class once.
fn summed(mut placements: Vec<Placement>) -> Vec<Placement> {
    placements.sort_unstable_by_key(|it| (it.slot, it.class));
    let mut all: Vec<Placement> = Vec::with_capacity(placements.len());
    for it in placements {
        match all
            .last_mut()
            .filter(|last| (last.slot, last.class) == (it.slot, it.class))
        {
            Some(last) => last.amount = last.amount.saturating_add(it.amount),
            None => all.push(it),
        }
    }
    all
}
