//! Lower bounds of the costs of a tree's candidates, for a search that ranks them: a tree whose bound is not better than
//! the worst candidate kept so far is passed over, before anything is collected of it.
//!
//! A bound has the least cost of each kind of part over the providers that could serve it, whatever the other parts
//! need. Parts that may share a provider cost more or less together than alone. So a contested class counts with the
//! amount that makes its cost least: the demand of all parts where a higher usage is better, or the part's own.

use super::super::rank::Scoring;
use super::super::snapshot::{ClassId, LANES, Slot, Snapshot, lanes_of};
use super::fit_cache::FitCache;
use super::sharing::SharingProviders;
use super::split_request::SplitRequest;
use crate::search::explain::Explain;

/// The bounds of the trees of one block, and what a search that ranks needs beside them.
#[derive(Debug)]
pub(in crate::search) struct TreeBounds {
    pub scoring: Scoring,
    /// A candidate is wanted only if it costs less than this.
    pub max_cost: f64,
    /// By the lane of a root.
    bounds: [f64; LANES],
    /// By kind of part, the amounts that make its cost least.
    amounts: Vec<Vec<(ClassId, i64)>>,
    /// By sharing provider, its cost for each kind of part that it serves.
    shared: Vec<Vec<(usize, f64)>>,
}

impl TreeBounds {
    pub fn new(snapshot: &Snapshot, request: &SplitRequest, sharing: &SharingProviders, scoring: Scoring) -> Self {
        let amounts: Vec<_> = (0..request.kinds.len())
            .map(|kind| least_amounts(request, scoring, kind))
            .collect();
        let shared = sharing.providers.iter().map(|provider| {
            let of_kind = |&kind: &usize| {
                let mut costs = scoring.no_costs();
                let (slot, amounts) = (provider.slot, &amounts[kind]);
                scoring.add_block(&mut costs, snapshot, slot.block(), slot.bit(), amounts);
                (kind, costs[slot.lane()])
            };
            provider.kinds.iter().map(of_kind).collect()
        });
        Self {
            scoring,
            max_cost: f64::INFINITY,
            bounds: [Scoring::NO_BOUND; LANES],
            shared: shared.collect(),
            amounts,
        }
    }

    /// Computes the bounds of trees of a block. Returns those of its `roots` that may have a candidate that is wanted.
    pub fn enter_block<E: Explain>(
        &mut self,
        snapshot: &Snapshot,
        request: &SplitRequest,
        fits: &mut FitCache<E>,
        sharing: &mut SharingProviders,
        (block, roots): (usize, u64),
    ) -> u64 {
        if roots == 0 {
            return 0;
        }
        let layout = snapshot.layout(block);
        self.bounds = self.scoring.no_costs();
        let local = roots & !layout.spilling;
        let own = lanes_of(local).fold(0, |lanes, root| lanes | layout.trees[root]);
        let reaching = sharing.reaching(snapshot, block);
        for kind in 0..request.kinds.len() {
            let fit = own & fits.lanes(snapshot, request, block, kind);
            let mut costs = self.scoring.no_costs();
            self.scoring
                .add_block(&mut costs, snapshot, block, fit, &self.amounts[kind]);
            for root in lanes_of(local) {
                let tree = layout.trees[root];
                let own = lanes_of(fit & tree).map(|lane| costs[lane]);
                let reached = reaching.iter().filter(|(lanes, _)| lanes & tree != 0);
                let shared = reached.flat_map(|&(_, provider)| &self.shared[provider]);
                let shared = shared.filter(|(served, _)| *served == kind).map(|&(_, cost)| cost);
                let lesser = |one: f64, other: f64| if other < one { other } else { one };
                let least = own.chain(shared).fold(f64::INFINITY, lesser);
                self.bounds[root] = self.scoring.fold(self.bounds[root], least);
            }
        }
        // The other providers of these trees would have to be looked up one by one.
        lanes_of(layout.spilling).for_each(|root| self.bounds[root] = Scoring::NO_BOUND);
        let is_wanted = |&root: &usize| self.bounds[root] < self.max_cost;
        lanes_of(roots)
            .filter(is_wanted)
            .fold(0, |lanes, root| lanes | 1 << root)
    }

    /// The lower bound of a tree whose root is in the block that was entered last.
    pub fn bound(&self, root: Slot) -> f64 {
        self.bounds[root.lane()]
    }
}

/// The amounts of a kind of part that make its cost least.
fn least_amounts(request: &SplitRequest, scoring: Scoring, kind: usize) -> Vec<(ClassId, i64)> {
    let contested = |class: ClassId| request.classes.binary_search(&class).ok();
    let wants = |kind: usize, class: ClassId| {
        let mut amounts = request.kinds[kind].filter.amounts.iter();
        amounts.any(|&(other, _)| other == class)
    };
    let amounts = request.kinds[kind].filter.amounts.iter();
    let least = amounts.filter_map(|&(class, amount)| match (scoring, contested(class)) {
        (Scoring::Emptiest, _) | (_, None) => Some((class, amount)),
        (Scoring::Fullest, Some(at)) => Some((class, request.demand[at])),
        // All parts may be on one provider, which then counts once.
        (Scoring::Tightest, Some(_)) if (0..kind).any(|earlier| wants(earlier, class)) => None,
        (Scoring::Tightest, Some(at)) => Some((class, request.demand[at])),
    });
    least.collect()
}
