//! Prices of roles, by which the flow over cells takes about as many replicas of each as are missing (Lagrangian
//! relaxation).
//!
//! A role that is the cheapest everywhere would be taken for all replicas otherwise, and the flow's cost be far below
//! that of any placement. Whatever the prices are, the flow's cost stays a lower bound.

use super::cells::{Cells, Items};
use super::compared::Compared;
use super::cost::Cost;
use super::relaxed::{Choice, Part};
use super::roles::{Unassigned, assign};
use super::search::{Wanted, relaxation};

/// How often prices are corrected, as long as that raises the lower bound.
const ROUNDS: u32 = 8;

/// Domains further down than this are not distinguished when a price is guessed.
const MAX_DEPTH: usize = 4;

/// A price for each role.
pub fn prices(items: &impl Items, compared: &Compared, wanted: Wanted) -> Vec<Cost> {
    let mut prices = vec![Cost::ZERO; wanted.missing.len()];
    let mut best: Option<(Cost, Vec<Cost>)> = None;
    for _ in 0..ROUNDS {
        let cells = Cells::all(items, compared, wanted.missing, &prices);
        if (wanted.interrupted)(items.count().into()) {
            break;
        }
        let priced = Wanted {
            prices: &prices,
            ..wanted
        };
        let relaxation = relaxation(compared, &cells, priced);
        let Ok(choice) = relaxation.solve(&Part::default(), &mut 0, wanted.interrupted) else {
            break;
        };
        if best.as_ref().is_some_and(|(cost, _)| choice.cost <= *cost) {
            break;
        }
        let next = match assign(items, &cells, &choice.taken, wanted.missing, &Part::default().roles) {
            Ok(assigned) => Some(assigned.prices),
            Err(Unassigned::None) => raised((items, &cells), compared, &choice, priced),
            Err(Unassigned::Together(..)) => None,
        };
        let cost = choice.cost;
        let Some(next) = next else {
            best = Some((cost, prices));
            break;
        };
        best = Some((cost, std::mem::replace(&mut prices, next)));
    }
    best.map_or_else(|| vec![Cost::ZERO; wanted.missing.len()], |(_, prices)| prices)
}

/// A slot of a cell with the role that is the cheapest there.
struct PricedSlot {
    cell: u32,
    role: usize,
    cost: Cost,
    is_taken: bool,
}

/// Higher prices for roles of which a choice has more than are missing, so that it has no assignment. `None` if no
/// price can be guessed.
fn raised(
    (items, cells): (&impl Items, &Cells),
    compared: &Compared,
    choice: &Choice,
    wanted: Wanted,
) -> Option<Vec<Cost>> {
    let slots = slots(items, cells, choice, wanted);
    let mut prices = wanted.prices.to_vec();
    let mut is_raised = false;
    for (role, price) in prices.iter_mut().enumerate() {
        let taken = slots.iter().filter(|slot| slot.is_taken && slot.role == role).count();
        let surplus = taken.saturating_sub(wanted.missing[role] as usize);
        if surplus == 0 {
            continue;
        }
        if (wanted.interrupted)(slots.len() as u64) {
            return None;
        }
        if let Some(rise) = rise(&slots, (cells, compared), role, surplus) {
            *price += rise;
            is_raised = true;
        }
    }
    is_raised.then_some(prices)
}

fn slots(items: &impl Items, cells: &Cells, choice: &Choice, wanted: Wanted) -> Vec<PricedSlot> {
    let mut taken = vec![0; cells.len()];
    choice
        .taken
        .iter()
        .for_each(|&(cell, number)| taken[cell as usize] = number as usize);
    let roles = || (0..wanted.missing.len()).filter(|&role| wanted.missing[role] > 0);
    let all = (0..cells.len() as u32).flat_map(|cell| {
        let slots = cells.slots(cell as usize).iter().enumerate();
        let is_taken = taken[cell as usize];
        slots.filter_map(move |(at, slot)| {
            let offers =
                roles().filter_map(|role| Some((items.offer(slot.item, role, 0)? + wanted.prices[role], role)));
            let (_, role) = offers.min()?;
            Some(PricedSlot {
                cell,
                role,
                cost: slot.cost,
                is_taken: at < is_taken,
            })
        })
    });
    all.collect()
}

/// By how much a role must be dearer so that about `surplus` of its slots are exchanged for free slots of other roles.
///
/// Slots are exchanged within domains of one depth. The choice is the cheapest, so an exchange that makes it cheaper
/// breaks bounds: then deeper domains are distinguished.
fn rise(slots: &[PricedSlot], of: (&Cells, &Compared), role: usize, surplus: usize) -> Option<Cost> {
    let mut guess = None;
    for depth in 0..=MAX_DEPTH {
        let mut rises = exchanges(slots, &domains(of, depth), role);
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

/// What each exchange costs within a domain: the dearest slots that a role has for the cheapest free ones of others.
fn exchanges(slots: &[PricedSlot], domains: &[u32], role: usize) -> Vec<Cost> {
    let domain = |slot: &PricedSlot| domains[slot.cell as usize];
    let mut order: Vec<&PricedSlot> = slots.iter().collect();
    order.sort_by_key(|slot| (domain(slot), slot.cost));
    let same = order.chunk_by(|one, other| domain(one) == domain(other));
    let costs = same.flat_map(|same| {
        let taken = same.iter().rev().filter(|slot| slot.is_taken && slot.role == role);
        let free = same.iter().filter(|slot| !slot.is_taken && slot.role != role);
        taken.zip(free).map(|(taken, free)| free.cost - taken.cost)
    });
    costs.collect()
}

/// By cell the domain of a depth in which it is, in the first compared dimension: that with the most domains.
fn domains((cells, compared): (&Cells, &Compared), depth: usize) -> Vec<u32> {
    let dimensions = compared.dimensions.iter().enumerate();
    let Some((at, dimension)) = dimensions.max_by_key(|(_, dimension)| dimension.tree.len()) else {
        return vec![0; cells.len()];
    };
    let of_cell = (0..cells.len()).map(|cell| {
        let mut path = vec![cells.leaf(cell, at)];
        while let Some(&top) = path.last().filter(|top| **top > 0) {
            path.push(dimension.tree.parent(top));
        }
        path.reverse();
        path[depth.min(path.len() - 1)]
    });
    of_cell.collect()
}
