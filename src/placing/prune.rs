//! Leaves out cells that no best placement needs, so that the flow over 100,000 hosts has some hundred cells.
//!
//! Let a domain take at most K new replicas, and let no replica stand below it. Of its children only the K cheapest
//! matter, for each combination of domains in the other dimensions: if a placement uses another child, one of the K has
//! no replica, and the replica can move there. No count elsewhere changes, and no rule is broken that was not before.

use super::bounds::{Bounds, Totals, bounds};
use super::cells::Cells;
use super::compared::{Compared, ComparedDimension};
use super::cost::Cost;

/// The cells of one role without those that are not needed for `totals` or fewer replicas.
pub fn prune(cells: Cells, compared: &Compared, totals: Totals) -> Cells {
    let trees = compared.dimensions.iter().enumerate();
    // A rule that may be broken asks for an even share also where there is no replica.
    let trees = trees.filter(|(_, dimension)| dimension.demands.even_cost.is_none());
    let Some((at, dimension)) = trees.max_by_key(|(_, dimension)| dimension.tree.len()) else {
        return cells;
    };
    let direct = &cells.direct(compared, totals.new)[at];
    let Some(bounds) = bounds(dimension, direct, totals, &[]) else {
        return cells;
    };
    let mut pruning = Pruning {
        dimension,
        bounds,
        is_prunable: prunable(dimension, direct),
        best: vec![None; dimension.tree.len()],
        is_dropped: vec![false; dimension.tree.len()],
    };
    let kept: Vec<(u32, u32)> = cells
        .groups_without(compared, at)
        .into_iter()
        .flat_map(|group| pruning.kept(&cells, at, &group))
        .collect();
    cells.only(&kept)
}

/// Whether below each domain no replica stands, and no domain has free places of its own beside children.
fn prunable(dimension: &ComparedDimension, direct: &[u32]) -> Vec<bool> {
    let tree = &dimension.tree;
    let mut prunable = vec![true; tree.len()];
    for domain in (1..tree.len() as u32).rev().filter(|&domain| tree.is_live(domain)) {
        let at = domain as usize;
        let is_mixed = direct[at] > 0 && !tree.children(domain).is_empty();
        let is_plain = prunable[at] && dimension.standing[at] == 0 && !is_mixed;
        prunable[tree.parent(domain) as usize] &= is_plain;
    }
    prunable
}

struct Pruning<'a> {
    dimension: &'a ComparedDimension,
    bounds: Bounds,
    is_prunable: Vec<bool>,
    /// The cheapest place in each domain and below, within one group of cells.
    best: Vec<Option<Cost>>,
    is_dropped: Vec<bool>,
}

impl Pruning<'_> {
    /// The cells of a group that are kept, with the number of places of each.
    fn kept(&mut self, cells: &Cells, at: usize, group: &[u32]) -> Vec<(u32, u32)> {
        let tree = &self.dimension.tree;
        self.best.fill(None);
        self.is_dropped.fill(false);
        for &cell in group {
            let best = &mut self.best[cells.leaf(cell as usize, at) as usize];
            let first = cells.slots(cell as usize).first().map(|slot| slot.cost);
            *best = [*best, first].into_iter().flatten().min();
        }
        for domain in (1..tree.len()).rev() {
            if let Some(cost) = self.best[domain] {
                let above = &mut self.best[tree.parent(domain as u32) as usize];
                *above = Some(above.map_or(cost, |other| other.min(cost)));
            }
        }
        for domain in 0..tree.len() as u32 {
            self.drop_children(domain);
        }
        let kept = group.iter().filter_map(|&cell| {
            let leaf = cells.leaf(cell as usize, at);
            let places = cells.slots(cell as usize).len() as u32;
            (!self.is_dropped[leaf as usize]).then(|| (cell, places.min(self.most_new(leaf).max(1))))
        });
        kept.collect()
    }

    /// The most new replicas of a domain.
    fn most_new(&self, domain: u32) -> u32 {
        let bounds = &self.bounds.domains[domain as usize];
        bounds.hard.most.saturating_sub(bounds.standing)
    }

    fn drop_children(&mut self, domain: u32) {
        let children = self.dimension.tree.children(domain);
        if self.is_dropped[domain as usize] {
            children
                .iter()
                .for_each(|&child| self.is_dropped[child as usize] = true);
            return;
        }
        let most = self.most_new(domain) as usize;
        if !self.is_prunable[domain as usize] || children.len() <= most {
            return;
        }
        let used = children
            .iter()
            .filter_map(|&child| Some((self.best[child as usize]?, child)));
        let mut used: Vec<(Cost, u32)> = used.collect();
        if used.len() > most {
            used.select_nth_unstable(most);
            used[most..]
                .iter()
                .for_each(|(_, child)| self.is_dropped[*child as usize] = true);
        }
    }
}
