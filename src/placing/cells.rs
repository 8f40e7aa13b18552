//! Cells: sets of items in the same domains of each compared dimension, with their slots. A search decides how many
//! slots of each cell are taken, and a cell gives its cheapest slots.

pub mod index;
pub mod items;
pub mod places;
pub mod slot_costs;

use std::sync::Arc;

use self::index::CellIndex;
use self::items::Items;
use self::places::{CellPlaces, sum_by_domain};
use self::slot_costs::SlotCosts;
use super::budget::Budget;
use super::compared::Compared;
use super::cost::Cost;

/// Room for one replica. With several roles the cost is the cost of the cheapest role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellSlot {
    pub cost: Cost,
    pub item: u32,
}

/// Cells with their slots.
pub struct Cells {
    pub index: Arc<CellIndex>,
    /// The free places of each cell of the index.
    pub free: Vec<u32>,
    /// The numbers of the cells in the index.
    numbers: Vec<u32>,
    /// Where the slots of each cell begin.
    starts: Vec<u32>,
    /// The cheapest first in each cell.
    slots: Vec<CellSlot>,
    /// The most slots of an item, if an item may have more places.
    pub cut: Option<u32>,
    /// As [`SlotCosts::paid`].
    pub paid: Cost,
}

impl Cells {
    /// The cells of `kept`, each with the number of its slots beside it.
    pub fn of(items: &impl Items, places: &CellPlaces, kept: &[(u32, u32)], costs: &SlotCosts) -> Cells {
        let mut starts = Vec::with_capacity(kept.len() + 1);
        let mut next = vec![None; places.counts.len()];
        let mut end = 0;
        for &(cell, _) in kept {
            starts.push(end);
            next[cell as usize] = Some(end);
            end += places.counts[cell as usize];
        }
        starts.push(end);
        let empty = CellSlot {
            cost: Cost::ZERO,
            item: 0,
        };
        let mut slots = vec![empty; end as usize];
        // Costs are computed again, because storing the costs of all items would take more time.
        let mut item_costs = Vec::new();
        for (item, &cell) in (0..).zip(&places.index.cell_of) {
            if costs.budget.has_ended() {
                break;
            }
            let Some(at) = &mut next[cell as usize] else { continue };
            costs.of_item(items, item, &mut item_costs);
            for &cost in &item_costs {
                slots[*at as usize] = CellSlot { cost, item };
                *at += 1;
            }
        }
        let mut cells = Cells {
            index: Arc::clone(&places.index),
            free: places.counts.clone(),
            numbers: kept.iter().map(|(cell, _)| *cell).collect(),
            starts,
            slots,
            cut: places.cut,
            paid: costs.paid,
        };
        cells.sort(kept, costs.budget);
        cells
    }

    /// The cells of all items with all slots that can be taken.
    pub fn all(items: &impl Items, compared: &Compared, costs: &SlotCosts) -> Cells {
        let places = CellPlaces::of(items, compared, costs);
        Cells::of(items, &places, &places.all(costs), costs)
    }

    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn slots(&self, cell: usize) -> &[CellSlot] {
        &self.slots[self.starts[cell] as usize..self.starts[cell + 1] as usize]
    }

    pub fn leaf(&self, cell: usize, compared: usize) -> u32 {
        self.index.leaf(self.numbers[cell], compared)
    }

    /// The free places directly in each domain, `most` at most, by compared dimension.
    pub fn direct(&self, compared: &Compared, most: u32) -> Vec<Vec<u32>> {
        let all = compared.dimensions.iter().enumerate().map(|(at, dimension)| {
            let places = (0..self.len()).map(|cell| (self.leaf(cell, at), self.slots(cell).len() as u32));
            sum_by_domain(dimension.tree.len(), places, most)
        });
        all.collect()
    }

    /// Sorts the slots of each cell, and keeps the number of slots that `kept` has beside the cell.
    fn sort(&mut self, kept: &[(u32, u32)], budget: &Budget) {
        let mut end = 0;
        for (cell, &(_, most)) in kept.iter().enumerate() {
            let (from, to) = (self.starts[cell] as usize, self.starts[cell + 1] as usize);
            let all = &mut self.slots[from..to];
            let number = all.len().min(most as usize);
            if number < all.len() && !budget.count_list(all.len() as u64) {
                all.select_nth_unstable(number);
            }
            budget.sort(&mut all[..number]);
            self.slots.copy_within(from..from + number, end);
            self.starts[cell] = end as u32;
            end += number;
        }
        self.starts[kept.len()] = end as u32;
        self.slots.truncate(end);
    }
}
