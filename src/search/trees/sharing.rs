//! Sharing providers that could serve a request for trees other than their own, and which trees they reach.
//!
//! A sharing provider (trait `MISC_SHARES_VIA_AGGREGATE`) reaches a tree if the provider has an aggregate in common
//! with any provider of the tree.

use std::collections::HashMap;

use super::super::snapshot::{AggregateId, Slot, Snapshot, TraitId};
use super::fit_cache::FitCache;
use super::split_request::SplitRequest;

/// The sharing providers that could serve a part of a request for a foreign tree.
#[derive(Debug, Default)]
pub(in crate::search) struct SharingProviders {
    /// Sorted by slot.
    pub providers: Vec<SharingProvider>,
    /// Aggregates with an index into `providers`, sorted.
    by_aggregate: Vec<(AggregateId, usize)>,
    /// By block, computed when first needed: lanes, with the index of a sharing provider that reaches these lanes.
    reach: HashMap<usize, Box<[(u64, usize)]>>,
}

#[derive(Debug)]
pub(in crate::search) struct SharingProvider {
    pub slot: Slot,
    pub root: Slot,
    /// By kind of part, the provider's lane if the provider could serve the part.
    pub masks: Vec<u64>,
}

impl SharingProviders {
    pub fn new(snapshot: &Snapshot, request: &SplitRequest, fits: &mut FitCache) -> Self {
        let mut sharing = Self::default();
        let in_one_tree = request.unsuffixed.as_ref().is_some_and(|group| group.tree.is_some());
        for slot in snapshot.sharing() {
            let is_member = fits.is_member(snapshot, slot);
            let mask = |kind: usize| {
                let may_serve = request.kinds[kind].granular || is_member && !in_one_tree;
                u64::from(may_serve && fits.fits(snapshot, request, slot, kind)) << slot.lane()
            };
            let masks: Vec<u64> = (0..request.kinds.len()).map(mask).collect();
            if masks.iter().all(|mask| *mask == 0) {
                continue;
            }
            let index = sharing.providers.len();
            let aggregates = snapshot.aggregates(slot).map(|aggregate| (aggregate, index));
            sharing.by_aggregate.extend(aggregates);
            let root = snapshot.root(slot);
            sharing.providers.push(SharingProvider { slot, root, masks });
        }
        sharing.by_aggregate.sort_unstable();
        sharing
    }

    /// Whether any sharing provider could serve a part of this kind.
    pub fn any_serves(&self, kind: usize) -> bool {
        self.providers.iter().any(|provider| provider.masks[kind] != 0)
    }

    /// Whether any sharing provider has one of these traits.
    pub fn any_has_trait(&self, snapshot: &Snapshot, any_of: &[TraitId]) -> bool {
        let has = |slot| any_of.iter().any(|&id| snapshot.has_trait(slot, id));
        self.providers.iter().any(|provider| has(provider.slot))
    }

    /// Whether a provider is in this set, and so may serve several trees.
    pub fn contains(&self, slot: Slot) -> bool {
        let found = self.providers.binary_search_by_key(&slot, |provider| provider.slot);
        found.is_ok()
    }

    /// Adds the indexes of the sharing providers that reach these lanes; an index may be added twice.
    pub fn add_reaching(&mut self, snapshot: &Snapshot, block: usize, lanes: u64, found: &mut Vec<usize>) {
        let reaching = self.reaching(snapshot, block).iter();
        let reaching = reaching.filter(|(reached, _)| reached & lanes != 0);
        found.extend(reaching.map(|&(_, provider)| provider));
    }

    /// Lanes of a block, each time with the index of a sharing provider that reaches these lanes.
    pub fn reaching(&mut self, snapshot: &Snapshot, block: usize) -> &[(u64, usize)] {
        if self.providers.is_empty() {
            return &[];
        }
        let by_aggregate = &self.by_aggregate;
        self.reach.entry(block).or_insert_with(|| {
            let aggregates = snapshot.blocks.get(block).profile.aggregates.iter();
            let reaching = |&(aggregate, lanes): &(AggregateId, u64)| {
                let first = by_aggregate.partition_point(|&(other, _)| other < aggregate);
                let following = by_aggregate[first..].iter();
                let members = following.take_while(move |(other, _)| *other == aggregate);
                members.map(move |&(_, provider)| (lanes, provider))
            };
            aggregates.flat_map(reaching).collect()
        })
    }
}
