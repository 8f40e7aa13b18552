//! The best candidates of all trees, by their costs.

use super::super::candidates::{Candidate, TreeOrder};
use super::super::explain::Explain;
use super::super::rank::{BestOf, Scoring};
use super::super::snapshot::{Slot, Snapshot};
use super::{Trees, add_placements, candidate};

impl<E: Explain> Trees<E> {
    /// Before the first candidate: the best `count` of all candidates, best first. Of each tree only its first
    /// `max_combinations` count.
    pub fn best(
        &mut self,
        snapshot: &Snapshot,
        scoring: Scoring,
        count: usize,
        max_combinations: usize,
    ) -> Vec<Candidate> {
        self.tree_order = TreeOrder::DepthFirst;
        self.max_solutions = max_combinations;
        self.roots.rank(snapshot, scoring);
        let mut best: BestOf<Box<[Slot]>> = BestOf::new(count);
        let mut placements = Vec::new();
        while self.advance(snapshot) {
            placements.clear();
            add_placements(&self.roots.request, &self.placed, &mut placements);
            best.offer(scoring.cost(snapshot, &placements), || self.placed.as_slice().into());
            self.roots.set_max_cost(best.max_cost());
        }
        best.into_sorted()
            .map(|placed| candidate(&self.roots.request, &placed))
            .collect()
    }

    /// Whether all candidates of all trees were compared.
    pub fn is_exact(&self) -> bool {
        !self.abandoned && !self.gave_up()
    }
}
