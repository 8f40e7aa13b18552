//! Lower bounds of the costs of a tree's candidates, for a search that ranks candidates (branch and bound). Trees are
//! visited in the order of their bounds, until no bound is better than the worst kept candidate.
//!
//! A bound has the least cost of each kind of part over the possible providers, whatever the needs of all other parts.
//! Parts on a common provider may cost more or less together than alone. So a contested class counts with the amount of
//! least cost: the demand of all parts if a higher usage is better, or the amount of the part alone.
//!
//! Blocks are bounded first, from the summary of their free capacity. The trees of a block are bounded provider by
//! provider, only if the bound of the block is good enough.

use super::super::rank::{Scoring, lesser};
use super::super::snapshot::{ClassId, LANES, Snapshot, lanes_of};
use super::fit_cache::FitCache;
use super::sharing::SharingProviders;
use super::split_request::SplitRequest;

/// The data for bounds of the costs of trees.
#[derive(Debug)]
pub(in crate::search) struct TreeBounds {
    scoring: Scoring,
    /// By kind of part, the amounts of least cost.
    amounts: Vec<Vec<(ClassId, i64)>>,
    /// By sharing provider, the cost for each kind of part that the provider serves.
    shared: Vec<Vec<(usize, f64)>>,
    /// By kind of part, the least of these costs.
    least_shared: Vec<f64>,
}

impl TreeBounds {
    pub fn new(snapshot: &Snapshot, request: &SplitRequest, sharing: &SharingProviders, scoring: Scoring) -> Self {
        let kinds = request.kinds.len();
        let amounts: Vec<_> = (0..kinds).map(|kind| least_amounts(request, scoring, kind)).collect();
        let shared = sharing.providers.iter().map(|provider| {
            let serves = |kind: &usize| provider.masks[*kind] != 0;
            let of_kind = |kind: usize| {
                let mut costs = [scoring.no_cost(); LANES];
                let (slot, amounts) = (provider.slot, &amounts[kind]);
                scoring.add_block(&mut costs, snapshot, slot.block(), slot.bit(), amounts);
                (kind, costs[slot.lane()])
            };
            (0..kinds).filter(serves).map(of_kind).collect()
        });
        let shared: Vec<Vec<(usize, f64)>> = shared.collect();
        let mut least_shared = vec![f64::INFINITY; kinds];
        for &(kind, cost) in shared.iter().flatten() {
            least_shared[kind] = lesser(least_shared[kind], cost);
        }
        Self {
            scoring,
            amounts,
            shared,
            least_shared,
        }
    }

    /// A lower bound of the costs of all trees with their root in a block. All trees must lie in this block.
    pub fn of_block(&self, snapshot: &Snapshot, block: usize) -> f64 {
        let kinds = self.amounts.iter().zip(&self.least_shared);
        let bounds =
            kinds.map(|(amounts, &shared)| lesser(self.scoring.bound_in_block(snapshot, block, amounts), shared));
        bounds.fold(self.scoring.no_cost(), |all, bound| self.scoring.fold(all, bound))
    }

    /// The lower bounds of trees of a block, by the lane of their root. Bounds of lanes outside `roots` mean nothing.
    pub fn of_trees(
        &self,
        snapshot: &Snapshot,
        request: &SplitRequest,
        fits: &mut FitCache,
        sharing: &mut SharingProviders,
        (block, roots): (usize, u64),
    ) -> [f64; LANES] {
        let layout = snapshot.layout(block);
        let mut bounds = [self.scoring.no_cost(); LANES];
        let local = roots & !layout.spilling;
        let own = lanes_of(local).fold(0, |lanes, root| lanes | layout.trees[root]);
        let reaching = sharing.reaching(snapshot, block);
        for kind in 0..request.kinds.len() {
            let fit = own & fits.lanes(snapshot, request, block, kind);
            let mut costs = [self.scoring.no_cost(); LANES];
            self.scoring
                .add_block(&mut costs, snapshot, block, fit, &self.amounts[kind]);
            for root in lanes_of(local) {
                let tree = layout.trees[root];
                let own = lanes_of(fit & tree).map(|lane| costs[lane]);
                let reached = reaching.iter().filter(|(lanes, _)| lanes & tree != 0);
                let shared = reached.flat_map(|&(_, provider)| &self.shared[provider]);
                let shared = shared.filter(|(served, _)| *served == kind).map(|&(_, cost)| cost);
                let least = own.chain(shared).fold(f64::INFINITY, lesser);
                bounds[root] = self.scoring.fold(bounds[root], least);
            }
        }
        lanes_of(layout.spilling).for_each(|root| bounds[root] = Scoring::NO_BOUND);
        bounds
    }
}

/// The amounts of a kind of part with the least cost.
fn least_amounts(request: &SplitRequest, scoring: Scoring, kind: usize) -> Vec<(ClassId, i64)> {
    let contested = |class: ClassId| request.classes.binary_search(&class).ok();
    let wants = |kind: usize, class: ClassId| {
        let mut amounts = request.kinds[kind].filter.amounts.iter();
        amounts.any(|&(other, _)| other == class)
    };
    let parts = request.parts.iter().filter(|part| part.kind == kind).count();
    let amounts = request.kinds[kind].filter.amounts.iter();
    let least = amounts.flat_map(|&(class, amount)| match (scoring, contested(class)) {
        // No two parts are on one provider, so each part of the kind counts.
        (Scoring::Tightest, None) => std::iter::repeat_n((class, amount), parts),
        (Scoring::Emptiest, _) | (_, None) => std::iter::repeat_n((class, amount), 1),
        (Scoring::Fullest, Some(at)) => std::iter::repeat_n((class, request.demand[at]), 1),
        // All parts may be on one provider, which then counts once.
        (Scoring::Tightest, Some(at)) => {
            let counts_already = (0..kind).any(|earlier| wants(earlier, class));
            std::iter::repeat_n((class, request.demand[at]), usize::from(!counts_already))
        }
    });
    least.collect()
}
