//! The index of cells: maps each item to its cell. The index depends on domains alone, and not on room or rules.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::placing::groups::Groups;

/// Cells by item. Items in the same domains of all indexed dimensions share a cell.
#[derive(Debug)]
pub struct CellIndex {
    /// The number of indexed dimensions.
    dimensions: usize,
    /// The domains of the cells, by cell and indexed dimension.
    leaves: Vec<u32>,
    /// The cell of each item.
    pub cell_of: Vec<u32>,
    /// The number of cells.
    pub cells: u32,
    /// By indexed dimension: the cells in groups, each in the same domains of all other indexed dimensions.
    groups: Vec<OnceLock<Groups>>,
}

impl CellIndex {
    /// An index of this number of dimensions. `leaf` returns the domain of an item in a dimension.
    pub fn of(items: u32, dimensions: usize, leaf: impl Fn(u32, usize) -> u32) -> CellIndex {
        let (mut leaves, mut cells) = (Vec::new(), 0);
        let cell_of = numbers(items, dimensions, &leaf);
        for (item, &cell) in (0..).zip(&cell_of) {
            if cell == cells {
                leaves.extend((0..dimensions).map(|at| leaf(item, at)));
                cells += 1;
            }
        }
        CellIndex {
            cell_of,
            groups: vec![OnceLock::new(); dimensions],
            leaves,
            cells,
            dimensions,
        }
    }

    /// About how many bytes the index occupies.
    fn bytes(&self) -> usize {
        let groups = self.groups.iter().filter_map(OnceLock::get).map(Groups::bytes);
        size_of_val(&*self.leaves) + size_of_val(&*self.cell_of) + groups.sum::<usize>()
    }

    /// The domain of a cell in an indexed dimension.
    pub fn leaf(&self, cell: u32, at: usize) -> u32 {
        self.leaves[cell as usize * self.dimensions + at]
    }

    /// The cells in groups, each in the same domains of all indexed dimensions except `without`.
    pub fn groups(&self, without: usize) -> impl Iterator<Item = &[u32]> {
        let groups = self.groups[without].get_or_init(|| {
            let others: Vec<usize> = (0..self.dimensions).filter(|&at| at != without).collect();
            let group_of = numbers(self.cells, others.len(), |cell, at| self.leaf(cell, others[at]));
            let count = group_of.iter().max().map_or(0, |last| last + 1);
            Groups::of(count as usize, group_of.iter().copied().zip(0..))
        });
        groups.all()
    }
}

/// Numbers the combinations of the items' domains, with one domain of each dimension, in the order of the items.
///
/// Naively, a hash map has the number of each combination. For 100,000 hosts with as many racks, the map took 50 ms,
/// without a check of the interrupt. Lists by domain and by combination take 5 to 10 ms for any domains.
fn numbers(items: u32, dimensions: usize, leaf: impl Fn(u32, usize) -> u32) -> Vec<u32> {
    let (mut number_of, mut count) = (vec![0; items as usize], 1);
    for at in 0..dimensions {
        let leaves = (0..items).map(|item| leaf(item, at));
        let domains = leaves.clone().max().map_or(0, |last| last + 1);
        let by_domain = Groups::of(domains as usize, leaves.zip(0..));
        // By combination before: the last domain, and the number of both.
        let mut known = vec![(u32::MAX, 0); count as usize];
        count = 0;
        for (domain, group) in (0..).zip(by_domain.all()) {
            for &item in group {
                let number = &mut number_of[item as usize];
                let (last, both) = &mut known[*number as usize];
                if *last != domain {
                    (*last, *both) = (domain, count);
                    count += 1;
                }
                *number = *both;
            }
        }
    }
    let (mut in_order, mut next) = (vec![None; count as usize], 0);
    for number in &mut number_of {
        *number = *in_order[*number as usize].get_or_insert_with(|| {
            next += 1;
            next - 1
        });
    }
    number_of
}

/// The number of cached indexes. Most workloads on the same hosts compare the same dimensions.
const KEPT_INDEXES: usize = 4;

/// A cache of the newest indexes. Clones share the indexes.
#[derive(Clone, Debug, Default)]
pub struct KeptIndexes(Arc<Mutex<Indexes>>);

/// Indexes by dimensions.
type Indexes = Vec<(Vec<usize>, Arc<CellIndex>)>;

impl KeptIndexes {
    /// About how many bytes the indexes occupy.
    pub fn bytes(&self) -> usize {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(_, index)| index.bytes()).sum()
    }

    /// The index by these dimensions. Two threads that miss the same index both make the index, because no lock is held
    /// for that time.
    pub fn get(&self, dimensions: Vec<usize>, make: impl FnOnce() -> CellIndex) -> Arc<CellIndex> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock()
            .iter()
            .find(|(known, _)| *known == dimensions)
            .map(|(_, index)| Arc::clone(index));
        known.unwrap_or_else(|| {
            let index = Arc::new(make());
            let mut all = lock();
            if all.len() == KEPT_INDEXES {
                all.remove(0);
            }
            all.push((dimensions, Arc::clone(&index)));
            index
        })
    }
}
