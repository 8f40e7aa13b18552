//! Iterates over the trees that could serve a request, and collects the offers of each tree.

use std::collections::HashSet;

use super::super::block_walk::{BlockWalk, StripeLanes, mix};
use super::super::snapshot::{Slot, Snapshot, by_block};
use super::fit_cache::FitCache;
use super::offers::TreeOffers;
use super::root_filter::RootFilter;
use super::sharing::SharingProviders;
use super::split_request::SplitRequest;
use super::tree_bounds::TreeBounds;
use crate::search::rank::{BoundQueue, Scoring};
use crate::search::zone_filter::ZoneFilter;

/// An iterator over the trees that could serve, each by its root.
pub(in crate::search) struct RootIter {
    pub request: SplitRequest,
    pub sharing: SharingProviders,
    fits: FitCache,
    filter: RootFilter,
    walk: BlockWalk,
    /// The roots of the current stripe that were not returned yet.
    stripe: StripeLanes,
    /// Sets of sharing providers that reached a tree without offers of its own. A second tree without offers and with
    /// the same set has the same candidates.
    seen_sharing_sets: HashSet<Vec<usize>>,
    /// Whether candidates of sharing providers alone are wanted of each tree in reach, and not once.
    pub repeats_shared: bool,
    /// Buffers, whose memory is reused for the next tree.
    reached: Vec<usize>,
    masks: Vec<u64>,
    /// If candidates are ranked.
    best_first: Option<Box<BestFirst>>,
    /// Only candidates of lower cost are wanted.
    pub max_cost: f64,
    /// A lower bound of the costs of the candidates of the last returned tree.
    pub bound: f64,
}

/// Blocks and trees in the order of lower bounds of their costs (best-first search).
struct BestFirst {
    bounds: TreeBounds,
    /// The blocks that were not visited yet.
    blocks: BoundQueue<(usize, u64)>,
    /// The roots of trees of visited blocks.
    trees: BoundQueue<Slot>,
}

impl RootIter {
    pub fn new(snapshot: &Snapshot, request: SplitRequest) -> Self {
        let mut fits = FitCache::new(snapshot, &request);
        let sharing = SharingProviders::new(snapshot, &request, &mut fits);
        let kinds = 0..request.kinds.len();
        let local: Vec<usize> = kinds.filter(|&kind| !sharing.any_serves(kind)).collect();
        let tree_of_kind = || local.iter().find_map(|&kind| request.kinds[kind].filter.tree);
        let tree = request.unsuffixed.as_ref().and_then(|group| group.tree);
        let only_tree = tree.or_else(tree_of_kind);
        Self {
            walk: BlockWalk::to_trees(snapshot, only_tree, (request.settings.seed, request.settings.order)),
            filter: RootFilter::new(snapshot, &request, &sharing, &local, only_tree),
            request,
            sharing,
            fits,
            stripe: StripeLanes::default(),
            seen_sharing_sets: HashSet::new(),
            repeats_shared: false,
            reached: Vec::new(),
            masks: Vec::new(),
            best_first: None,
            max_cost: f64::INFINITY,
            bound: Scoring::NO_BOUND,
        }
    }

    /// Before the first tree: only the trees of these roots are wanted.
    pub fn restrict(&mut self, roots: &[Slot]) {
        self.walk.restrict(&by_block(roots.to_vec()));
        self.filter.zones = ZoneFilter::off();
    }

    /// Whether every part could be served by a sharing provider.
    pub(super) fn may_be_all_shared(&self) -> bool {
        (0..self.request.kinds.len()).all(|kind| self.sharing.any_serves(kind))
    }

    /// Before the first tree: candidates are ranked, so trees come in the order of their bounds.
    pub(super) fn rank(&mut self, snapshot: &Snapshot, scoring: Scoring) {
        let bounds = TreeBounds::new(snapshot, &self.request, &self.sharing, scoring);
        let (request, filter) = (&self.request, &mut self.filter);
        let bounded = self.walk.blocks().filter_map(|(number, (block, lanes))| {
            if filter.can_skip(snapshot, request, block) {
                return None;
            }
            // A bound would have to look up the providers in other blocks.
            let bound = if filter.spills(snapshot, block) {
                Scoring::NO_BOUND
            } else {
                bounds.of_block(snapshot, block)
            };
            Some((bound, number, (block, lanes)))
        });
        self.best_first = Some(Box::new(BestFirst {
            blocks: BoundQueue::of_blocks(bounded, &request.settings.interrupt),
            trees: BoundQueue::default(),
            bounds,
        }));
    }

    /// Collects the offers of the next tree and returns its root; `None` after the last tree. The tree may still turn
    /// out to have no candidate.
    pub(super) fn next(&mut self, snapshot: &Snapshot, offers: &mut TreeOffers) -> Option<Slot> {
        loop {
            let root = match self.best_first {
                Some(_) => self.next_best(snapshot)?,
                None => self.next_of_walk(snapshot)?,
            };
            if self.collect(snapshot, root, offers, false) {
                return Some(root);
            }
        }
    }

    /// Called instead of `next`: calls `found` with the root of each tree with a provider for each part.
    pub(super) fn each(&mut self, snapshot: &Snapshot, mut found: impl FnMut(Slot)) {
        if self.sharing.providers.is_empty() {
            // The filter of roots knows all providers.
            while let Some(root) = self.next_of_walk(snapshot) {
                found(root);
            }
            return;
        }
        let mut offers = TreeOffers::default();
        while let Some(root) = self.next(snapshot, &mut offers) {
            found(root);
        }
    }

    fn next_of_walk(&mut self, snapshot: &Snapshot) -> Option<Slot> {
        loop {
            if self.request.settings.interrupt.is_set() {
                return None;
            }
            if let Some(root) = self.stripe.next() {
                return Some(root);
            }
            let (request, fits, filter) = (&self.request, &mut self.fits, &mut self.filter);
            request.settings.interrupt.spend(request.steps_a_block - 1);
            let find = |block, lanes| filter.roots(snapshot, request, fits, block, lanes);
            self.stripe = self.walk.next(find)?;
        }
    }

    /// The next tree in the order of bounds. The trees of a block are bounded when the block's bound comes first.
    fn next_best(&mut self, snapshot: &Snapshot) -> Option<Slot> {
        let best_first = self.best_first.as_mut()?;
        loop {
            if self.request.settings.interrupt.is_set() {
                return None;
            }
            let is_wanted = |bound: f64| bound < self.max_cost;
            let is_tree = match (best_first.trees.bound(), best_first.blocks.bound()) {
                (Some(tree), Some(block)) => tree <= block,
                (tree, _) => tree.is_some(),
            };
            if is_tree {
                let (bound, root) = best_first.trees.pop_if(is_wanted)?;
                self.bound = bound;
                return Some(root);
            }
            let (_, (block, lanes)) = best_first.blocks.pop_if(is_wanted)?;
            let (request, fits) = (&self.request, &mut self.fits);
            request.settings.interrupt.spend(request.steps_a_block - 1);
            let roots = self.filter.roots(snapshot, request, fits, block, lanes);
            if roots == 0 {
                continue;
            }
            let all = &best_first.bounds;
            let bounds = all.of_trees(snapshot, request, fits, &mut self.sharing, (block, roots));
            for root in self.walk.shuffled(block, roots) {
                let bound = bounds[root.lane()];
                if is_wanted(bound) {
                    best_first.trees.push(bound, root);
                }
            }
        }
    }

    /// Collects the offers of a tree; `is_repeated` if the tree was collected before. False if the tree cannot have a
    /// candidate that no earlier tree had. The order of the offers is always the same.
    pub(super) fn collect(
        &mut self,
        snapshot: &Snapshot,
        root: Slot,
        offers: &mut TreeOffers,
        is_repeated: bool,
    ) -> bool {
        self.collect_providers(snapshot, root, offers);
        let reached = &self.reached;
        if offers.slots.is_empty()
            && (reached.is_empty()
                || !is_repeated && !self.repeats_shared && !self.seen_sharing_sets.insert(reached.clone()))
        {
            return false;
        }
        for &provider in reached {
            let provider = &self.sharing.providers[provider];
            offers.add_block(provider.slot.block(), &provider.masks);
        }
        if offers.options.iter().any(Vec::is_empty) {
            return false;
        }
        // A random first option for each tree, because equal trees would all offer the same provider first.
        let random = mix(self.request.settings.seed ^ root.index() as u64) as usize;
        for options in offers.options.iter_mut().filter(|options| options.len() > 1) {
            let first = random % options.len();
            options.rotate_left(first);
        }
        offers.finish(snapshot, &self.request);
        true
    }

    /// Offers the providers of the tree, and finds the sharing providers of other trees in reach.
    fn collect_providers(&mut self, snapshot: &Snapshot, root: Slot, offers: &mut TreeOffers) {
        let layout = snapshot.layout(root.block());
        let request = &self.request;
        offers.clear(request);
        let (reached, masks) = (&mut self.reached, &mut self.masks);
        reached.clear();
        masks.resize(request.kinds.len(), 0);
        let is_root_member = self.fits.members(snapshot, root.block()) & root.bit() != 0;
        let own = [(root.block(), layout.trees[root.lane()])];
        let blocks = layout.spilled.get(&root.lane()).map_or(&own[..], Vec::as_slice);
        // A tree may be large, so its blocks count as steps. The interrupt is checked before the next tree.
        request.settings.interrupt.spend(blocks.len() as u64);
        for &(block, lanes) in blocks {
            for (kind, mask) in masks.iter_mut().enumerate() {
                *mask = lanes & self.fits.lanes(snapshot, request, block, kind);
                if !request.kinds[kind].granular && !is_root_member {
                    *mask &= self.fits.members(snapshot, block);
                }
            }
            offers.add_block(block, masks);
            self.sharing.add_reaching(snapshot, block, lanes, reached);
        }
        reached.retain(|&provider| self.sharing.providers[provider].root != root);
        reached.sort_unstable();
        reached.dedup();
    }
}
