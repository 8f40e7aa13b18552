//! The best candidates of all trees, by their costs.

use super::super::candidate::{Candidate, Placement};
use super::super::rank::{BestOf, Ranking, Scoring};
use super::super::settings::TreeOrder;
use super::super::snapshot::{Slot, Snapshot};
use super::{TreeSearch, Trees, WaitingTree, add_placements, candidate};

/// The best candidate of one tree, if there is any: its cost, and the provider of each part.
#[derive(Default)]
struct BestInTree {
    root: Option<Slot>,
    cost: f64,
    placed: Vec<Slot>,
}

impl BestInTree {
    fn offer_to(&self, best: &mut BestOf<Box<[Slot]>>) {
        if self.root.is_some() {
            best.offer(self.cost, || self.placed.as_slice().into());
        }
    }
}

impl Trees {
    /// Before the first candidate: the best of all candidates with their costs, best first.
    pub fn best(&mut self, snapshot: &Snapshot, ranking: &Ranking) -> Vec<(f64, Candidate)> {
        let scoring = ranking.scoring;
        self.tree_order = TreeOrder::DepthFirst;
        self.max_solutions = self.roots.request.settings.max_combinations;
        self.roots.rank(snapshot, scoring);
        let mut best: BestOf<Box<[Slot]>> = BestOf::new(ranking.count);
        let mut of_tree = BestInTree::default();
        let mut placements = Vec::new();
        while self.advance(snapshot) {
            placements.clear();
            add_placements(&self.roots.request, &self.placed, &mut placements);
            let cost = scoring.cost(snapshot, &placements);
            if ranking.one_per_tree {
                self.offer_in_tree(cost, &mut of_tree, &mut best);
            } else {
                best.offer(cost, || self.placed.as_slice().into());
            }
            self.roots.max_cost = best.max_cost();
        }
        of_tree.offer_to(&mut best);
        let best = best.into_sorted();
        best.map(|(cost, placed)| (cost, candidate(&self.roots.request, &placed)))
            .collect()
    }

    /// Keeps the last solution if it is the best of its tree. When a new tree begins, the previous best is offered.
    fn offer_in_tree(&mut self, cost: f64, of_tree: &mut BestInTree, best: &mut BestOf<Box<[Slot]>>) {
        // Depth-first, the tree of the last solution is the only waiting tree, and stays in memory.
        let Some(WaitingTree::InMemory(tree, _)) = self.waiting.back_mut() else {
            return;
        };
        if of_tree.root != tree.root {
            of_tree.offer_to(best);
            of_tree.root = tree.root;
        }
        if tree.least.is_none_or(|least| cost < least) {
            (tree.least, of_tree.cost) = (Some(cost), cost);
            of_tree.placed.clone_from(&self.placed);
        }
    }

    /// As `Candidates::each_host`.
    pub fn each_host(
        &mut self,
        snapshot: &Snapshot,
        scoring: Option<Scoring>,
        mut found: impl FnMut(Slot, f64, &dyn Fn() -> Candidate),
    ) {
        self.tree_order = TreeOrder::DepthFirst;
        self.max_solutions = self.roots.request.settings.max_combinations;
        // A tree may have candidates of sharing providers alone, which are of other hosts. Perhaps no other tree gives
        // these candidates: the sharing providers' own trees may not meet the conditions on the root.
        let may_be_all_shared = self.roots.may_be_all_shared();
        if let Some(scoring) = scoring {
            self.roots.rank(snapshot, scoring);
        }
        let mut placements = Vec::new();
        while self.advance(snapshot) {
            placements.clear();
            add_placements(&self.roots.request, &self.placed, &mut placements);
            let host = snapshot.host_of(&placements).unwrap_or(self.placed[0]);
            let cost = scoring.map_or(0.0, |scoring| scoring.cost(snapshot, &placements));
            found(host, cost, &|| candidate(&self.roots.request, &self.placed));
            if !may_be_all_shared {
                // Without a scoring no further candidate is better.
                self.note_cost(host, scoring.map_or(Scoring::NO_BOUND, |_| cost));
            }
        }
    }

    /// As `Candidates::each_tree`.
    pub fn each_tree(&mut self, snapshot: &Snapshot, mut found: impl FnMut(Slot)) {
        self.tree_order = TreeOrder::DepthFirst;
        self.roots.repeats_shared = true;
        if self.roots.request.is_unrelated() {
            // A provider for each part is enough, so no tree needs a search.
            self.roots.each(snapshot, found);
            return;
        }
        while self.advance(snapshot) {
            if let Some(tree) = self.last_tree() {
                // No further candidate of the tree is wanted.
                tree.least = Some(Scoring::NO_BOUND);
                tree.root.into_iter().for_each(&mut found);
            }
        }
    }

    /// As `Candidates::each_way`.
    pub fn each_way(&mut self, snapshot: &Snapshot, mut found: impl FnMut(Slot, &[Placement], &dyn Fn() -> Candidate)) {
        self.tree_order = TreeOrder::DepthFirst;
        self.roots.repeats_shared = true;
        self.max_solutions = self.roots.request.settings.max_combinations;
        let mut placements = Vec::new();
        while self.advance(snapshot) {
            placements.clear();
            add_placements(&self.roots.request, &self.placed, &mut placements);
            let root = self.last_tree().and_then(|tree| tree.root);
            let candidate = || candidate(&self.roots.request, &self.placed);
            root.into_iter().for_each(|root| found(root, &placements, &candidate));
        }
    }

    /// The last searched tree. Depth-first, the tree is the only one that waits, and stays in memory.
    fn last_tree(&mut self) -> Option<&mut TreeSearch> {
        match self.waiting.back_mut() {
            Some(WaitingTree::InMemory(tree, _)) => Some(tree),
            Some(WaitingTree::Evicted(_)) | None => None,
        }
    }

    /// After a candidate of the last searched tree's host, only candidates of lower cost are wanted of the tree.
    fn note_cost(&mut self, host: Slot, cost: f64) {
        let Some(tree) = self.last_tree() else {
            return;
        };
        if tree.root == Some(host) && tree.least.is_none_or(|least| cost < least) {
            tree.least = Some(cost);
        }
    }

    /// Whether all candidates of all trees were compared.
    pub fn is_exact(&self) -> bool {
        !self.abandoned && !self.gave_up()
    }
}
