//! Prunes the cells without use in a best placement, so that the flow over 100,000 hosts has some hundred cells.
//!
//! Let a domain take at most K new replicas, and let no placed replica be below the domain. Only the K cheapest
//! children of the domain matter, for each combination of domains in all further dimensions. If a placement uses a
//! dearer child, a cheap child has no replica, and the replica can move there. No count elsewhere changes, and no
//! further rule is broken. An additional child is kept if the placement must leave a place for the next replica.

use crate::placing::cells::places::CellPlaces;
use crate::placing::cells::slot_costs::SlotCosts;
use crate::placing::compared::{Compared, ComparedDimension};
use crate::placing::search::bounds::{Bounds, bounds};

/// The cells for `new` or fewer replicas of a single role, each with the number of slots. `spare` further replicas
/// find the same places beside the best of these placements as beside any placement.
pub fn prune(places: &CellPlaces, compared: &Compared, (new, spare): (u32, u32), costs: &SlotCosts) -> Vec<(u32, u32)> {
    let trees = compared.dimensions.iter().enumerate();
    // A rule that may be broken asks for an even share of empty domains too.
    let trees = trees.filter(|(_, dimension)| dimension.demands.even_cost.is_none());
    let Some((at, dimension)) = trees.max_by_key(|(_, dimension)| dimension.tree.len()) else {
        return places.all(costs);
    };
    let is_ended = costs
        .budget
        .count_list(places.counts.len() as u64 + dimension.tree.len() as u64);
    if is_ended {
        return Vec::new();
    }
    let direct = places.direct(compared, at, new);
    let Some(bounds) = bounds(dimension, &direct, new, &[]) else {
        return places.all(costs);
    };
    let mut pruning = Pruning {
        places,
        costs,
        at,
        dimension,
        spare,
        bounds,
        is_prunable: prunable(dimension, &direct),
        used: Vec::new(),
        candidates: Vec::new(),
        best: vec![NO_CELL; dimension.tree.len()],
        is_dropped: vec![false; dimension.tree.len()],
    };
    let has_places = |group: &&[u32]| group.iter().any(|cell| places.counts[*cell as usize] > 0);
    let groups = places.index.groups(at).filter(has_places);
    let mut kept = Vec::new();
    for group in groups.take_while(|group| !costs.budget.count_list(group.len() as u64)) {
        pruning.keep(group, &mut kept);
    }
    kept
}

/// Whether below each domain no replica is placed, and no domain has free places of its own beside children.
fn prunable(dimension: &ComparedDimension, direct: &[u32]) -> Vec<bool> {
    let tree = &dimension.tree;
    let mut prunable = vec![true; tree.len()];
    for domain in (1..tree.len() as u32).rev().filter(|&domain| tree.is_live(domain)) {
        let at = domain as usize;
        let is_mixed = direct[at] > 0 && !tree.children(domain).is_empty();
        let is_plain = prunable[at] && dimension.placed[at] == 0 && !is_mixed;
        prunable[tree.parent(domain) as usize] &= is_plain;
    }
    prunable
}

/// Instead of the number of a cell.
const NO_CELL: u32 = u32::MAX;

struct Pruning<'a> {
    places: &'a CellPlaces,
    costs: &'a SlotCosts<'a>,
    /// The compared dimension whose domains are dropped.
    at: usize,
    dimension: &'a ComparedDimension,
    /// Children of each domain beside the children for the new replicas.
    spare: u32,
    bounds: Bounds,
    is_prunable: Vec<bool>,
    /// The domains of the group's cells, with their ancestors: most groups use a few of all domains. Each domain is
    /// after its parent.
    used: Vec<u32>,
    /// The used children of a domain, with the cell of the cheapest place in each.
    candidates: Vec<(u32, u32)>,
    /// The cell with the cheapest place in each used domain and below.
    best: Vec<u32>,
    is_dropped: Vec<bool>,
}

impl Pruning<'_> {
    /// Adds the cells of a group that are kept, with the number of slots of each.
    fn keep(&mut self, group: &[u32], kept: &mut Vec<(u32, u32)>) {
        for domain in self.used.drain(..) {
            self.best[domain as usize] = NO_CELL;
            self.is_dropped[domain as usize] = false;
        }
        for &cell in group.iter().filter(|cell| self.places.counts[**cell as usize] > 0) {
            self.use_cell(cell);
        }
        if self.costs.budget.count_list(self.used.len() as u64) {
            return;
        }
        for at in (1..self.used.len()).rev() {
            let domain = self.used[at];
            self.improve(self.dimension.tree.parent(domain), self.best[domain as usize]);
        }
        self.drop_children(0);
        for at in 1..self.used.len() {
            let domain = self.used[at];
            let parent = self.dimension.tree.parent(domain);
            self.is_dropped[domain as usize] |= self.is_dropped[parent as usize];
            if !self.is_dropped[domain as usize] {
                self.drop_children(domain);
            }
        }
        for &cell in group {
            let leaf = self.places.index.leaf(cell, self.at);
            let places = self.places.takeable(cell, self.costs);
            if places > 0 && !self.is_dropped[leaf as usize] {
                kept.push((cell, places.min(self.most_new(leaf).max(1))));
            }
        }
    }

    /// Uses the domains around a cell. Ancestors that no cell has used are added from the top.
    fn use_cell(&mut self, cell: u32) {
        let leaf = self.places.index.leaf(cell, self.at);
        if self.best[leaf as usize] != NO_CELL {
            return self.improve(leaf, cell);
        }
        let (mut domain, begin) = (leaf, self.used.len());
        while self.best[domain as usize] == NO_CELL {
            self.best[domain as usize] = cell;
            self.used.push(domain);
            domain = self.dimension.tree.parent(domain);
        }
        self.used[begin..].reverse();
    }

    /// Makes a cell the best of a used domain if the cell is cheaper than the best so far.
    fn improve(&mut self, domain: u32, cell: u32) {
        let best = &mut self.best[domain as usize];
        let cost = |cell: u32| &self.places.cheapest[cell as usize];
        if cost(cell) < cost(*best) {
            *best = cell;
        }
    }

    /// The most new replicas of a domain.
    fn most_new(&self, domain: u32) -> u32 {
        self.bounds.domains[domain as usize].more(self.dimension.placed[domain as usize])
    }

    /// Drops the children of a used domain that no best placement needs.
    fn drop_children(&mut self, domain: u32) {
        let children = self.dimension.tree.children(domain);
        let most = self.most_new(domain).saturating_add(self.spare) as usize;
        let is_pruned = self.is_prunable[domain as usize] && children.len() > most;
        if !is_pruned || self.costs.budget.count_list(children.len() as u64) {
            return;
        }
        let used = children.iter().filter_map(|&child| {
            let cell = self.best[child as usize];
            (cell != NO_CELL).then_some((cell, child))
        });
        self.candidates.clear();
        self.candidates.extend(used);
        if self.candidates.len() > most {
            let cost = |&(cell, child): &(u32, u32)| (&self.places.cheapest[cell as usize], child);
            self.candidates
                .select_nth_unstable_by(most, |one, other| cost(one).cmp(&cost(other)));
            for (_, child) in &self.candidates[most..] {
                self.is_dropped[*child as usize] = true;
            }
        }
    }
}
