//! Which item is in which cell. It follows from domains alone: neither room nor rules matter.

use super::cell_numbers::CellNumbers;
use super::domain_tree::DomainTree;

/// Items that are in the same domains of all indexed dimensions are in the same cell.
#[derive(Clone, Debug)]
pub struct CellIndex {
    dimensions: usize,
    /// The domains of the cells, by cell and indexed dimension.
    leaves: Vec<u32>,
    /// The cell of each item.
    pub of_item: Vec<u32>,
    /// By indexed dimension, the cells in groups that are in the same domains of all others.
    pub groups: Vec<Vec<Vec<u32>>>,
}

impl CellIndex {
    /// Of dimensions with these trees. `leaf` is the domain of an item in one of them.
    pub fn of(items: u32, trees: &[&DomainTree], leaf: impl Fn(u32, usize) -> u32) -> CellIndex {
        let mut numbers = CellNumbers::of(trees.iter().map(|tree| tree.count()));
        let mut index = CellIndex {
            dimensions: trees.len(),
            leaves: Vec::new(),
            of_item: Vec::with_capacity(items as usize),
            groups: Vec::new(),
        };
        let mut cells = 0;
        for item in 0..items {
            let cell = numbers.number(|at| leaf(item, at));
            if cell == cells {
                index.leaves.extend((0..trees.len()).map(|at| leaf(item, at)));
                cells += 1;
            }
            index.of_item.push(cell);
        }
        index.groups = (0..trees.len())
            .map(|at| index.groups_without(trees, cells, at))
            .collect();
        index
    }

    /// The number of cells.
    pub fn cells(&self) -> usize {
        match self.dimensions {
            0 => self.of_item.len().min(1),
            dimensions => self.leaves.len() / dimensions,
        }
    }

    pub fn leaf(&self, cell: u32, at: usize) -> u32 {
        self.leaves[cell as usize * self.dimensions + at]
    }

    fn groups_without(&self, trees: &[&DomainTree], cells: u32, without: usize) -> Vec<Vec<u32>> {
        let others: Vec<usize> = (0..trees.len()).filter(|&at| at != without).collect();
        let mut numbers = CellNumbers::of(others.iter().map(|&at| trees[at].count()));
        let mut groups: Vec<Vec<u32>> = Vec::new();
        for cell in 0..cells {
            let number = numbers.number(|at| self.leaf(cell, others[at])) as usize;
            if number == groups.len() {
                groups.push(Vec::new());
            }
            groups[number].push(cell);
        }
        groups
    }
}
