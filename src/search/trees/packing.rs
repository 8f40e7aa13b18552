//! Bin packing: whether all remaining parts together fit into the remaining room.
//!
//! The check is a relaxation. It considers room, and a provider for each isolated group, but not traits, subtrees or
//! steps of sums. So parts without a packing cannot be placed, and parts with a packing may still fail.
//!
//! The backtracking search checks packing after several dead ends. The first method with a verdict decides:
//!
//! 1. The last packing found still contains the placed parts.
//! 2. A greedy heuristic packs the rest: largest items first, by best fit, worst fit and first fit.
//! 3. An exact search (`bin_completion`), with a budget. A tree that has exhausted the budget is not checked again.

use super::assignment::PartAssignment;
use super::bin_completion::BinCompletion;
use super::offers::TreeOffers;
use super::packing_problem::{PackingProblem, PackingVerdict};
use super::split_request::SplitRequest;
use crate::interrupt::Interrupt;

/// The number of choices that one exact search may take. A choice is far cheaper than a step of the search.
const MAX_CHOICES: u64 = 600_000;

/// The number of choices that all checks of one tree may take.
const MAX_CHOICES_PER_TREE: u64 = 3_000_000;

/// Checks of one tree, with their common budget.
#[derive(Debug, Default)]
pub(super) struct Packing {
    /// The last packing of all parts: kinds with providers.
    last_packing: Vec<(usize, usize)>,
    choices: u64,
    /// How many trees were given up before. Each tree given up halves the budget.
    given_up: u32,
    /// Whether the budget was exhausted. The tree is not checked again.
    pub budget_exhausted: bool,
}

impl Packing {
    /// Begins with a new tree. The more trees were `given_up` before, the smaller is the budget of the new tree.
    pub fn begin(&mut self, given_up: u32) {
        self.last_packing.clear();
        (self.choices, self.budget_exhausted) = (0, false);
        self.given_up = given_up;
    }

    /// Whether the remaining parts can be packed.
    pub fn check(&mut self, request: &SplitRequest, offers: &TreeOffers, partial: &PartAssignment) -> PackingVerdict {
        if self.budget_exhausted {
            return PackingVerdict::Unknown;
        }
        let placed = partial.placed();
        let placed: Vec<(usize, usize)> = placed.map(|(part, at)| (request.parts[part].kind, at)).collect();
        if self.last_packing_contains(request, offers, &placed) {
            return PackingVerdict::Fits;
        }
        let problem = PackingProblem::new(request, offers, partial);
        self.choices += 1 + (problem.items.len() * problem.bins.len() / 4) as u64;
        let (verdict, found) = match problem.pack_greedily() {
            Some(found) => (PackingVerdict::Fits, found),
            None => self.search(problem, &request.settings.interrupt),
        };
        if verdict == PackingVerdict::Fits {
            self.last_packing = placed;
            self.last_packing.extend(found);
        }
        self.budget_exhausted =
            verdict == PackingVerdict::Unknown || self.choices > MAX_CHOICES_PER_TREE >> self.given_up;
        verdict
    }

    /// Searches exactly, with the bins in two orders: a problem may be hard in one order and easy in the reverse.
    fn search(&mut self, mut problem: PackingProblem, interrupt: &Interrupt) -> (PackingVerdict, Vec<(usize, usize)>) {
        for _ in 0..2 {
            let mut completion = BinCompletion::new(&problem, (MAX_CHOICES / 2) >> self.given_up, interrupt);
            let verdict = completion.search();
            self.choices += completion.choices;
            if verdict != PackingVerdict::Unknown {
                return (verdict, completion.found());
            }
            problem.bins.reverse();
        }
        (PackingVerdict::Unknown, Vec::new())
    }

    /// Whether the known packing contains the placed parts. Parts of one kind are interchangeable.
    fn last_packing_contains(&self, request: &SplitRequest, offers: &TreeOffers, placed: &[(usize, usize)]) -> bool {
        if self.last_packing.is_empty() {
            return false;
        }
        let mut counts = vec![0i32; request.kinds.len() * offers.slots.len()];
        let at = |&(kind, provider): &(usize, usize)| kind * offers.slots.len() + provider;
        self.last_packing.iter().for_each(|pair| counts[at(pair)] += 1);
        // Parts without a need for room fit into every packing.
        let needs_room = |kind: usize| {
            let part_kind = &request.kinds[kind];
            !part_kind.contested.is_empty() || request.isolate && part_kind.granular
        };
        placed.iter().filter(|pair| needs_room(pair.0)).all(|pair| {
            counts[at(pair)] -= 1;
            counts[at(pair)] >= 0
        })
    }
}
