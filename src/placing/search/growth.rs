//! Room to grow: whether an additional replica has a place beside a placement, under the rules for the greater number.
//!
//! Replicas that are placed well one by one may leave no place for the next replica. On a grid of 3 x 3 domains with a
//! host in each cell, five replicas have sets that admit no sixth. So of sets that are equal in soft rules and normal
//! limits, the search prefers a set beside which a replica more has a place.

use std::sync::Arc;

use super::bounds::{Bounds, Split, bounds};
use crate::placing::budget::Budget;
use crate::placing::cells::Cells;
use crate::placing::cells::index::CellIndex;
use crate::placing::compared::even::Range;
use crate::placing::compared::{Compared, ComparedDimension};
use crate::placing::cost::Cost;
use crate::placing::domain_tree::DomainTree;

/// The places and the rules of the next replica. Cells have the numbers of `index`.
pub struct Growth<'a> {
    /// The demands of the rules with the next replica.
    next: &'a Compared,
    index: Arc<CellIndex>,
    /// The free places of each cell before the placement.
    free: Vec<u32>,
    /// The compared dimensions in which a host without a domain takes a single replica, and not two.
    needed: Vec<usize>,
    /// The fields of a cost before room to grow.
    before: fn(Cost) -> Cost,
}

impl<'a> Growth<'a> {
    /// `free`: the free places of each cell of the index. `needed`: the compared dimensions in which a host without a
    /// domain takes a single replica, and not two. `before`: the fields of a cost before room to grow.
    pub fn new(
        next: &'a Compared,
        (index, free): (Arc<CellIndex>, Vec<u32>),
        needed: Vec<usize>,
        before: fn(Cost) -> Cost,
    ) -> Growth<'a> {
        Growth {
            next,
            index,
            free,
            needed,
            before,
        }
    }

    /// Whether a placement is worse than the best placement without room, in the fields before room to grow.
    pub fn is_worse(&self, cost: Cost, without_room: Cost) -> bool {
        (self.before)(cost) > (self.before)(without_room)
    }

    /// Whether a replica more has a place. `counts`: the replicas in each domain, by compared dimension.
    /// `taken`: cells of the search, each with the number of new replicas.
    pub fn admits(&self, counts: &[Vec<u32>], cells: &Cells, taken: &[(u32, u32)], budget: &Budget) -> bool {
        if taken
            .iter()
            .any(|(cell, number)| *number > 0 && self.is_for_one(cells, *cell))
        {
            return false;
        }
        let dimensions = self.next.dimensions.iter().zip(counts);
        let receivers: Vec<Vec<bool>> = dimensions
            .map(|(dimension, counts)| {
                budget.count_list(dimension.tree.len() as u64);
                receivers(dimension, counts)
            })
            .collect();
        let is_open = |cell: u32| {
            let mut all = receivers.iter().enumerate();
            all.all(|(at, receives)| receives[self.index.leaf(cell, at) as usize])
        };
        let mut open = self.cells().filter(|&cell| !budget.count_list(1) && is_open(cell));
        open.any(|cell| {
            let here = taken
                .iter()
                .filter(|(of_search, _)| self.is_same(cells, *of_search, cell));
            self.free[cell as usize] > here.map(|(_, number)| number).sum()
        })
    }

    /// The cells with free places.
    pub fn cells(&self) -> impl Iterator<Item = u32> {
        (0..self.free.len() as u32).filter(|&cell| self.free[cell as usize] > 0)
    }

    /// The cells of the search that stay empty in a placement with room for the next replica.
    pub fn empty(&self, cells: &Cells) -> impl Iterator<Item = (u32, Range)> {
        let for_one = (0..cells.len() as u32).filter(|&cell| self.is_for_one(cells, cell));
        for_one.map(|cell| (cell, Range::of(0, 0)))
    }

    /// Whether the hosts of a cell of the search take the only replica of a workload, and no replica beside a second.
    fn is_for_one(&self, cells: &Cells, cell: u32) -> bool {
        lacks_domain(&self.needed, |at| cells.leaf(cell as usize, at))
    }

    /// Whether a cell of the search is in the same domains as a cell of the index.
    fn is_same(&self, cells: &Cells, of_search: u32, cell: u32) -> bool {
        let mut all = 0..self.next.dimensions.len();
        all.all(|at| cells.leaf(of_search as usize, at) == self.index.leaf(cell, at))
    }

    /// The bounds of new replicas in the cell of the search in the same domains, so that a place is left.
    pub fn range(&self, cells: &Cells, cell: u32) -> Option<(u32, Range)> {
        let same = (0..cells.len() as u32).find(|&of_search| self.is_same(cells, of_search, cell))?;
        let slots = cells.slots(same as usize).len() as u32;
        Some((same, Range::of(0, slots.min(self.free[cell as usize] - 1))))
    }

    /// Limits the bounds of a dimension, so that the next replica has a place in a cell. `None` if no counts keep the
    /// bounds before and after the next replica. `is_even`: the domains share the replicas evenly before the next
    /// replica. `direct`, `new` and `splits` are parameters of [`bounds()`].
    pub fn limit(
        &self,
        (bounds_now, is_even): (&mut Bounds, bool),
        (at, cell): (usize, u32),
        (direct, new): (&[u32], u32),
        splits: &[Split],
    ) -> Option<()> {
        let dimension = &self.next.dimensions[at];
        let leaf = self.index.leaf(cell, at);
        if dimension.demands.is_even && !is_even {
            return limit_receivers(bounds_now, dimension, leaf);
        }
        let tree = &dimension.tree;
        let more_in = |domain: u32| u32::from(tree.is_in(leaf, domain));
        let splits = splits.iter().map(|split| {
            let more = u32::from(leaf != split.domain) * more_in(split.domain);
            let Range { least, most } = split.range;
            Split {
                range: Range::of(least + more, most + more),
                ..*split
            }
        });
        let splits: Vec<Split> = splits.collect();
        // The place of the next replica may be no place of the search: there may be no replica that may stay.
        let mut direct = direct.to_vec();
        direct[leaf as usize] += 1;
        let next = bounds(dimension, &direct, new + 1, &splits)?;
        for domain in (0..tree.len() as u32).filter(|&domain| tree.is_live(domain)) {
            let next = &next.domains[domain as usize];
            let more = more_in(domain);
            if more > next.more(dimension.placed[domain as usize]) {
                return None;
            }
            let kept = Range::of(next.hard.least.saturating_sub(more), next.hard.most - more);
            narrow(&mut bounds_now.domains[domain as usize].hard, kept)?;
        }
        Some(())
    }
}

/// Limits the domains around the place of the next replica, if only the next replica has to keep an even share. Each of
/// these domains has at most as many replicas as each sibling, so at most an equal part. `None` if no counts are left.
fn limit_receivers(bounds_now: &mut Bounds, dimension: &ComparedDimension, leaf: u32) -> Option<()> {
    let tree = &dimension.tree;
    let mut domain = leaf;
    while domain != 0 {
        let parent = tree.parent(domain);
        let children = tree.children(parent);
        let cap = dimension.cap(domain, children == tree.limited_level());
        let mut most = cap.map_or(Some(u32::MAX), |cap| cap.checked_sub(1))?;
        if tree.compares(parent) {
            most = most.min(bounds_now.below[parent as usize].most / children.len() as u32);
        }
        if dimension.placed[domain as usize] > most {
            return None;
        }
        narrow(&mut bounds_now.domains[domain as usize].hard, Range::of(0, most))?;
        domain = parent;
    }
    Some(())
}

/// Intersects two ranges. `None` if nothing is left.
fn narrow(range: &mut Range, other: Range) -> Option<()> {
    *range = Range::of(range.least.max(other.least), range.most.min(other.most));
    (range.least <= range.most).then_some(())
}

/// Whether hosts lack a domain of a `needed` dimension. `leaf` returns the domain in a dimension.
pub fn lacks_domain(needed: &[usize], leaf: impl Fn(usize) -> u32) -> bool {
    needed.iter().any(|&at| leaf(at) == DomainTree::ROOT.0)
}

/// Whether each domain may receive a replica more beside these counts, and all domains above may.
fn receivers(dimension: &ComparedDimension, counts: &[u32]) -> Vec<bool> {
    let tree = &dimension.tree;
    let mut receives = vec![false; tree.len()];
    receives[0] = true;
    for domain in (0..tree.len() as u32).filter(|&domain| tree.is_live(domain)) {
        let children = tree.children(domain);
        if children.is_empty() || !receives[domain as usize] {
            continue;
        }
        let is_even = dimension.demands.is_even && tree.compares(domain);
        let least = children.iter().map(|&child| counts[child as usize]).min().unwrap_or(0);
        let is_limited_level = children == tree.limited_level();
        for &child in children {
            let count = counts[child as usize];
            let cap = dimension.cap(child, is_limited_level).unwrap_or(u32::MAX);
            receives[child as usize] = count < cap && (!is_even || count == least);
        }
    }
    receives
}
