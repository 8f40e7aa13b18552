//! Candidates of several providers together: providers of one tree, and sharing providers that reach the tree.
//!
//! Naively, every provider for a group is combined with every provider for the next group, and valid combinations are
//! kept. The time is exponential in the number of groups, even if only one candidate is wanted or none exists. Instead:
//!
//! - `split_request` splits a request into parts, each of which one provider serves;
//! - `root_filter` rejects most trees that cannot serve, 64 at a time, by `fit_cache`;
//! - `roots` iterates over the remaining trees, and collects their offers (`offers`) with sharing providers
//!   (`sharing`);
//! - `backtracking` searches the solutions of one tree lazily (`assignment`). Dead ends are avoided by necessary
//!   conditions (`bound`), by recorded nogoods (`nogoods`), and by exact bin packing (`packing`, `bin_completion`,
//!   `capacity_bound`);
//! - this module takes the solutions tree by tree, or round-robin, and makes candidates of solutions;
//! - `ranking` keeps the best of all candidates. Trees then come in the order of lower bounds of their costs
//!   (`tree_bounds`), until no remaining tree can have a better candidate.
//!
//! Many hosts of a cloud are alike. So a tree is skipped if a tree with the same signature has no solution.

mod assignment;
mod backtracking;
mod bin_completion;
mod bit_matrix;
mod bound;
mod capacity_bound;
mod fit_cache;
mod nogoods;
mod offers;
mod packing;
mod packing_problem;
mod ranking;
mod root_filter;
mod roots;
mod sharing;
mod split_request;
mod subtrees;
mod tree_bounds;

use std::collections::{HashMap, HashSet, VecDeque};

use super::candidate::{Candidate, GroupProviders, Placement};
use super::settings::TreeOrder;
use super::snapshot::{Slot, Snapshot};
use backtracking::BacktrackingSearch;
use offers::TreeOffers;
pub(super) use roots::RootIter;
pub(super) use split_request::SplitRequest;

/// An iterator over the candidates of all trees.
pub(super) struct Trees {
    pub(super) roots: RootIter,
    tree_order: TreeOrder,
    /// Begun trees that may have more solutions, in the order of their next rounds. At most one tree if depth-first.
    waiting: VecDeque<WaitingTree>,
    /// The size of the waiting trees in memory, in words.
    waiting_words: usize,
    /// The last solutions of the evicted trees, one after the other: for each part its option.
    evicted_solutions: VecDeque<u32>,
    /// The search of a finished tree, whose memory the next tree takes over.
    spare: Option<Box<TreeSearch>>,
    no_more_trees: bool,
    /// Yielded solutions of sharing providers alone, by part. All trees in reach of these have the same solutions.
    yielded_shared: HashSet<Box<[Slot]>>,
    /// A buffer: the last solution, by part.
    placed: Vec<Slot>,
    steps: u64,
    /// The number of trees given up.
    given_up: u32,
    /// By signature of a tree without a solution, whether the tree was given up. Trees of equal signature are skipped.
    infeasible: HashMap<Box<[u64]>, bool>,
    /// A tree with more solutions is abandoned after this number.
    max_solutions: usize,
    /// Whether a tree was abandoned after `max_solutions`.
    abandoned: bool,
}

/// After this many trees were given up, no further tree is begun. After twice as many, the whole search ends.
const MAX_TREES_GIVEN_UP: u32 = 20;

/// How many signatures of trees without a solution are kept.
const MAX_SIGNATURES: usize = 1 << 14;

/// A tree waiting for a round.
enum WaitingTree {
    /// The state of the tree's search, with its size in words.
    InMemory(Box<TreeSearch>, usize),
    /// The root of the tree alone. The tree's last solution is in [`Trees::evicted_solutions`].
    Evicted(Slot),
}

/// The search of one tree.
#[derive(Debug, Default)]
struct TreeSearch {
    root: Option<Slot>,
    offers: TreeOffers,
    search: BacktrackingSearch,
    /// The number of solutions found.
    solutions: usize,
    /// A lower bound of the solutions' costs, if candidates are ranked.
    bound: f64,
    /// The least cost found, if only the best candidate of each tree is wanted.
    least: Option<f64>,
}

impl Trees {
    pub fn new(roots: RootIter, tree_order: TreeOrder) -> Self {
        Self {
            roots,
            tree_order,
            waiting: VecDeque::new(),
            waiting_words: 0,
            evicted_solutions: VecDeque::new(),
            spare: None,
            no_more_trees: false,
            yielded_shared: HashSet::new(),
            placed: Vec::new(),
            steps: 0,
            given_up: 0,
            infeasible: HashMap::new(),
            max_solutions: usize::MAX,
            abandoned: false,
        }
    }

    /// How often a part was placed so far: the cost of a search, on any machine.
    #[cfg(test)]
    pub fn steps(&self) -> u64 {
        let waiting = self.waiting.iter().map(|waiting| match waiting {
            WaitingTree::InMemory(tree, _) => tree.search.steps,
            WaitingTree::Evicted(_) => 0,
        });
        self.steps + waiting.sum::<u64>()
    }

    /// Whether there were trees whose search was given up.
    pub fn gave_up(&self) -> bool {
        self.given_up > 0
    }

    pub fn next(&mut self, snapshot: &Snapshot) -> Option<Candidate> {
        self.advance(snapshot)
            .then(|| candidate(&self.roots.request, &self.placed))
    }

    /// Finds the next candidate: `placed` then has the provider of each part. False after the last candidate.
    fn advance(&mut self, snapshot: &Snapshot) -> bool {
        while self.given_up < 2 * MAX_TREES_GIVEN_UP && !self.roots.request.settings.interrupt.is_set() {
            let Some(mut tree) = self.next_tree(snapshot) else {
                return false;
            };
            let is_wanted = tree.bound < self.roots.max_cost && tree.least.is_none_or(|least| tree.bound < least);
            if !is_wanted || !tree.search.next(&self.roots.request, &tree.offers) {
                self.given_up += u32::from(tree.search.gave_up);
                self.record_infeasible(&tree);
                self.finish(tree);
                continue;
            }
            if tree.solutions == self.max_solutions {
                self.abandoned = true;
                self.finish(tree);
                continue;
            }
            tree.solutions += 1;
            let slots = &tree.offers.slots;
            self.placed.clear();
            self.placed.resize(self.roots.request.parts.len(), slots[0]);
            for (part, provider) in tree.search.assignment.placed() {
                self.placed[part] = slots[provider];
            }
            self.enqueue(tree);
            if self.is_new() {
                return true;
            }
        }
        false
    }

    /// Ends the search of a tree, or of a round. The next tree takes over the memory.
    fn finish(&mut self, mut tree: Box<TreeSearch>) {
        self.steps += std::mem::take(&mut tree.search.steps);
        self.spare = Some(tree);
    }

    /// Whether no tree gave the candidate of `placed` before.
    fn is_new(&mut self) -> bool {
        let (sharing, placed) = (&self.roots.sharing, self.placed.as_slice());
        let all_shared = !sharing.providers.is_empty() && placed.iter().all(|&slot| sharing.contains(slot));
        !all_shared || self.roots.repeats_shared || self.yielded_shared.insert(placed.into())
    }

    fn record_infeasible(&mut self, tree: &TreeSearch) {
        let request = &self.roots.request;
        // A tree rejected before any part is placed is rejected as fast the next time.
        if tree.search.found || tree.search.steps == 0 || self.infeasible.len() == MAX_SIGNATURES {
            return;
        }
        if let Some(signature) = nogoods::signature(request, &tree.offers) {
            self.infeasible.insert(signature, tree.search.gave_up);
        }
    }

    /// `Some` if a tree with the same signature was searched and has no solution: whether the search was given up.
    fn known_infeasible(&self, offers: &TreeOffers) -> Option<bool> {
        if self.infeasible.is_empty() {
            return None;
        }
        let signature = nogoods::signature(&self.roots.request, offers)?;
        self.infeasible.get(&signature).copied()
    }

    /// The next tree to search. Breadth-first, all trees are begun first, and then take rounds (round-robin).
    /// Depth-first, one tree continues until all its solutions were yielded.
    fn next_tree(&mut self, snapshot: &Snapshot) -> Option<Box<TreeSearch>> {
        let begin = self.waiting.is_empty() || self.tree_order == TreeOrder::BreadthFirst;
        if begin && !self.no_more_trees {
            let mut tree = self.spare.take().unwrap_or_default();
            while self.given_up < MAX_TREES_GIVEN_UP {
                tree.root = self.roots.next(snapshot, &mut tree.offers);
                if tree.root.is_none() {
                    break;
                }
                match self.known_infeasible(&tree.offers) {
                    Some(gave_up) => self.given_up += u32::from(gave_up),
                    None => {
                        tree.search.begin(&self.roots.request, &tree.offers, self.given_up);
                        (tree.solutions, tree.bound, tree.least) = (0, self.roots.bound, None);
                        return Some(tree);
                    }
                }
            }
            self.no_more_trees = true;
        }
        match self.waiting.pop_front()? {
            WaitingTree::InMemory(tree, words) => {
                self.waiting_words -= words;
                Some(tree)
            }
            WaitingTree::Evicted(root) => {
                let mut tree = self.spare.take().unwrap_or_default();
                self.roots.collect(snapshot, root, &mut tree.offers, true);
                tree.root = Some(root);
                let request = &self.roots.request;
                let solution = self.evicted_solutions.drain(..request.parts.len());
                tree.search.resume(request, &tree.offers, self.given_up, solution);
                Some(tree)
            }
        }
    }

    /// Puts a tree at the end of the queue.
    ///
    /// Most searches end in the first round. So in the first round a tree is evicted, unless its search recorded
    /// nogoods. The next tree reuses the memory, which is still in the processor's cache.
    fn enqueue(&mut self, tree: Box<TreeSearch>) {
        let first_round = self.tree_order == TreeOrder::BreadthFirst && !self.no_more_trees;
        let words = size_of::<TreeSearch>() / 8 + tree.offers.size() + tree.search.size();
        let limit = self.roots.request.settings.limits.waiting_words;
        let max_words = match (tree.search.has_dead_end, first_round) {
            (true, _) => 2 * limit,
            (false, true) => 0,
            (false, false) => limit,
        };
        match tree.root {
            Some(root) if !self.waiting.is_empty() && self.waiting_words + words > max_words => {
                self.waiting.push_back(WaitingTree::Evicted(root));
                self.evicted_solutions.extend(tree.search.solution());
                self.finish(tree);
            }
            _ => {
                self.waiting_words += words;
                self.waiting.push_back(WaitingTree::InMemory(tree, words));
            }
        }
    }
}

/// The candidate of a solution.
fn candidate(request: &SplitRequest, placed: &[Slot]) -> Candidate {
    let mut placements = Vec::with_capacity(placed.len());
    add_placements(request, placed, &mut placements);
    let mut mappings: Vec<(_, GroupProviders)> = Vec::with_capacity(request.suffixes.len());
    for (part, &slot) in request.parts.iter().zip(placed) {
        match mappings.get_mut(part.group) {
            Some((_, providers)) => providers.add(slot),
            None => mappings.push((request.suffixes[part.group].clone(), slot.into())),
        }
    }
    Candidate { placements, mappings }
}

/// The placements of a solution: amounts of one class from one provider are added up.
fn add_placements(request: &SplitRequest, placed: &[Slot], placements: &mut Vec<Placement>) {
    for (part, &slot) in request.parts.iter().zip(placed) {
        for &(class, amount) in &request.kinds[part.kind].filter.amounts {
            let same = |placement: &&mut Placement| placement.slot == slot && placement.class == class;
            match placements.iter_mut().find(same) {
                Some(placement) => placement.amount = placement.amount.saturating_add(amount),
                None => placements.push(Placement { slot, class, amount }),
            }
        }
    }
}
