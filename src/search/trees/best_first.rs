//! The order of trees in a search that ranks: blocks and trees by lower bounds of their costs (best-first search).

use super::super::rank::{BoundQueue, Scoring};
use super::super::snapshot::{Slot, Snapshot};
use super::fit_cache::FitCache;
use super::sharing::SharingProviders;
use super::split_request::SplitRequest;
use super::tree_bounds::TreeBounds;
use crate::search::block_walk::BlockWalk;
use crate::search::explain::Explain;

/// The blocks not visited yet, and the trees of visited blocks.
#[derive(Debug)]
pub(super) struct BestFirst {
    bounds: TreeBounds,
    blocks: BoundQueue<(usize, u64)>,
    trees: BoundQueue<Slot>,
    /// Only candidates of lower cost are wanted.
    pub max_cost: f64,
    /// The bound of the last returned tree.
    pub bound: f64,
}

/// The next item: a tree to search, or a block to visit.
pub(super) enum Next {
    Tree(Slot),
    /// A block with the lanes of possible roots. The block's trees are to be added with [`BestFirst::add_trees`].
    Block(usize, u64),
}

impl BestFirst {
    pub fn new(bounds: TreeBounds, blocks: BoundQueue<(usize, u64)>) -> Self {
        Self {
            bounds,
            blocks,
            trees: BoundQueue::default(),
            max_cost: f64::INFINITY,
            bound: Scoring::NO_BOUND,
        }
    }

    /// `None` if no candidate of the remaining trees is wanted.
    pub fn next(&mut self) -> Option<Next> {
        let is_wanted = |bound: f64| bound < self.max_cost;
        let is_tree = match (self.trees.bound(), self.blocks.bound()) {
            (Some(tree), Some(block)) => tree <= block,
            (tree, _) => tree.is_some(),
        };
        if is_tree {
            let (bound, root) = self.trees.pop_if(is_wanted)?;
            self.bound = bound;
            Some(Next::Tree(root))
        } else {
            let (_, (block, lanes)) = self.blocks.pop_if(is_wanted)?;
            Some(Next::Block(block, lanes))
        }
    }

    /// Adds the trees of a block, in a pseudo-random order.
    pub fn add_trees<E: Explain>(
        &mut self,
        snapshot: &Snapshot,
        request: &SplitRequest,
        (fits, sharing): (&mut FitCache<E>, &mut SharingProviders),
        walk: &BlockWalk,
        (block, roots): (usize, u64),
    ) {
        if roots == 0 {
            return;
        }
        let bounds = self.bounds.of_trees(snapshot, request, fits, sharing, (block, roots));
        for root in walk.shuffled(block, roots) {
            let bound = bounds[root.lane()];
            if bound < self.max_cost {
                self.trees.push(bound, root);
            }
        }
    }
}
