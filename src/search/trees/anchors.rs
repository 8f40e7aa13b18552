//! Which trees could serve a request, and what each offers.

use std::collections::HashSet;

use super::super::observer::Observer;
use super::super::order::{Walk, mix};
use super::super::plan::Plan;
use super::super::regions::Regions;
use super::super::scan;
use super::super::snapshot::{Slot, Snapshot, TraitId, lanes_of};
use super::ask::Ask;
use super::board::Board;
use super::fits::Fits;
use super::pools::Pools;

/// The trees that could serve, one after the other, by their roots.
pub(in crate::search) struct Anchors<O> {
    pub ask: Ask,
    pub pools: Pools,
    fits: Fits<O>,
    sieve: Sieve,
    walk: Walk,
    /// The lanes of `block` whose turn it is.
    block: usize,
    lanes: u64,
    seed: u64,
    /// Sets of sharing providers that were laid out without any provider of the tree: the next tree with the same ones
    /// has nothing new.
    seen: HashSet<Vec<usize>>,
    /// Kept for the next tree, for their memory alone.
    reached: Vec<usize>,
    masks: Vec<u64>,
}

impl<O: Observer> Anchors<O> {
    pub fn new(snapshot: &Snapshot, ask: Ask, seed: u64, observer: O) -> Self {
        let fits = Fits::new(snapshot, &ask, observer);
        let pools = Pools::of(snapshot, &ask, &fits);
        let mut root = Plan::default();
        root.traits = ask.root.clone();
        if let Some(whole) = &ask.whole {
            root.members.forbidden = whole.members.forbidden.clone();
        }
        let local = (0..ask.kinds.len()).filter(|&kind| !pools.serve(kind));
        let local: Vec<(usize, u32)> = local.map(|kind| (kind, ask.least(kind))).collect();
        let bound = || local.iter().find_map(|&(kind, _)| ask.kinds[kind].plan.tree);
        let only = ask.whole.as_ref().and_then(|whole| whole.tree).or_else(bound);
        let required = ask.whole.iter().flat_map(|whole| &whole.required);
        let sieve = Sieve {
            root: (root != Plan::default()).then_some(root),
            required: required
                .filter(|any_of| !pools.have(snapshot, any_of))
                .cloned()
                .collect(),
            regions: Regions::new(only),
            whole: local.iter().any(|&(kind, _)| !ask.kinds[kind].granular),
            local,
        };
        Self {
            walk: Walk::to_trees(snapshot, only, seed),
            ask,
            pools,
            fits,
            sieve,
            block: 0,
            lanes: 0,
            seed,
            seen: HashSet::new(),
            reached: Vec::new(),
            masks: Vec::new(),
        }
    }

    /// Lays the next tree out, and tells its root; none after the last. It may turn out that it cannot serve.
    pub(super) fn next(&mut self, snapshot: &Snapshot, board: &mut Board) -> Option<Slot> {
        loop {
            if self.ask.interrupt.is_set() {
                return None;
            }
            while self.lanes == 0 {
                if self.ask.interrupt.is_set() {
                    return None;
                }
                let (ask, fits, sieve) = (&self.ask, &mut self.fits, &mut self.sieve);
                let find = |block, lanes| sieve.roots(snapshot, ask, fits, block, lanes);
                (self.block, self.lanes) = self.walk.next(find)?;
            }
            let lane = self.lanes.trailing_zeros() as usize;
            self.lanes &= self.lanes - 1;
            let root = Slot::new(self.block, lane);
            if self.lay_out(snapshot, root, board, false) {
                return Some(root);
            }
        }
    }

    /// As it was laid out before.
    pub(super) fn lay_out_again(&mut self, snapshot: &Snapshot, root: Slot, board: &mut Board) {
        self.lay_out(snapshot, root, board, true);
    }

    /// False where there is nothing to try.
    fn lay_out(&mut self, snapshot: &Snapshot, root: Slot, board: &mut Board, again: bool) -> bool {
        let layout = snapshot.layout(root.block());
        let ask = &self.ask;
        board.clear(ask);
        let (reached, masks) = (&mut self.reached, &mut self.masks);
        reached.clear();
        masks.resize(ask.kinds.len(), 0);
        let spanned = self.fits.inside(snapshot, root.block()) & root.bit() != 0;
        let mut lay = |block, lanes| {
            for (kind, mask) in masks.iter_mut().enumerate() {
                *mask = lanes & self.fits.of(snapshot, ask, block, kind);
                if !ask.kinds[kind].granular && !spanned {
                    *mask &= self.fits.inside(snapshot, block);
                }
            }
            board.offer(block, masks);
            self.pools.reached(snapshot, block, lanes, reached);
        };
        let own = [(root.block(), layout.trees[root.lane()])];
        let pieces = layout.spilled(root.lane()).unwrap_or(&own);
        // Trees may be large. Who is to end does so before the next one.
        ask.interrupt.spend(pieces.len() as u64);
        pieces.iter().for_each(|&(block, lanes)| lay(block, lanes));
        reached.retain(|&pool| self.pools.all[pool].root != root);
        reached.sort_unstable();
        reached.dedup();
        let is_new = |seen: &mut HashSet<Vec<usize>>| !reached.is_empty() && (again || seen.insert(reached.clone()));
        if board.slots.is_empty() && !is_new(&mut self.seen) {
            return false;
        }
        for &pool in &*reached {
            let pool = &self.pools.all[pool];
            board.offer_pool(pool.slot, &pool.kinds);
        }
        if board.options.iter().any(Vec::is_empty) {
            return false;
        }
        let dice = mix(self.seed ^ root.index() as u64) as usize;
        for options in board.options.iter_mut().filter(|options| options.len() > 1) {
            let first = dice % options.len();
            options.rotate_left(first);
        }
        board.finish(snapshot, ask);
        true
    }
}

/// What keeps trees from being laid out that cannot serve.
struct Sieve {
    /// What a root must be, if anything is asked of it.
    root: Option<Plan>,
    /// The sets of traits that the group without a suffix requires and no sharing provider has one of.
    required: Vec<Vec<TraitId>>,
    regions: Regions,
    /// The kinds that only providers of the tree serve, and how many of them are needed. Those that let the fewest
    /// through come to stand before the others.
    local: Vec<(usize, u32)>,
    /// Is a part of the group without a suffix among them?
    whole: bool,
}

impl Sieve {
    /// The roots of a block whose trees have providers enough for each kind.
    fn roots<O: Observer>(
        &mut self,
        snapshot: &Snapshot,
        ask: &Ask,
        fits: &mut Fits<O>,
        block: usize,
        lanes: u64,
    ) -> u64 {
        let may_hold = |&(kind, _): &(usize, u32)| snapshot.may_hold(block, &ask.kinds[kind].plan.amounts);
        let promises = || self.local.iter().all(may_hold) || snapshot.may_spill(block);
        if self.regions.exclude::<O>(block, promises) {
            return 0;
        }
        let lanes = lanes & snapshot.blocks().get(block).roots;
        let mut left = match &self.root {
            Some(root) => scan::fitting(snapshot, root, block, lanes, &mut ()),
            None => lanes,
        };
        if left == 0 {
            return 0;
        }
        let layout = snapshot.layout(block);
        // Whoever listens wants to know of each why.
        if !O::LISTENS {
            left = self.having_traits(snapshot, block, left);
            left = self.having_members(snapshot, fits, block, left);
        }
        if left == 0 {
            return 0;
        }
        let inside = fits.inside(snapshot, block);
        for at in 0..self.local.len() {
            let (kind, least) = self.local[at];
            let granular = ask.kinds[kind].granular;
            let here = fits.of(snapshot, ask, block, kind);
            // Of most blocks that is all there is to know.
            left &= if here == 0 { layout.spilling } else { left };
            let is_enough = |suiting: u64| match least {
                1 => suiting != 0,
                _ => suiting.count_ones() >= least,
            };
            for lane in lanes_of(left & !layout.spilling) {
                let spanned = granular || inside >> lane & 1 == 1;
                let fit = if spanned { here } else { here & inside };
                left &= !(u64::from(!is_enough(fit & layout.trees[lane])) << lane);
            }
            for lane in lanes_of(left & layout.spilling) {
                let spanned = granular || inside >> lane & 1 == 1;
                let pieces = layout.spilled(lane).into_iter().flatten();
                let suiting = pieces.map(|&(block, lanes)| {
                    let fit = fits.of(snapshot, ask, block, kind) & lanes;
                    let fit = if spanned {
                        fit
                    } else {
                        fit & fits.inside(snapshot, block)
                    };
                    fit.count_ones()
                });
                left &= !(u64::from(suiting.sum::<u32>() < least) << lane);
            }
            if left == 0 {
                self.local[..=at].rotate_right(1);
                return 0;
            }
        }
        left
    }

    /// Those of `roots` in whose trees somebody may serve the group without a suffix, where it names aggregates.
    fn having_members<O: Observer>(&self, snapshot: &Snapshot, fits: &mut Fits<O>, block: usize, roots: u64) -> u64 {
        if !self.whole || roots == 0 {
            return roots;
        }
        let Some(belonging) = fits.belonging(snapshot, block) else {
            return roots;
        };
        let layout = snapshot.layout(block);
        let has = |lane: &usize| (layout.trees[*lane] & belonging != 0) || layout.spilling >> lane & 1 == 1;
        lanes_of(roots).filter(has).fold(0, |left, lane| left | 1 << lane)
    }

    /// Those of `roots` in whose trees somebody has each of the required traits, as far as can be told here.
    fn having_traits(&self, snapshot: &Snapshot, block: usize, roots: u64) -> u64 {
        if self.required.is_empty() {
            return roots;
        }
        let layout = snapshot.layout(block);
        let traits = &snapshot.blocks().get(block).fixed.traits;
        self.required.iter().fold(roots, |roots, any_of| {
            let having = traits.any(any_of);
            let has = |lane: &usize| (layout.trees[*lane] & having != 0) || layout.spilling >> lane & 1 == 1;
            lanes_of(roots).filter(has).fold(0, |left, lane| left | 1 << lane)
        })
    }
}
