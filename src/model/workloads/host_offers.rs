//! What each host offers for each role, found by the search as for any claim.
//!
//! The best candidate within the normal limits is offered
//! first; of a host without one the best within the capacity, with what it goes over the normal limits.
//!
//! A search finds the costs of all hosts, and candidates are built for the hosts that get a replica. A host is mostly
//! asked for one. If a rule lets it take several, each next one is searched with those before it.

mod together;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::hosts::HostList;
use super::wish::Role;
use crate::error::Result;
use crate::model::claims::negated;
use crate::placing::{Hosts, Offer};
use crate::search::{
    self, Candidate, HostCosts, Placement, PlannedUsage, Rank, Request, Scoring, SearchSettings, Slot,
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
    /// Whether all candidates were compared, and no better packing of replicas in a tree is possible.
    is_exact: Cell<bool>,
}

/// Places by host and roles; `None` if there is no room for the last of them.
type Series = HashMap<(u32, Vec<usize>), Option<Offered>>;

struct RoleOffers<'a> {
    request: &'a Request,
    scoring: Option<Scoring>,
    /// `None` if the role gets no new replica.
    first: Option<Rc<FirstOffers>>,
    /// The candidate on a host that is one provider. It is the same on all of them.
    alone: OnceCell<Candidate>,
}

/// What each host offers for its first new replica.
struct FirstOffers {
    normal: HostCosts,
    /// Of hosts that have no room within the normal limits.
    beyond: HashMap<Slot, Offer>,
    is_exact: bool,
}

/// A place on a host.
#[derive(Clone)]
pub struct Offered {
    pub offer: Offer,
    pub candidate: Candidate,
}

impl FirstOffers {
    fn find(
        (normal, hard): (&mut PlannedUsage, &mut PlannedUsage),
        request: &Request,
        scoring: Option<Scoring>,
        settings: &SearchSettings,
    ) -> Result<FirstOffers> {
        let within = search::best_of_each_host(normal.snapshot(), request, scoring, settings)?;
        let mut found = FirstOffers {
            is_exact: within.is_exact,
            normal: within,
            beyond: HashMap::new(),
        };
        let hard = hard.snapshot();
        if !hard.catalog().has_normal_limits() {
            return Ok(found);
        }
        let mut costs: HashMap<Slot, f64> = HashMap::new();
        let beyond = &mut found.beyond;
        found.is_exact &= search::each_host(hard, request, scoring, settings, |host, cost, candidate| {
            let is_better = found.normal.of(host).is_none() && costs.get(&host).is_none_or(|least| cost < *least);
            if is_better {
                costs.insert(host, cost);
                let over = normal.added_over(&candidate().placements).clamp(0, MAX_OVER);
                let score = score(cost);
                beyond.insert(host, Offer { over, score });
            }
        })?;
        Ok(found)
    }

    fn of(&self, host: Slot) -> Option<Offer> {
        match self.normal.of(host) {
            Some(cost) => Some(Offer {
                over: 0,
                score: score(cost),
            }),
            None => self.beyond.get(&host).copied(),
        }
    }
}

impl<'a> HostOffers<'a> {
    /// `wanted` has the number of new replicas of each role; roles without any are not searched.
    pub fn new(
        (mut normal, mut hard): (PlannedUsage, PlannedUsage),
        list: &'a HostList,
        roles: &'a [Role],
        wanted: &[u32],
        settings: &'a SearchSettings,
    ) -> Result<HostOffers<'a>> {
        let mut offers: Vec<RoleOffers<'a>> = Vec::with_capacity(roles.len());
        for (at, role) in roles.iter().enumerate() {
            let scoring = role.query.rank.and_then(Rank::scoring);
            let request = &role.query.request;
            let mut known = offers
                .iter()
                .filter(|it| it.scoring == scoring && it.request == request);
            let first = match known.find_map(|it| it.first.clone()) {
                _ if wanted[at] == 0 => None,
                Some(known) => Some(known),
                None => Some(Rc::new(FirstOffers::find(
                    (&mut normal, &mut hard),
                    request,
                    scoring,
                    settings,
                )?)),
            };
            offers.push(RoleOffers {
                request,
                scoring,
                first,
                alone: OnceCell::new(),
            });
        }
        Ok(HostOffers {
            list,
            is_exact: Cell::new(offers.iter().flat_map(|it| &it.first).all(|first| first.is_exact)),
            roles: offers,
            settings,
            normal: RefCell::new(normal),
            hard: RefCell::new(hard),
            series: RefCell::default(),
        })
    }

    /// Whether no better offers, and no offers of more hosts, can exist than those that were made so far.
    pub fn is_exact(&self) -> bool {
        self.is_exact.get()
    }

    /// The place of one new replica on a host, after those of `before`.
    fn next(&self, host: u32, before: &[usize], role: usize) -> Option<Offered> {
        if before.is_empty() {
            return self.first(host, role);
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

    /// The place of the first new replica on a host.
    fn first(&self, host: u32, role: usize) -> Option<Offered> {
        let (of_role, slot) = (&self.roles[role], self.list.slots[host as usize]);
        let first = of_role.first.as_ref()?;
        let offer = first.of(slot)?;
        let usage = match first.normal.of(slot) {
            Some(_) => &self.normal,
            None => &self.hard,
        };
        let snapshot = Arc::clone(usage.borrow_mut().snapshot());
        let is_alone = snapshot.is_alone(slot);
        if let Some(known) = of_role.alone.get().filter(|_| is_alone) {
            let candidate = known.moved_to(slot);
            return Some(Offered { offer, candidate });
        }
        let found = search::best_in_host(&snapshot, of_role.request, of_role.scoring, slot, self.settings);
        let candidate = found.ok().flatten()?;
        if is_alone {
            // It is set once, because only one thread plans.
            let _ = of_role.alone.set(candidate.clone());
        }
        Some(Offered { offer, candidate })
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
            let candidate = self.first(host, role)?.candidate;
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
    fn offer(&self, host: u32, role: usize, already: u32) -> Option<Offer> {
        if already == 0 {
            return self.roles[role].first.as_ref()?.of(self.list.slots[host as usize]);
        }
        let before = vec![role; already as usize];
        let previous = self.offer(host, role, already - 1)?;
        let Some(Offered { offer: next, .. }) = self.next(host, &before, role) else {
            self.give_up(host, &vec![role; already as usize + 1]);
            return None;
        };
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
        let roles = counts.iter().enumerate();
        let roles = roles.flat_map(|(role, count)| vec![role; *count as usize]);
        self.together(host, &roles.collect::<Vec<usize>>()).is_some()
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
