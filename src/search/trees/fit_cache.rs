//! Which providers could serve each kind of part, by block. A block is scanned at most once for each condition of a
//! search, when the result is first needed.

use std::collections::BTreeMap;

use super::super::scan;
use super::super::snapshot::{BlockSlots, Slot, Snapshot, lanes_of};
use super::split_request::{PartKind, SplitRequest};
use crate::search::provider_filter::ProviderFilter;

/// A matrix with a row for each block, whose entries are masks of lanes. There is a column for each kind of part, and
/// two for the aggregates that the group without a suffix requires: [`FitCache::members`] and
/// [`FitCache::members_or_below`].
pub(in crate::search) struct FitCache {
    columns: usize,
    /// A filter with the required aggregates of the group without a suffix, if the group names any.
    required_aggregates: Option<ProviderFilter>,
    masks: Vec<u64>,
    computed: Vec<bool>,
}

impl FitCache {
    pub fn new(snapshot: &Snapshot, request: &SplitRequest) -> Self {
        let unsuffixed = request.unsuffixed.as_ref();
        let requiring = unsuffixed.filter(|group| !group.members.any_of.is_empty());
        let required_aggregates = requiring.map(|group| {
            let mut filter = ProviderFilter::default();
            filter.members.any_of = group.members.any_of.clone();
            filter
        });
        let columns = request.kinds.len() + 2;
        let size = columns * snapshot.blocks.len();
        Self {
            columns,
            required_aggregates,
            masks: vec![0; size],
            computed: vec![false; size],
        }
    }

    /// The lanes whose provider could serve a part of `kind` in some tree.
    pub fn lanes(&mut self, snapshot: &Snapshot, request: &SplitRequest, block: usize, kind: usize) -> u64 {
        let at = block * self.columns + kind;
        if !self.computed[at] {
            let kind = &request.kinds[kind];
            let lanes = match &kind.lanes {
                Some(lanes) => lanes.get(&block).copied().unwrap_or(0),
                None if kind.granular => u64::MAX,
                None => self.members_or_below(snapshot, block).unwrap_or(u64::MAX),
            };
            self.masks[at] = scan::fitting(snapshot, &kind.filter, block, lanes);
            self.computed[at] = true;
        }
        self.masks[at]
    }

    /// Whether this one provider could serve a part of `kind`. For the group without a suffix, the caller checks
    /// [`FitCache::is_member`].
    pub fn fits(&mut self, snapshot: &Snapshot, request: &SplitRequest, slot: Slot, kind: usize) -> bool {
        let PartKind { filter, lanes, .. } = &request.kinds[kind];
        let in_block = |lanes: &BTreeMap<usize, u64>| lanes.get(&slot.block()).copied().unwrap_or(0);
        let lanes = lanes.as_ref().map_or(u64::MAX, in_block);
        scan::fitting(snapshot, filter, slot.block(), lanes & slot.bit()) != 0
    }

    /// Whether this one provider is itself in the aggregates that the group without a suffix requires.
    pub fn is_member(&self, snapshot: &Snapshot, slot: Slot) -> bool {
        let is_member = |filter: &ProviderFilter| scan::is_in_required_aggregates(snapshot, &filter.members, slot);
        self.required_aggregates.as_ref().is_none_or(is_member)
    }

    /// The lanes whose provider is itself in the aggregates that the group without a suffix requires.
    pub fn members(&mut self, snapshot: &Snapshot, block: usize) -> u64 {
        let Some(filter) = &self.required_aggregates else {
            return u64::MAX;
        };
        let at = block * self.columns + self.columns - 2;
        if !self.computed[at] {
            self.masks[at] = scan::fitting(snapshot, filter, block, u64::MAX);
            self.computed[at] = true;
        }
        self.masks[at]
    }

    /// The lanes whose provider or root is in the aggregates that the group without a suffix requires. Only these
    /// providers, often few, serve a part of the group, so the rest needs no scan. `None` if the group requires none.
    pub fn members_or_below(&mut self, snapshot: &Snapshot, block: usize) -> Option<u64> {
        self.required_aggregates.as_ref()?;
        let at = block * self.columns + self.columns - 1;
        if !self.computed[at] {
            let members = self.members(snapshot, block);
            let layout = snapshot.layout(block);
            let mut lanes = lanes_of(members).fold(members, |lanes, lane| lanes | layout.trees[lane]);
            for slot in BlockSlots::new(block, layout.rooted_elsewhere & !members) {
                let root = snapshot.root(slot);
                let is_below = self.members(snapshot, root.block()) & root.bit() != 0;
                lanes |= u64::from(is_below) << slot.lane();
            }
            (self.masks[at], self.computed[at]) = (lanes, true);
        }
        Some(self.masks[at])
    }
}
