//! The order of trees in a search that ranks: blocks and trees by lower bounds of their costs (best-first search).

use super::super::rank::BoundQueue;
use super::super::snapshot::Slot;
use super::tree_bounds::TreeBounds;

/// The blocks not visited yet, and the trees of visited blocks.
#[derive(Debug)]
pub(super) struct BestFirst {
    pub bounds: TreeBounds,
    blocks: BoundQueue<(usize, u64)>,
    trees: BoundQueue<Slot>,
}

/// The next item: a tree to search, or a block to visit.
pub(super) enum Next {
    /// The bound of the tree, and its root.
    Tree(f64, Slot),
    /// A block with the lanes of possible roots. The block's trees are to be added with [`BestFirst::add_trees`].
    Block(usize, u64),
}

impl BestFirst {
    pub fn new(bounds: TreeBounds, blocks: BoundQueue<(usize, u64)>) -> Self {
        Self {
            bounds,
            blocks,
            trees: BoundQueue::default(),
        }
    }

    /// `None` if the remaining trees have no candidate below `max_cost`.
    pub fn next(&mut self, max_cost: f64) -> Option<Next> {
        let is_wanted = |bound: f64| bound < max_cost;
        let is_tree = match (self.trees.bound(), self.blocks.bound()) {
            (Some(tree), Some(block)) => tree <= block,
            (tree, _) => tree.is_some(),
        };
        if is_tree {
            let (bound, root) = self.trees.pop_if(is_wanted)?;
            Some(Next::Tree(bound, root))
        } else {
            let (_, (block, lanes)) = self.blocks.pop_if(is_wanted)?;
            Some(Next::Block(block, lanes))
        }
    }

    /// Adds trees with their bounds. Of equal bounds the first tree comes first.
    pub fn add_trees(&mut self, trees: impl Iterator<Item = (f64, Slot)>) {
        trees.for_each(|(bound, root)| self.trees.push(bound, root));
    }
}
