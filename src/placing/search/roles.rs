//! Assigns roles to the slots that cells give: a minimum-cost flow from cells over items to roles.

use std::collections::HashMap;

use super::flow::{Arc, Network, UnitCosts};
use crate::placing::budget::Budget;
use crate::placing::cells::Cells;
use crate::placing::cells::items::Items;
use crate::placing::cluster::PlacedReplica;
use crate::placing::cost::Cost;

/// A replica of a role on an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assigned {
    pub role: usize,
    pub item: u32,
}

impl Assigned {
    /// The replica, if items are hosts.
    pub fn placed(self) -> PlacedReplica {
        PlacedReplica {
            role: self.role,
            host: self.item,
        }
    }
}

/// Why roles have no assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unassigned {
    /// No assignment exists for these numbers of replicas in cells.
    None,
    /// The cheapest assignment gives an item these replicas by role, which do not fit together.
    Together(u32, Vec<u32>),
}

/// A cheap assignment.
pub struct Assignment {
    pub cost: Cost,
    pub replicas: Vec<Assigned>,
    /// By role, how much dearer each replica could be and still be taken, because the role is cheap.
    pub prices: Vec<Cost>,
    /// False if the budget was spent: a cheaper assignment may exist.
    pub is_cheapest: bool,
}

/// The most replicas of a role on an item, set by a part of the search.
pub type RoleLimits = HashMap<(u32, usize), u32>;

/// The cheapest assignment of roles to the cells. Each cell gets the number beside the cell, each role at most
/// `missing`. When one part in `share` of the budget is spent, the rest goes to cheap slots, not to the cheapest.
pub fn assign(
    (items, limits): (&impl Items, &RoleLimits),
    (cells, taken): (&Cells, &[(u32, u32)]),
    missing: &[u32],
    (budget, share): (&Budget, u64),
) -> Result<Assignment, Unassigned> {
    let mut wanted = (0..missing.len()).filter(|&role| missing[role] > 0);
    if let (Some(role), None) = (wanted.next(), wanted.next()) {
        let slots = taken
            .iter()
            .flat_map(|&(cell, number)| &cells.slots(cell as usize)[..number as usize]);
        let cost = slots.clone().fold(Cost::ZERO, |sum, slot| sum + slot.cost);
        return Ok(Assignment {
            cost,
            replicas: slots.map(|slot| Assigned { role, item: slot.item }).collect(),
            prices: vec![Cost::ZERO; missing.len()],
            is_cheapest: true,
        });
    }
    let arcs = RoleArcs::new((items, limits), (cells, taken), missing, budget);
    if budget.has_ended() {
        return Err(Unassigned::None);
    }
    let mut network = Network::new(arcs.nodes, &arcs.arcs, &arcs, budget);
    let wanted = taken.iter().map(|(_, number)| number).sum();
    let sent = network.send(wanted, Some(share));
    if sent.units < wanted {
        return Err(Unassigned::None);
    }
    let mut all = Vec::new();
    for (arc, unit) in arcs.units.iter().enumerate() {
        if let RoleUnit::Offer(item, role) = *unit {
            all.extend((0..network.flow(arc)).map(|_| Assigned { role, item }));
        }
    }
    all.sort_by_key(|assigned| (assigned.item, assigned.role));
    let same_item = all.chunk_by(|one, other| one.item == other.item);
    for same in same_item.filter(|same| same.len() > 1) {
        let mut counts = vec![0; missing.len()];
        same.iter().for_each(|assigned| counts[assigned.role] += 1);
        if budget.count(counts.len() as u64) {
            return Err(Unassigned::None);
        }
        let is_mixed = counts.iter().filter(|count| **count > 0).count() > 1;
        if is_mixed && !items.fits(same[0].item, &counts) {
            return Err(Unassigned::Together(same[0].item, counts));
        }
    }
    let price = |role: usize| {
        network
            .price(arcs.first_role as usize + role)
            .unwrap_or_default()
            .max(Cost::ZERO)
    };
    Ok(Assignment {
        cost: sent.cost,
        is_cheapest: sent.is_cheapest,
        replicas: all,
        prices: (0..missing.len()).map(price).collect(),
    })
}

#[derive(Clone, Copy)]
enum RoleUnit {
    Cell(u32),
    Item(u32),
    Offer(u32, usize),
    Role(u32),
}

struct RoleArcs<'a, I> {
    items: &'a I,
    limits: &'a RoleLimits,
    nodes: usize,
    first_role: u32,
    arcs: Vec<Arc>,
    units: Vec<RoleUnit>,
}

impl<'a, I: Items> RoleArcs<'a, I> {
    fn new(
        (items, limits): (&'a I, &'a RoleLimits),
        (cells, taken): (&Cells, &[(u32, u32)]),
        missing: &[u32],
        budget: &Budget,
    ) -> RoleArcs<'a, I> {
        let mut all = RoleArcs {
            items,
            limits,
            nodes: 0,
            first_role: 0,
            arcs: Vec::new(),
            units: Vec::new(),
        };
        let of_cell = taken
            .iter()
            .map(|&(cell, number)| all.cheapest(&items_of(cells, cell, budget), (number as usize, missing), budget));
        let of_cell: Vec<Vec<(u32, Vec<u32>)>> = of_cell.collect();
        let first_item = 1 + taken.len() as u32;
        all.first_role = first_item + of_cell.iter().map(|items| items.len() as u32).sum::<u32>();
        let sink = all.first_role + missing.len() as u32;
        all.nodes = sink as usize + 1;
        for (at, &(_, number)) in taken.iter().enumerate() {
            all.add(0, 1 + at as u32, RoleUnit::Cell(number));
        }
        let mut node = first_item;
        for (at, items) in of_cell.iter().enumerate() {
            for (item, _) in items {
                all.add(1 + at as u32, node, RoleUnit::Item(*item));
                node += 1;
            }
        }
        for (at, (item, roles)) in (first_item..).zip(of_cell.into_iter().flatten()) {
            for role in roles {
                all.add(at, all.first_role + role, RoleUnit::Offer(item, role as usize));
            }
        }
        for (role, &number) in (0..).zip(missing) {
            all.add(all.first_role + role, sink, RoleUnit::Role(number));
        }
        all
    }

    /// The items that matter in a cell that gets `number` replicas, each with its roles: of each role the `number`
    /// cheapest. If a replica is on a further item, one of these items has no replica, and the replica can move there.
    fn cheapest(&self, items: &[u32], (number, missing): (usize, &[u32]), budget: &Budget) -> Vec<(u32, Vec<u32>)> {
        let mut roles: Vec<Vec<u32>> = vec![Vec::new(); items.len()];
        let mut costs: Vec<(Cost, usize)> = Vec::with_capacity(items.len());
        for role in (0..missing.len()).filter(|&role| missing[role] > 0) {
            if budget.count_list(items.len() as u64) {
                break;
            }
            costs.clear();
            let offers = items.iter().enumerate();
            costs.extend(
                offers.filter_map(|(at, &item)| Some((self.offer(item, role, 0)? + self.items.unit(item, 0), at))),
            );
            if number < costs.len() {
                costs.select_nth_unstable(number);
                costs.truncate(number);
            }
            costs.iter().for_each(|&(_, at)| roles[at].push(role as u32));
        }
        let items = items.iter().copied().zip(roles);
        items.filter(|(_, roles)| !roles.is_empty()).collect()
    }

    fn offer(&self, item: u32, role: usize, number: u32) -> Option<Cost> {
        let limit = (!self.limits.is_empty())
            .then(|| self.limits.get(&(item, role)))
            .flatten();
        match limit {
            Some(limit) if number >= *limit => None,
            _ => self.items.offer(item, role, number),
        }
    }

    fn add(&mut self, from: u32, to: u32, unit: RoleUnit) {
        self.arcs.push(Arc { from, to });
        self.units.push(unit);
    }
}

fn items_of(cells: &Cells, cell: u32, budget: &Budget) -> Vec<u32> {
    let mut items: Vec<u32> = cells.slots(cell as usize).iter().map(|slot| slot.item).collect();
    budget.sort(&mut items);
    items.dedup();
    items
}

impl<I: Items> UnitCosts for RoleArcs<'_, I> {
    fn unit(&self, arc: u32, number: u32) -> Option<Cost> {
        match self.units[arc as usize] {
            RoleUnit::Cell(most) | RoleUnit::Role(most) => (number < most).then_some(Cost::ZERO),
            RoleUnit::Item(item) => (number < self.items.most(item)).then(|| self.items.unit(item, number)),
            RoleUnit::Offer(item, role) => self.offer(item, role, number),
        }
    }
}
