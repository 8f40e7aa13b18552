//! The places of several replicas on one host, one after the other: each place is found beside the places before.
//!
//! Naively, each place would be found from the first on: the cost of all places would grow with the cube of their
//! number. So the series keeps the taken amounts, and a place adds to these amounts.

use std::sync::Arc;

use super::{HostOffers, MAX_OVER, Offered, RoleOffers, score};
use crate::placing::Offer;
use crate::search::{self, Candidate, Placement, PlannedUsage, Slot, Snapshot};

/// The offers of a host for replicas of a role.
#[derive(Default)]
pub struct Series {
    /// By the number of replicas before.
    offers: Vec<Offer>,
    taken: Taken,
    /// Whether there is no room for more.
    has_ended: bool,
}

/// The amounts that replicas on a host have taken.
#[derive(Default)]
pub struct Taken {
    /// Each provider and class once.
    all: Vec<Placement>,
    /// Of a host of several providers: the usage within the normal limits, and within the capacities.
    usages: Option<[PlannedUsage; 2]>,
}

impl Taken {
    /// The taken amounts, and a further place.
    fn with(&self, place: &[Placement]) -> Vec<Placement> {
        let mut all = self.all.clone();
        for it in place {
            match all
                .iter_mut()
                .find(|known| (known.slot, known.class) == (it.slot, it.class))
            {
                Some(known) => known.amount = known.amount.saturating_add(it.amount),
                None => all.push(*it),
            }
        }
        all
    }

    fn usages(&mut self, normal: &Arc<Snapshot>, hard: &Arc<Snapshot>) -> &mut [PlannedUsage; 2] {
        let all = &self.all;
        self.usages.get_or_insert_with(|| {
            [normal, hard].map(|snapshot| {
                let mut usage = PlannedUsage::new(Arc::clone(snapshot));
                usage.add(all);
                usage
            })
        })
    }
}

impl HostOffers<'_> {
    /// The cost of a further replica on a host that gets `already` replicas of the role, at least 1.
    pub(super) fn in_series(&self, host: u32, role: usize, already: u32) -> Option<Offer> {
        let mut all = self.series.borrow_mut();
        let last = self
            .last
            .replace(Some((host, role)))
            .filter(|last| *last != (host, role));
        if let Some(left) = last.and_then(|last| all.get_mut(&last)) {
            left.taken.usages = None;
        }
        let series = all.entry((host, role)).or_default();
        while series.offers.len() <= already as usize && !series.has_ended {
            match self.extend(host, role, series) {
                Some(offer) => series.offers.push(offer),
                None => series.has_ended = true,
            }
        }
        series.offers.get(already as usize).copied()
    }

    /// The next offer of a series.
    fn extend(&self, host: u32, role: usize, series: &mut Series) -> Option<Offer> {
        let Some(Offered { offer: next, .. }) = self.next(host, &mut series.taken, role) else {
            self.give_up(host, &vec![role; series.offers.len() + 1]);
            return None;
        };
        let Some(previous) = series.offers.last() else {
            return Some(next);
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

    /// The place of a new replica on a host, beside the taken amounts. Adds the amounts of the place.
    pub(super) fn next(&self, host: u32, taken: &mut Taken, role: usize) -> Option<Offered> {
        if self.settings.interrupt.is_set() {
            return None;
        }
        let offered = if taken.all.is_empty() {
            self.first(host, role)?
        } else {
            self.further(host, taken, role)?
        };
        let place = &offered.candidate.placements;
        taken.all = taken.with(place);
        if let Some(usages) = &mut taken.usages {
            for usage in usages {
                usage.add(place);
            }
        }
        Some(offered)
    }

    /// The place after the taken amounts. A host of a single provider has one candidate.
    fn further(&self, host: u32, taken: &mut Taken, role: usize) -> Option<Offered> {
        let hard = PlannedUsage::new(Arc::clone(&self.hard));
        let is_alone = self.is_alone(host);
        let candidate = if is_alone {
            self.first(host, role)?.candidate
        } else {
            self.search_tree(&self.roles[role], self.list.slots[host as usize], taken)?
        };
        let all = taken.with(&candidate.placements);
        if is_alone && !hard.has_room(&all) {
            return None;
        }
        let normal = PlannedUsage::new(Arc::clone(&self.normal));
        let over = normal.added_over(&all) - normal.added_over(&taken.all);
        let scoring = self.roles[role].scoring.filter(|_| !all.is_empty());
        let cost = scoring.map(|scoring| hard.cost(scoring, &all));
        let offer = Offer {
            over: over.clamp(0, MAX_OVER),
            score: score(cost.unwrap_or_default()),
        };
        Some(Offered { offer, candidate })
    }

    /// The best candidate in the tree of a host, beside the taken amounts.
    fn search_tree(&self, role: &RoleOffers<'_>, slot: Slot, taken: &mut Taken) -> Option<Candidate> {
        let has_limits = !Arc::ptr_eq(&self.normal, &self.hard);
        let usages = taken.usages(&self.normal, &self.hard);
        let usages = usages.iter_mut().take(if has_limits { 2 } else { 1 });
        let mut found = usages.map(|usage| {
            let snapshot = Arc::clone(usage.snapshot());
            search::best_in_host(&snapshot, role.request, role.scoring, slot, self.settings)
        });
        found.find_map(|found| found.ok().flatten())
    }
}
