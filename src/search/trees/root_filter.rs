//! Rejects trees without a candidate for a request, a block of roots at a time, before any offers are collected.

use super::super::scan;
use super::super::snapshot::{Layout, Slot, Snapshot, TraitId, lanes_of, lanes_where};
use super::fit_cache::FitCache;
use super::sharing::SharingProviders;
use super::split_request::SplitRequest;
use crate::search::provider_filter::{ProviderFilter, TraitIds};
use crate::search::zone_filter::ZoneFilter;

/// Necessary conditions for a tree to have a candidate.
pub(super) struct RootFilter {
    /// The conditions on the root itself, if there are any.
    root: Option<ProviderFilter>,
    /// The sets of traits required by the group without a suffix, if no sharing provider has a trait of the set.
    required: Vec<Vec<TraitId>>,
    pub zones: ZoneFilter,
    /// The kinds of parts without a sharing provider, each with the number of providers needed in a tree. A kind
    /// that rejected all trees of a block is checked first in the next block.
    local: Vec<(usize, u32)>,
    /// Whether a kind in `local` is of the group without a suffix.
    unsuffixed_is_local: bool,
}

impl RootFilter {
    /// `local`: the kinds without a sharing provider. `only_tree`: the tree to which the search is restricted.
    pub fn new(
        snapshot: &Snapshot,
        request: &SplitRequest,
        sharing: &SharingProviders,
        local: &[usize],
        only_tree: Option<Slot>,
    ) -> Self {
        let mut root = ProviderFilter::default();
        root.traits = request.root.clone();
        if let Some(group) = &request.unsuffixed {
            root.members.forbidden = group.members.forbidden.clone();
        }
        let required = request.unsuffixed.iter().flat_map(|group| &group.required).cloned();
        let unshared = |any_of: &Vec<TraitId>| !sharing.any_has_trait(snapshot, any_of);
        Self {
            root: (root.traits != TraitIds::default() || !root.members.forbidden.is_empty()).then_some(root),
            required: required.filter(unshared).collect(),
            zones: ZoneFilter::new(only_tree, &request.amount_rules),
            unsuffixed_is_local: local.iter().any(|&kind| !request.kinds[kind].granular),
            local: local.iter().map(|&kind| (kind, request.min_providers(kind))).collect(),
        }
    }

    /// Whether no tree with its root in the region of a block can serve.
    pub fn can_skip(&mut self, snapshot: &Snapshot, request: &SplitRequest, block: usize) -> bool {
        let local = &self.local;
        self.zones.can_skip(block, || {
            let zone_map = snapshot.zone_map(block);
            let may_fit = |&(kind, _): &(usize, u32)| zone_map.may_fit(&request.kinds[kind].filter.amounts);
            local.iter().all(may_fit) || zone_map.spans_blocks
        })
    }

    /// Whether a tree with its root in a block has providers in other blocks.
    pub fn spills(&self, snapshot: &Snapshot, block: usize) -> bool {
        let in_region = || self.zones.is_off() || snapshot.zone_map(block).spans_blocks;
        snapshot.has_trees() && in_region() && snapshot.layout(block).spilling != 0
    }

    /// The roots among `lanes` of a block whose trees may have a candidate.
    pub fn roots(
        &mut self,
        snapshot: &Snapshot,
        request: &SplitRequest,
        fits: &mut FitCache,
        block: usize,
        lanes: u64,
    ) -> u64 {
        if self.can_skip(snapshot, request, block) {
            return 0;
        }
        let mut roots = lanes & snapshot.blocks.get(block).roots;
        if let Some(host) = &request.host {
            roots = host.matching(snapshot, block, roots);
        }
        if let Some(root) = &self.root {
            roots = scan::fitting(snapshot, root, block, roots);
        }
        if roots != 0 {
            roots = self.having_traits(snapshot, block, roots);
            roots = self.having_members(snapshot, fits, block, roots);
        }
        if roots == 0 {
            return 0;
        }
        let root_block = (block, snapshot.layout(block), fits.members(snapshot, block));
        for at in 0..self.local.len() {
            roots = having_providers(snapshot, request, fits, root_block, roots, self.local[at]);
            if roots == 0 {
                self.local[..=at].rotate_right(1);
                return 0;
            }
        }
        roots
    }

    /// The subset of `roots` whose trees may have a provider in the required aggregates of the group without a suffix.
    fn having_members(&self, snapshot: &Snapshot, fits: &mut FitCache, block: usize, roots: u64) -> u64 {
        if !self.unsuffixed_is_local || roots == 0 {
            return roots;
        }
        let members = fits.members_or_below(snapshot, block);
        members.map_or(roots, |members| having_any(snapshot.layout(block), roots, members))
    }

    /// The subset of `roots` whose trees may have each of the required traits.
    fn having_traits(&self, snapshot: &Snapshot, block: usize, roots: u64) -> u64 {
        if self.required.is_empty() {
            return roots;
        }
        let layout = snapshot.layout(block);
        let traits = &snapshot.blocks.get(block).profile.traits;
        self.required
            .iter()
            .fold(roots, |roots, any_of| having_any(layout, roots, traits.any(any_of)))
    }
}

/// The subset of `roots` whose trees have one of these lanes. A tree with providers in other blocks always passes,
/// because the providers in other blocks are not checked.
fn having_any(layout: &Layout, roots: u64, lanes: u64) -> u64 {
    lanes_where(roots, |lane| {
        (layout.trees[lane] & lanes != 0) || layout.spilling >> lane & 1 == 1
    })
}

/// The subset of `roots` of a block whose trees have at least `min` providers for `kind`. `own_members` is
/// [`FitCache::members`] of the block.
fn having_providers(
    snapshot: &Snapshot,
    request: &SplitRequest,
    fits: &mut FitCache,
    (block, layout, own_members): (usize, &Layout, u64),
    roots: u64,
    (kind, min): (usize, u32),
) -> u64 {
    let granular = request.kinds[kind].granular;
    let fit = fits.lanes(snapshot, request, block, kind);
    // In most blocks no provider fits. Only trees with providers in other blocks remain.
    let mut passing = if fit == 0 { roots & layout.spilling } else { roots };
    // Aggregates of the root count for the whole tree.
    let whole_tree = |lane: usize| granular || own_members >> lane & 1 == 1;
    let is_enough = |lanes: u64| match min {
        1 => lanes != 0,
        _ => lanes.count_ones() >= min,
    };
    for lane in lanes_of(passing & !layout.spilling) {
        let members = if whole_tree(lane) { u64::MAX } else { own_members };
        passing &= !(u64::from(!is_enough(fit & members & layout.trees[lane])) << lane);
    }
    for lane in lanes_of(passing & layout.spilling) {
        let blocks = layout.spilled.get(&lane).into_iter().flatten();
        let counts = blocks.map(|&(block, lanes)| {
            let fit = fits.lanes(snapshot, request, block, kind) & lanes;
            let fit = if whole_tree(lane) {
                fit
            } else {
                fit & fits.members(snapshot, block)
            };
            fit.count_ones()
        });
        passing &= !(u64::from(counts.sum::<u32>() < min) << lane);
    }
    passing
}
