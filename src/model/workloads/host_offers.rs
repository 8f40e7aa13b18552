//! What each host offers for each role, found by the search as for any claim.
//!
//! The offer is the best candidate within the normal limits. If a host has none, the offer is the best candidate within
//! the capacity, with the excess over the normal limits.
//!
//! A search finds the costs of all hosts, and candidates are built for the hosts that get a replica. Most hosts get at
//! most one replica. If a rule allows several, `series` continues from the amounts that the replicas before have taken.
//! The next place costs a sum on a host of a single provider, and a search of the tree on any other host.

mod series;
mod together;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::hosts::HostList;
use super::spec::Role;
use crate::error::Result;
use crate::placing::{Hosts, Offer};
use crate::search::{self, Candidate, HostCosts, PlannedUsage, Rank, Request, Scoring, SearchSettings, Slot, Snapshot};

/// Costs are compared as whole numbers.
const COST_SCALE: f64 = (1 << 24) as f64;
const MAX_COST: f64 = (1_i64 << 35) as f64;
const MAX_OVER: i64 = 1 << 40;

/// The offers of all hosts.
pub struct HostOffers<'a> {
    pub list: &'a HostList,
    roles: Vec<RoleOffers<'a>>,
    settings: &'a SearchSettings,
    /// With the normal limits, and the room that the workload gives back.
    normal: Arc<Snapshot>,
    /// With the capacities. The same snapshot if there are no normal limits.
    hard: Arc<Snapshot>,
    /// The offers of a host for several replicas of a role, by host and role.
    series: RefCell<HashMap<(u32, usize), series::Series>>,
    /// The series that was asked last. Only this series keeps the usage.
    last: Cell<Option<(u32, usize)>>,
    /// Whether replicas of several roles find places together on a host, by host and roles.
    fitting: RefCell<HashMap<(u32, Vec<usize>), bool>>,
    /// Whether all candidates were compared, and no better packing of replicas in a tree is possible.
    is_exact: Cell<bool>,
}

struct RoleOffers<'a> {
    request: &'a Request,
    scoring: Option<Scoring>,
    /// `None` if the role gets no new replica.
    first: Option<Rc<FirstOffers>>,
    /// The candidate on a host of a single provider, which is the same on all of these hosts.
    alone: OnceCell<Candidate>,
}

/// The offer of each host for the first new replica.
struct FirstOffers {
    normal: HostCosts,
    /// Of hosts without room within the normal limits.
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
        [normal, hard]: [&Arc<Snapshot>; 2],
        request: &Request,
        scoring: Option<Scoring>,
        settings: &SearchSettings,
    ) -> Result<FirstOffers> {
        let within = search::best_of_each_host(normal, request, scoring, settings)?;
        let mut found = FirstOffers {
            is_exact: within.is_exact,
            normal: within,
            beyond: HashMap::new(),
        };
        if !hard.catalog().has_normal_limits() {
            return Ok(found);
        }
        let usage = PlannedUsage::new(Arc::clone(normal));
        let mut costs: HashMap<Slot, f64> = HashMap::new();
        let beyond = &mut found.beyond;
        found.is_exact &= search::each_host(hard, request, scoring, settings, |host, cost, candidate| {
            let is_better = found.normal.of(host).is_none() && costs.get(&host).is_none_or(|least| cost < *least);
            if is_better {
                costs.insert(host, cost);
                let over = usage.added_over(&candidate().placements).clamp(0, MAX_OVER);
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
        [normal, hard]: [&Arc<Snapshot>; 2],
        list: &'a HostList,
        roles: &'a [Role],
        wanted: &[u32],
        settings: &'a SearchSettings,
    ) -> Result<HostOffers<'a>> {
        let mut offers: Vec<RoleOffers<'a>> = Vec::with_capacity(roles.len());
        let mut known: HashMap<(Option<Scoring>, &Request), Rc<FirstOffers>> = HashMap::new();
        for (at, role) in roles.iter().enumerate() {
            let scoring = role.query.rank.and_then(Rank::scoring);
            let request = &role.query.request;
            let first = if wanted[at] == 0 {
                None
            } else if let Some(first) = known.get(&(scoring, request)) {
                Some(Rc::clone(first))
            } else {
                let first = Rc::new(FirstOffers::find([normal, hard], request, scoring, settings)?);
                known.insert((scoring, request), Rc::clone(&first));
                Some(first)
            };
            offers.push(RoleOffers {
                request,
                scoring,
                first,
                alone: OnceCell::new(),
            });
        }
        let has_limits = hard.catalog().has_normal_limits();
        Ok(HostOffers {
            list,
            is_exact: Cell::new(offers.iter().flat_map(|it| &it.first).all(|first| first.is_exact)),
            roles: offers,
            settings,
            normal: Arc::clone(if has_limits { normal } else { hard }),
            hard: Arc::clone(hard),
            series: RefCell::default(),
            last: Cell::new(None),
            fitting: RefCell::default(),
        })
    }

    /// Whether no better offers can exist than the offers so far, and no further host can have an offer.
    pub fn is_exact(&self) -> bool {
        self.is_exact.get()
    }

    /// The place of the first new replica on a host.
    fn first(&self, host: u32, role: usize) -> Option<Offered> {
        let (of_role, slot) = (&self.roles[role], self.list.slots[host as usize]);
        let first = of_role.first.as_ref()?;
        let offer = first.of(slot)?;
        let snapshot = match first.normal.of(slot) {
            Some(_) => &self.normal,
            None => &self.hard,
        };
        let is_alone = snapshot.is_alone(slot);
        if let Some(known) = of_role.alone.get().filter(|_| is_alone) {
            let candidate = known.moved_to(slot);
            return Some(Offered { offer, candidate });
        }
        let found = search::best_in_host(snapshot, of_role.request, of_role.scoring, slot, self.settings);
        let candidate = found.ok().flatten()?;
        if is_alone {
            // The cell is set once, because only one thread plans.
            let _ = of_role.alone.set(candidate.clone());
        }
        Some(Offered { offer, candidate })
    }

    fn is_alone(&self, host: u32) -> bool {
        self.hard.is_alone(self.list.slots[host as usize])
    }
}

impl Hosts for HostOffers<'_> {
    fn offer(&self, host: u32, role: usize, already: u32) -> Option<Offer> {
        if already == 0 {
            return self.roles[role].first.as_ref()?.of(self.list.slots[host as usize]);
        }
        self.in_series(host, role, already)
    }

    fn fits(&self, host: u32, counts: &[u32]) -> bool {
        let roles = counts.iter().enumerate();
        let roles = roles.flat_map(|(role, count)| std::iter::repeat_n(role, *count as usize));
        let asked = (host, roles.collect::<Vec<usize>>());
        let known = self.fitting.borrow().get(&asked).copied();
        known.unwrap_or_else(|| {
            let fits = self.together(host, &asked.1).is_some();
            self.fitting.borrow_mut().insert(asked, fits);
            fits
        })
    }
}

fn score(cost: f64) -> i64 {
    (cost * COST_SCALE).clamp(-MAX_COST, MAX_COST) as i64
}
