//! The attempts to place the missing replicas on a set of eligible hosts: all replicas first, and fewer if the search
//! finds no placement.

use std::sync::Arc;

use super::ceiling::ceiling;
use super::host_items::{HostItems, Placing};
use super::prune::prune;
use crate::placing::cells::Cells;
use crate::placing::cells::places::{CellPlaces, sum_by_domain};
use crate::placing::cells::slot_costs::SlotCosts;
use crate::placing::cluster::{Hosts, PlacedReplica};
use crate::placing::compared::CountBounds;
use crate::placing::cost::Cost;
use crate::placing::search::growth::{Growth, lacks_domain};
use crate::placing::search::role_prices::priced_cells;
use crate::placing::search::roles::Assigned;
use crate::placing::search::{Outcome, WantedReplicas, search, search_with_room};

/// Whether the answer may change if all slots are listed. After a single flow the answer stays if each item has a
/// listed slot that is not taken.
fn may_need_more_slots(cells: &Cells, outcome: &Outcome) -> bool {
    let Some(cut) = cells.cut else { return false };
    let Some((_, replicas)) = &outcome.best else {
        return true;
    };
    let mut items: Vec<u32> = replicas.iter().map(|replica| replica.item).collect();
    items.sort_unstable();
    let is_full = items
        .chunk_by(|one, other| one == other)
        .any(|same| same.len() as u32 >= cut);
    is_full || !outcome.is_one_flow
}

/// The best placement on a set of eligible hosts.
pub struct BestPlacement {
    /// By role and then by host.
    pub replicas: Vec<PlacedReplica>,
    pub cost: Cost,
    /// As [`Outcome::is_stuck`].
    pub is_stuck: bool,
    pub is_exact: bool,
}

/// Whether an additional replica may have a place.
enum RoomForMore<'a> {
    NotAsked,
    /// No dimension admits the additional replica.
    None,
    In(Growth<'a>),
}

impl<H: Hosts> Placing<'_, H> {
    /// The most replicas with a place, in the best places.
    ///
    /// Each attempt has a replica less than the attempt before. When the budget is spent, bisection finds the number,
    /// because each attempt is about a flow.
    pub fn best(&self, atomic: bool) -> BestPlacement {
        let all: u32 = self.missing.iter().sum();
        let (mut placed, mut best, mut cost, mut is_stuck) = (0, Vec::new(), Cost::ZERO, false);
        // The least number without a placement, as far as known.
        let mut fails = all + 1;
        let (mut is_exact, mut cells, mut next) = (true, None, all);
        while placed < next && !self.budget.has_ended() {
            let outcome = self.attempt(next, &mut cells);
            is_exact &= outcome.is_exact;
            if let Some((its_cost, assigned)) = outcome.best {
                (placed, best, cost, is_stuck) = (next, assigned, its_cost, outcome.is_stuck);
            } else {
                fails = next.min(outcome.most + 1);
            }
            if atomic {
                break;
            }
            let is_bound_new = fails < next;
            next = fails - 1;
            if self.budget.is_spent() && placed < next {
                is_exact = false;
                if !is_bound_new {
                    next = (placed + fails) / 2;
                }
            }
        }
        let mut replicas: Vec<PlacedReplica> = best.into_iter().map(Assigned::placed).collect();
        replicas.sort_by_key(|replica| (replica.role, replica.host));
        BestPlacement {
            replicas,
            cost,
            is_stuck,
            is_exact,
        }
    }

    /// The best places of `new` replicas. `known` are the cells of the attempt before, if the cells stay the same.
    fn attempt(&self, new: u32, known: &mut Option<Cells>) -> Outcome {
        let all: u32 = self.missing.iter().sum();
        let bounds = self.compared.hosts.bounds(self.compared.placed + new);
        let cost_before = self.compared.hosts.cost_before(&bounds);
        let items = HostItems::new(self, bounds);
        let wanted = WantedReplicas {
            missing: self.missing,
            new,
            cost_before,
            budget: self.budget,
            has_fallback: false,
        };
        let cells = match known.take() {
            Some(cells) => cells,
            None if wanted.is_of_one_role() => self.cells(&items, new, 0),
            None => priced_cells(&items, self.compared, wanted),
        };
        if self.budget.has_ended() {
            return Outcome::of_ceiling(0);
        }
        let placeable = ceiling(self.compared, &cells.direct(self.compared, new), new);
        let mut outcome = if placeable < new {
            Outcome::of_ceiling(placeable)
        } else {
            let more = if new == all {
                self.room_for_more(&cells, &items.bounds)
            } else {
                RoomForMore::NotAsked
            };
            let growth = match &more {
                RoomForMore::In(growth) => Some(growth),
                RoomForMore::NotAsked | RoomForMore::None => None,
            };
            let outcome = search(&items, self.compared, &cells, wanted, growth);
            let outcome = match growth {
                Some(growth) if outcome.is_stuck => self.with_room(&items, &cells, wanted, (growth, outcome)),
                _ => outcome,
            };
            Outcome {
                is_stuck: outcome.is_stuck || matches!(more, RoomForMore::None),
                ..outcome
            }
        };
        outcome.is_exact &= !may_need_more_slots(&cells, &outcome);
        if wanted.is_of_one_role() && !self.compared.hosts.depend_on_total() {
            *known = Some(cells);
        }
        outcome
    }

    /// The places and the rules of an additional replica. Not asked without a hard spread. Not asked either if hosts
    /// take replicas of several roles: the room of a host beside replicas of several roles is not known.
    fn room_for_more(&self, cells: &Cells, bounds: &CountBounds) -> RoomForMore<'_> {
        let Some(next) = self.next.as_ref() else {
            return RoomForMore::NotAsked;
        };
        let more = self.missing.iter().sum::<u32>() + 1;
        let one_more: Vec<u32> = self.missing.iter().map(|&missing| missing + missing.min(1)).collect();
        let items = HostItems::new(self, next.hosts.bounds(next.placed + more));
        let takes_one = bounds.hard.most <= 1 && items.bounds.hard.most <= 1;
        let has_several_roles = self.missing.iter().filter(|missing| **missing > 0).count() > 1;
        let mut free = if has_several_roles && (!takes_one || next.hosts.has_rule()) {
            return RoomForMore::NotAsked;
        } else if takes_one {
            cells.free.clone()
        } else {
            let no_prices = vec![Cost::ZERO; self.missing.len()];
            let costs = SlotCosts::new(&items, &one_more, &no_prices, self.budget);
            CellPlaces::of(&items, next, &costs).counts
        };
        let needed = self.eligible.needed_for_one_more(next.indices());
        if !needed.is_empty() {
            for (cell, free) in (0..).zip(&mut free) {
                let is_for_one = lacks_domain(&needed, |at| cells.index.leaf(cell, at));
                *free *= u32::from(!is_for_one);
            }
        }
        let direct = (0..next.dimensions.len()).map(|at| {
            let places = (0..).zip(&free);
            let places = places.map(|(cell, number)| (cells.index.leaf(cell, at), *number));
            sum_by_domain(next.dimensions[at].tree.len(), places, more)
        });
        // A rule that only the next replica has to keep does not bound the replicas before.
        let mut dimensions = next.dimensions.iter().zip(&self.compared.dimensions);
        let is_even_before = dimensions.all(|(next, now)| now.demands.is_even || !next.demands.is_even);
        if is_even_before && ceiling(next, &direct.collect::<Vec<_>>(), more) < more {
            return RoomForMore::None;
        }
        let places = (Arc::clone(&cells.index), free);
        RoomForMore::In(Growth::new(next, places, needed, Cost::before_rank))
    }

    /// The best placement with room for an additional replica, or `stuck`, a placement without room.
    fn with_room(
        &self,
        items: &HostItems<H>,
        cells: &Cells,
        wanted: WantedReplicas,
        (growth, stuck): (&Growth, Outcome),
    ) -> Outcome {
        let Some(without_room) = stuck.best.as_ref().map(|(cost, _)| *cost) else {
            return stuck;
        };
        let spared = wanted.is_of_one_role().then(|| self.cells(items, wanted.new, 1));
        let cells = spared.as_ref().unwrap_or(cells);
        let found = search_with_room(items, self.compared, cells, wanted, (growth, without_room));
        let is_exact = stuck.is_exact && found.is_exact;
        let chosen = if found.best.is_some() { found } else { stuck };
        Outcome {
            is_exact,
            is_one_flow: false,
            ..chosen
        }
    }

    /// The cells for `new` replicas of a single role, and for `spare` replicas in the places that are left.
    fn cells(&self, items: &HostItems<H>, new: u32, spare: u32) -> Cells {
        let no_prices = vec![Cost::ZERO; self.missing.len()];
        let costs = SlotCosts::new(items, self.missing, &no_prices, self.budget);
        let places = CellPlaces::of(items, self.compared, &costs);
        if self.budget.has_ended() {
            return Cells::of(items, &places, &[], &costs);
        }
        let kept = prune(&places, self.compared, (new, spare), &costs);
        Cells::of(items, &places, &kept, &costs)
    }
}
