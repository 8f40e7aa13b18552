//! The number and the least cost of the free places of each cell. The search chooses by these numbers the cells whose
//! slots are listed.

use std::sync::Arc;

use super::index::CellIndex;
use super::items::Items;
use super::slot_costs::SlotCosts;
use crate::placing::compared::Compared;
use crate::placing::cost::Cost;

/// The free places of all cells.
pub struct CellPlaces {
    /// The cells of the items.
    pub index: Arc<CellIndex>,
    /// By cell.
    pub counts: Vec<u32>,
    /// The cost of the cheapest place by cell, if it has any.
    pub cheapest: Vec<Cost>,
    /// The most slots of an item, if an item may have more places.
    pub cut: Option<u32>,
}

impl CellPlaces {
    /// The free places of all items.
    pub fn of(items: &impl Items, compared: &Compared, costs: &SlotCosts) -> CellPlaces {
        costs
            .budget
            .count_list(u64::from(items.count()) * compared.dimensions.len() as u64);
        let index = items.index(compared);
        let cells = index.cells as usize;
        let mut places = CellPlaces {
            counts: vec![0; cells],
            cheapest: vec![Cost::ZERO; cells],
            cut: None,
            index,
        };
        let mut item_costs = Vec::new();
        for (item, &cell) in (0..).zip(&places.index.cell_of) {
            costs.of_item(items, item, &mut item_costs);
            if costs.budget.has_ended() {
                break;
            }
            let Some(&first) = item_costs.first() else { continue };
            if costs.is_cut(items, item, item_costs.len()) {
                places.cut = Some(costs.most);
            }
            let (count, cheapest) = (&mut places.counts[cell as usize], &mut places.cheapest[cell as usize]);
            if *count == 0 || first < *cheapest {
                *cheapest = first;
            }
            *count += item_costs.len() as u32;
        }
        places
    }

    /// The free places of a cell that a search can take.
    pub fn takeable(&self, cell: u32, costs: &SlotCosts) -> u32 {
        self.counts[cell as usize].min(costs.most_of_cell)
    }

    /// All cells with free places, each with the number of places that a search can take.
    pub fn all(&self, costs: &SlotCosts) -> Vec<(u32, u32)> {
        let all = (0..self.counts.len() as u32).map(|cell| (cell, self.takeable(cell, costs)));
        all.filter(|(_, places)| *places > 0).collect()
    }

    /// The free places directly in each domain of a compared dimension, `most` at most.
    pub fn direct(&self, compared: &Compared, at: usize, most: u32) -> Vec<u32> {
        let places = (0..).zip(&self.counts);
        let places = places.map(|(cell, count)| (self.index.leaf(cell, at), *count));
        sum_by_domain(compared.dimensions[at].tree.len(), places, most)
    }
}

/// The sums of places by domain, `most` at most, from pairs of a domain and its places.
pub fn sum_by_domain(domains: usize, places: impl Iterator<Item = (u32, u32)>, most: u32) -> Vec<u32> {
    let mut sums = vec![0_u32; domains];
    for (domain, count) in places {
        let sum = &mut sums[domain as usize];
        *sum = (*sum + count).min(most);
    }
    sums
}
