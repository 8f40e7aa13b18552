//! Which role goes to which of the places that cells give: a flow from cells over items to roles.

use std::collections::HashMap;

use super::cells::{Cells, Items};
use super::cluster::Standing;
use super::cost::Cost;
use super::flow::{Arc, Network, UnitCosts};

/// A replica of a role on an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assigned {
    pub role: usize,
    pub item: u32,
}

impl Assigned {
    /// The replica, if items are hosts.
    pub fn standing(self) -> Standing {
        Standing {
            role: self.role,
            host: self.item,
        }
    }
}

/// Why roles have no assignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unassigned {
    /// There is none for these numbers of replicas in cells.
    None,
    /// The cheapest one gives an item these replicas by role, which do not fit together.
    Together(u32, Vec<u32>),
}

/// The cheapest assignment.
pub struct Assignment {
    pub cost: Cost,
    pub replicas: Vec<Assigned>,
    /// By role, what each replica could cost more and would be taken all the same, because the role is cheap.
    pub prices: Vec<Cost>,
}

/// The most replicas of a role on an item, where a part of the search limits them.
pub type RoleLimits = HashMap<(u32, usize), u32>;

/// The cheapest assignment of roles to the cells, of which each gets the number beside it; at most `missing` by role.
pub fn assign(
    items: &impl Items,
    cells: &Cells,
    taken: &[(u32, u32)],
    missing: &[u32],
    limits: &RoleLimits,
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
        });
    }
    let plan = Plan::new((items, limits), cells, taken, missing);
    let mut network = Network::new(plan.nodes, plan.arcs.clone(), &plan);
    let wanted = taken.iter().map(|(_, number)| number).sum();
    let (sent, cost) = network.send(wanted, &|_| false);
    if sent < wanted {
        return Err(Unassigned::None);
    }
    let mut all = Vec::new();
    for (arc, unit) in plan.units.iter().enumerate() {
        if let Unit::Offer(item, role) = *unit {
            all.extend((0..network.flow(arc)).map(|_| Assigned { role, item }));
        }
    }
    all.sort_by_key(|assigned| (assigned.item, assigned.role));
    for same in all.chunk_by(|one, other| one.item == other.item) {
        let mut counts = vec![0; missing.len()];
        same.iter().for_each(|assigned| counts[assigned.role] += 1);
        let is_mixed = counts.iter().filter(|count| **count > 0).count() > 1;
        if is_mixed && !items.fits(same[0].item, &counts) {
            return Err(Unassigned::Together(same[0].item, counts));
        }
    }
    let price = |role: usize| {
        network
            .price(plan.first_role as usize + role)
            .unwrap_or_default()
            .max(Cost::ZERO)
    };
    Ok(Assignment {
        cost,
        replicas: all,
        prices: (0..missing.len()).map(price).collect(),
    })
}

#[derive(Clone, Copy)]
enum Unit {
    Cell(u32),
    Item(u32),
    Offer(u32, usize),
    Role(u32),
}

struct Plan<'a, I> {
    items: &'a I,
    limits: &'a RoleLimits,
    nodes: usize,
    first_role: u32,
    arcs: Vec<Arc>,
    units: Vec<Unit>,
}

impl<'a, I: Items> Plan<'a, I> {
    fn new(
        (items, limits): (&'a I, &'a RoleLimits),
        cells: &Cells,
        taken: &[(u32, u32)],
        missing: &[u32],
    ) -> Plan<'a, I> {
        let of_cell: Vec<Vec<u32>> = taken.iter().map(|&(cell, _)| items_of(cells, cell)).collect();
        let first_item = 1 + taken.len() as u32;
        let first_role = first_item + of_cell.iter().map(|items| items.len() as u32).sum::<u32>();
        let sink = first_role + missing.len() as u32;
        let mut plan = Plan {
            items,
            limits,
            nodes: sink as usize + 1,
            first_role,
            arcs: Vec::new(),
            units: Vec::new(),
        };
        for (at, &(_, number)) in taken.iter().enumerate() {
            plan.add(0, 1 + at as u32, Unit::Cell(number));
        }
        let mut node = first_item;
        for (at, items) in of_cell.iter().enumerate() {
            for &item in items {
                plan.add(1 + at as u32, node, Unit::Item(item));
                node += 1;
            }
        }
        for (at, item) in of_cell.into_iter().flatten().enumerate() {
            for role in (0..missing.len()).filter(|&role| missing[role] > 0) {
                plan.add(
                    first_item + at as u32,
                    first_role + role as u32,
                    Unit::Offer(item, role),
                );
            }
        }
        for (role, &number) in missing.iter().enumerate() {
            plan.add(first_role + role as u32, sink, Unit::Role(number));
        }
        plan
    }

    fn add(&mut self, from: u32, to: u32, unit: Unit) {
        self.arcs.push(Arc { from, to });
        self.units.push(unit);
    }
}

fn items_of(cells: &Cells, cell: u32) -> Vec<u32> {
    let mut items: Vec<u32> = cells.slots(cell as usize).iter().map(|slot| slot.item).collect();
    items.sort_unstable();
    items.dedup();
    items
}

impl<I: Items> UnitCosts for Plan<'_, I> {
    fn unit(&self, arc: u32, number: u32) -> Option<Cost> {
        match self.units[arc as usize] {
            Unit::Cell(most) | Unit::Role(most) => (number < most).then_some(Cost::ZERO),
            Unit::Item(item) => (number < self.items.most(item)).then(|| self.items.unit(item, number)),
            Unit::Offer(item, role) => {
                let is_limited = self.limits.get(&(item, role)).is_some_and(|limit| number >= *limit);
                if is_limited {
                    None
                } else {
                    self.items.offer(item, role, number)
                }
            }
        }
    }
}
