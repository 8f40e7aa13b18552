//! Prices of roles by Lagrangian relaxation. With the prices, the flow over cells takes about as many replicas of each
//! role as are missing.
//!
//! Without prices, a role that is the cheapest everywhere would be taken for all replicas, and the flow's cost would be
//! far below the cost of any placement. With any prices the flow's cost is a lower bound. So the prices of a spent
//! budget are good enough.

use super::WantedReplicas;
use super::relaxed::{Choice, Part, Relaxation};
use super::roles::{Unassigned, assign};
use crate::placing::cells::Cells;
use crate::placing::cells::items::Items;
use crate::placing::cells::slot_costs::SlotCosts;
use crate::placing::compared::Compared;
use crate::placing::cost::Cost;

/// The most lower bounds that are found, the first without prices. Corrections end earlier if the bound does not rise.
const MAX_BOUNDS: u32 = 8;

/// No correction begins when one part in this number of the budget is spent.
const SHARE: u64 = 4;

/// Deeper domains are not distinguished when a price is guessed.
const MAX_DEPTH: usize = 4;

/// All cells, with the prices of the roles in their costs. A single role needs no price.
pub fn priced_cells(items: &impl Items, compared: &Compared, wanted: WantedReplicas) -> Cells {
    let cells_at = |prices: &[Cost]| {
        let costs = SlotCosts::new(items, wanted.missing, prices, wanted.budget);
        Cells::all(items, compared, &costs)
    };
    let none = vec![Cost::ZERO; wanted.missing.len()];
    let mut best = cells_at(&none);
    if wanted.is_of_one_role() || has_ended(wanted) {
        return best;
    }
    let (mut cost, mut next) = bound(items, compared, (&none, &best), wanted);
    for _ in 1..MAX_BOUNDS {
        let Some(prices) = next.filter(|_| !has_ended(wanted)) else {
            break;
        };
        let cells = cells_at(&prices);
        let found = bound(items, compared, (&prices, &cells), wanted);
        if found.0 <= cost {
            break;
        }
        best = cells;
        (cost, next) = found;
    }
    best
}

/// Whether the budget of corrections is spent, or the answer is not wanted any more.
fn has_ended(wanted: WantedReplicas) -> bool {
    wanted.budget.has_spent(SHARE, 0) || wanted.budget.has_ended()
}

/// The cost of the cheapest choice at given prices, `None` without a choice, and prices that may raise the cost.
fn bound(
    items: &impl Items,
    compared: &Compared,
    (prices, cells): (&[Cost], &Cells),
    wanted: WantedReplicas,
) -> (Option<Cost>, Option<Vec<Cost>>) {
    let relaxation = Relaxation::new(compared, cells, (wanted.new, wanted.cost_before), wanted.budget);
    let Ok(choice) = relaxation.solve(&Part::default(), None) else {
        return (None, None);
    };
    let assigned = assign(
        (items, &Part::default().roles),
        (cells, &choice.taken),
        wanted.missing,
        (wanted.budget, SHARE),
    );
    let next = match assigned {
        Ok(assigned) => assigned.is_cheapest.then_some(assigned.prices),
        Err(Unassigned::None) => raised((items, cells, prices), compared, &choice, wanted),
        Err(Unassigned::Together(..)) => None,
    };
    (Some(choice.cost), next)
}

/// A slot of a cell with its cheapest role.
struct PricedSlot {
    cell: u32,
    role: usize,
    cost: Cost,
    is_taken: bool,
}

/// Raises the price of each role that the choice uses more often than the role is missing. `None` if no price can be
/// guessed.
fn raised(
    (items, cells, prices): (&impl Items, &Cells, &[Cost]),
    compared: &Compared,
    choice: &Choice,
    wanted: WantedReplicas,
) -> Option<Vec<Cost>> {
    let slots = slots((items, cells, prices), choice, wanted);
    let mut exchanges = Exchanges {
        slots: &slots,
        of: (cells, compared),
        wanted,
        orders: Vec::new(),
    };
    let mut surplus = vec![0_usize; wanted.missing.len()];
    let taken = slots.iter().filter(|slot| slot.is_taken);
    taken.for_each(|slot| surplus[slot.role] += 1);
    let mut prices = prices.to_vec();
    let mut is_raised = false;
    for (role, price) in prices.iter_mut().enumerate() {
        let surplus = surplus[role].saturating_sub(wanted.missing[role] as usize);
        if surplus == 0 {
            continue;
        }
        if has_ended(wanted) {
            break;
        }
        if let Some(rise) = exchanges.rise(role, surplus) {
            *price += rise;
            is_raised = true;
        }
    }
    is_raised.then_some(prices)
}

fn slots(
    (items, cells, prices): (&impl Items, &Cells, &[Cost]),
    choice: &Choice,
    wanted: WantedReplicas,
) -> Vec<PricedSlot> {
    let mut taken = vec![0; cells.len()];
    choice
        .taken
        .iter()
        .for_each(|&(cell, number)| taken[cell as usize] = number as usize);
    let roles = || (0..wanted.missing.len()).filter(|&role| wanted.missing[role] > 0);
    let find = |item: u32| {
        if wanted.budget.count(wanted.missing.len() as u64) {
            return None;
        }
        let offers = roles().filter_map(|role| Some((items.offer(item, role, 0)? + prices[role], role)));
        offers.min().map(|(_, role)| role)
    };
    let mut known: Vec<Option<Option<usize>>> = vec![None; items.count() as usize];
    let mut all = Vec::new();
    for cell in (0..cells.len() as u32).take_while(|_| !wanted.budget.has_ended()) {
        for (at, slot) in cells.slots(cell as usize).iter().enumerate() {
            let role = *known[slot.item as usize].get_or_insert_with(|| find(slot.item));
            all.extend(role.map(|role| PricedSlot {
                cell,
                role,
                cost: slot.cost,
                is_taken: at < taken[cell as usize],
            }));
        }
    }
    all
}

/// The costs of exchanging slots of one role for slots of other roles.
struct Exchanges<'a> {
    slots: &'a [PricedSlot],
    of: (&'a Cells, &'a Compared),
    wanted: WantedReplicas<'a>,
    /// By depth: the domain, the cost and the index of each slot, in the order in which slots are exchanged.
    orders: Vec<Vec<(u32, Cost, u32)>>,
}

impl Exchanges<'_> {
    /// The rise of a role's price by which about `surplus` of its slots are exchanged for free slots of other roles.
    ///
    /// Slots are exchanged within domains of the same depth. The choice is the cheapest, so an exchange that lowers the
    /// cost breaks bounds. In this case deeper domains are distinguished.
    fn rise(&mut self, role: usize, surplus: usize) -> Option<Cost> {
        let mut guess = None;
        for depth in 0..=MAX_DEPTH {
            let mut rises = self.costs(depth, role);
            let number = rises.len();
            rises.retain(|rise| *rise >= Cost::ZERO);
            if rises.len() >= surplus {
                let (_, rise, _) = rises.select_nth_unstable(surplus - 1);
                guess = Some(*rise + Cost::LEAST);
                if rises.len() == number {
                    break;
                }
            }
        }
        guess
    }

    /// The cost of each exchange within a domain: the dearest taken slots of a role for the cheapest free slots of
    /// other roles.
    fn costs(&mut self, depth: usize, role: usize) -> Vec<Cost> {
        if self.orders.len() == depth {
            self.orders.push(self.order(depth));
        }
        if self.wanted.budget.count(self.slots.len() as u64) {
            return Vec::new();
        }
        let slot = |(_, _, slot): &(u32, Cost, u32)| &self.slots[*slot as usize];
        let same = self.orders[depth].chunk_by(|one, other| one.0 == other.0);
        let costs = same.flat_map(|same| {
            let taken = same.iter().rev().map(slot);
            let taken = taken.filter(|slot| slot.is_taken && slot.role == role);
            let free = same.iter().map(slot).filter(|slot| !slot.is_taken && slot.role != role);
            taken.zip(free).map(|(taken, free)| free.cost - taken.cost)
        });
        costs.collect()
    }

    fn order(&self, depth: usize) -> Vec<(u32, Cost, u32)> {
        let domains = self.domains(depth);
        let slots = (0..).zip(self.slots);
        let mut order: Vec<_> = slots
            .map(|(at, slot)| (domains[slot.cell as usize], slot.cost, at))
            .collect();
        self.wanted.budget.sort(&mut order);
        order
    }

    /// By cell the ancestor at a depth, in the compared dimension with the most domains.
    fn domains(&self, depth: usize) -> Vec<u32> {
        let (cells, compared) = self.of;
        let dimensions = compared.dimensions.iter().enumerate();
        let Some((at, dimension)) = dimensions.max_by_key(|(_, dimension)| dimension.tree.len()) else {
            return vec![0; cells.len()];
        };
        let of_cell = (0..cells.len()).map(|cell| {
            let mut path = vec![cells.leaf(cell, at)];
            while let Some(&top) = path.last().filter(|top| **top > 0) {
                path.push(dimension.tree.parent(top));
            }
            if self.wanted.budget.count(path.len() as u64) {
                return 0;
            }
            path.reverse();
            path[depth.min(path.len() - 1)]
        });
        of_cell.collect()
    }
}
