//! The settings of a search: limits, order, techniques, and cancellation.

use super::block_walk::SharedOrder;
use super::request::Request;
use crate::interrupt::Interrupt;

/// The deployment's configuration of all searches, and the means to cancel a search.
#[derive(Clone, Debug)]
pub struct SearchSettings {
    /// Determines the order in which the cloud is searched: the same seed over the same version gives the same
    /// candidates in the same order. Each request with a limit has a new seed. A request without a limit has the seed
    /// of the process, unless candidates are to be randomized.
    pub seed: u64,
    /// The shared order of large samples. With a shared order `seed` decides at which block the sample begins, and
    /// which lane of a block comes first.
    pub order: Option<SharedOrder>,
    /// `[placement] max_allocation_candidates`; `None` if the option is -1. Zero still gives one candidate, as in
    /// OpenStack Placement.
    pub max: Option<usize>,
    /// `[placet] max_candidates`: cuts an answer if `max` is `None`.
    pub ceiling: usize,
    pub tree_order: TreeOrder,
    /// `[placet] max_combinations`: a search with a rank compares at most this many candidates of a tree.
    pub max_combinations: usize,
    /// `[placet] strict_step_size`: `strict` of [`super::snapshot::Inventory::allows_amount`].
    pub strict_step: bool,
    pub limits: SearchLimits,
    /// Cancels the search. Each search has its own interrupt.
    pub interrupt: Interrupt,
}

impl SearchSettings {
    /// No limit on the number of candidates, tree after tree.
    pub fn uncut(seed: u64) -> SearchSettings {
        SearchSettings {
            seed,
            order: None,
            max: None,
            ceiling: usize::MAX,
            tree_order: TreeOrder::DepthFirst,
            max_combinations: usize::MAX,
            strict_step: false,
            limits: SearchLimits::default(),
            interrupt: Interrupt::default(),
        }
    }

    /// The settings with a different interrupt.
    pub fn interrupted_by(&self, interrupt: &Interrupt) -> SearchSettings {
        SearchSettings {
            interrupt: interrupt.clone(),
            ..self.clone()
        }
    }

    /// How many candidates the answer to `request` may hold, and whether this number is the deployment's ceiling rather
    /// than the limit of the request or of `max_allocation_candidates`.
    pub fn max_candidates(&self, request: &Request) -> (usize, bool) {
        let limit = request.limit.unwrap_or(usize::MAX);
        let limit = limit.min(self.max.unwrap_or(usize::MAX)).max(1);
        let ceiling = self.max.map_or(self.ceiling.max(1), |_| usize::MAX);
        (limit.min(ceiling), ceiling < limit)
    }
}

/// Thresholds of cost at which the search of trees changes its technique. Tests set small values, for small worlds.
#[derive(Clone, Copy, Debug)]
pub struct SearchLimits {
    /// The number of steps (parts placed) since the last solution of a tree after which every further step is checked
    /// against the bounds. Up to this number, trying is often cheaper than checking.
    pub steps_before_bound: u64,
    /// The most 8-byte words of the trees waiting for their third or a later round. Of further trees only the last
    /// solution is kept, and their offers are collected again in their next round.
    pub waiting_words: usize,
    /// The most searches of an explanation. After these searches, the conditions left are not compared one by one.
    pub explanation_searches: usize,
}

impl Default for SearchLimits {
    fn default() -> SearchLimits {
        SearchLimits {
            steps_before_bound: 8,
            // 64 MB.
            waiting_words: 1 << 23,
            // 10,000 nested hosts take 40 ms. A usual explanation needs 20 searches.
            explanation_searches: 128,
        }
    }
}

/// `[placement] allocation_candidates_generation_strategy`: the order of candidates of different trees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TreeOrder {
    /// All candidates of a tree before the candidates of the next tree.
    #[default]
    DepthFirst,
    /// Round-robin: a candidate of each tree in every round.
    BreadthFirst,
}
