//! The index of cells: maps each item to its cell. The index depends on domains alone, and not on room or rules.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::cell_numbers::CellNumbers;

/// Cells by item. Items in the same domains of all indexed dimensions share a cell.
#[derive(Debug)]
pub struct CellIndex {
    /// The number of domains of each indexed dimension.
    domains: Vec<usize>,
    /// The domains of the cells, by cell and indexed dimension.
    leaves: Vec<u32>,
    /// The cell of each item.
    pub cell_of: Vec<u32>,
    /// The number of cells.
    pub cells: u32,
    /// By indexed dimension.
    groups: Vec<OnceLock<Groups>>,
}

/// Groups of cells. The cells of a group are in the same domains of all indexed dimensions except one dimension.
#[derive(Debug)]
struct Groups {
    /// Where each group begins.
    starts: Vec<u32>,
    cells: Vec<u32>,
}

impl CellIndex {
    /// An index of dimensions with these numbers of domains. `leaf` returns the domain of an item in a dimension.
    pub fn of(items: u32, domains: Vec<usize>, leaf: impl Fn(u32, usize) -> u32) -> CellIndex {
        let mut numbers = CellNumbers::of(domains.iter().copied());
        let (mut leaves, mut cells) = (Vec::new(), 0);
        let cell_of = (0..items).map(|item| {
            let cell = numbers.number(|at| leaf(item, at));
            if cell == cells {
                leaves.extend((0..domains.len()).map(|at| leaf(item, at)));
                cells += 1;
            }
            cell
        });
        CellIndex {
            cell_of: cell_of.collect(),
            groups: domains.iter().map(|_| OnceLock::new()).collect(),
            leaves,
            cells,
            domains,
        }
    }

    /// The domain of a cell in an indexed dimension.
    pub fn leaf(&self, cell: u32, at: usize) -> u32 {
        self.leaves[cell as usize * self.domains.len() + at]
    }

    /// The cells in groups, each in the same domains of all indexed dimensions except `without`.
    pub fn groups(&self, without: usize) -> impl Iterator<Item = &[u32]> {
        let groups = self.groups[without].get_or_init(|| self.find_groups(without));
        let ranges = groups.starts.windows(2);
        ranges.map(|range| &groups.cells[range[0] as usize..range[1] as usize])
    }

    fn find_groups(&self, without: usize) -> Groups {
        let others: Vec<usize> = (0..self.domains.len()).filter(|&at| at != without).collect();
        let mut numbers = CellNumbers::of(others.iter().map(|&at| self.domains[at]));
        let group_of = (0..self.cells).map(|cell| numbers.number(|at| self.leaf(cell, others[at])));
        let group_of: Vec<u32> = group_of.collect();
        let count = group_of.iter().max().map_or(0, |last| last + 1);
        let mut starts = vec![0; count as usize + 1];
        group_of.iter().for_each(|&group| starts[group as usize + 1] += 1);
        for group in 0..count as usize {
            starts[group + 1] += starts[group];
        }
        let mut next = starts.clone();
        let mut cells = vec![0; group_of.len()];
        for (cell, group) in (0..).zip(group_of) {
            let at = &mut next[group as usize];
            cells[*at as usize] = cell;
            *at += 1;
        }
        Groups { starts, cells }
    }
}

/// The number of cached indexes. Most workloads on the same hosts compare the same dimensions.
const KEPT_INDEXES: usize = 4;

/// A cache of the newest indexes, by dimensions. A clone is empty.
#[derive(Debug, Default)]
pub struct KeptIndexes(Mutex<Vec<(Vec<usize>, Arc<CellIndex>)>>);

impl KeptIndexes {
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

impl Clone for KeptIndexes {
    fn clone(&self) -> KeptIndexes {
        KeptIndexes::default()
    }
}
