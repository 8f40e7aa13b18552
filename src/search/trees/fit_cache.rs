//! Which providers could serve each kind of part, by block. A block is scanned once for each question of a search, and
//! only if the question comes up.

use std::collections::BTreeMap;

use super::super::scan;
use super::super::snapshot::{Slot, Snapshot, lanes_of};
use super::split_request::{PartKind, SplitRequest};
use crate::search::explain::{Explain, Reason};
use crate::search::resolve::ProviderFilter;

/// A mask of lanes for each block and question. There is one question for each kind of part, and two about the aggregates
/// that the group without a suffix requires: see [`FitCache::inside`] and [`FitCache::inside_or_below`].
pub(in crate::search) struct FitCache<E> {
    questions: usize,
    /// The required aggregates of the group without a suffix, if it names any.
    inside: Option<ProviderFilter>,
    masks: Vec<u64>,
    known: Vec<bool>,
    explain: E,
}

impl<E: Explain> FitCache<E> {
    pub fn new(snapshot: &Snapshot, request: &SplitRequest, explain: E) -> Self {
        let members = request.unsuffixed.as_ref().map(|group| group.members.any_of.clone());
        let inside = members.filter(|any_of| !any_of.is_empty()).map(|any_of| {
            let mut filter = ProviderFilter::default();
            filter.members.any_of = any_of;
            filter
        });
        let questions = request.kinds.len() + 2;
        let size = questions * snapshot.blocks().len();
        Self {
            questions,
            inside,
            masks: vec![0; size],
            known: vec![false; size],
            explain,
        }
    }

    /// The lanes whose provider could serve a part of `kind` in some tree.
    pub fn of(&mut self, snapshot: &Snapshot, request: &SplitRequest, block: usize, kind: usize) -> u64 {
        let at = block * self.questions + kind;
        if !self.known[at] {
            let kind = &request.kinds[kind];
            let lanes = match &kind.lanes {
                Some(lanes) => lanes.get(&block).copied().unwrap_or(0),
                None if kind.granular => u64::MAX,
                None => self.inside_or_below(snapshot, block).unwrap_or(u64::MAX),
            };
            self.masks[at] = scan::fitting(snapshot, &kind.filter, block, lanes, &mut self.explain);
            self.known[at] = true;
        }
        self.masks[at]
    }

    /// Whether this one provider could serve a part of `kind`. The rest of its block is not scanned.
    pub fn one(&self, snapshot: &Snapshot, request: &SplitRequest, slot: Slot, kind: usize) -> bool {
        let PartKind { filter, lanes, .. } = &request.kinds[kind];
        let in_block = |lanes: &BTreeMap<usize, u64>| lanes.get(&slot.block()).copied().unwrap_or(0);
        let lanes = lanes.as_ref().map_or(u64::MAX, in_block);
        scan::fitting(snapshot, filter, slot.block(), lanes & slot.bit(), &mut ()) != 0
    }

    /// Whether this one provider is itself in the aggregates that the group without a suffix requires.
    pub fn is_inside(&self, snapshot: &Snapshot, slot: Slot) -> bool {
        let inside = |filter: &ProviderFilter| scan::is_inside(snapshot, &filter.members, slot);
        self.inside.as_ref().is_none_or(inside)
    }

    /// The lanes whose provider is itself in the aggregates that the group without a suffix requires.
    pub fn inside(&mut self, snapshot: &Snapshot, block: usize) -> u64 {
        let Some(filter) = &self.inside else { return u64::MAX };
        let at = block * self.questions + self.questions - 2;
        if !self.known[at] {
            self.masks[at] = scan::fitting(snapshot, filter, block, u64::MAX, &mut ());
            self.known[at] = true;
        }
        self.masks[at]
    }

    /// The lanes whose provider or root is in the aggregates that the group without a suffix requires: no other provider
    /// serves a part of that group. Mostly these are few, and the others need no scan. `None` if it requires none.
    pub fn inside_or_below(&mut self, snapshot: &Snapshot, block: usize) -> Option<u64> {
        self.inside.as_ref()?;
        let at = block * self.questions + self.questions - 1;
        if !self.known[at] {
            let inside = self.inside(snapshot, block);
            let layout = snapshot.layout(block);
            let mut lanes = lanes_of(inside).fold(inside, |lanes, lane| lanes | layout.trees[lane]);
            for lane in lanes_of(layout.strays & !inside) {
                let root = snapshot.root(Slot::new(block, lane));
                let is_below = self.inside(snapshot, root.block()) & root.bit() != 0;
                lanes |= u64::from(is_below) << lane;
            }
            if E::ENABLED {
                let others = snapshot.blocks().get(block).present & !lanes;
                lanes_of(others).for_each(|lane| self.explain.rejected(Slot::new(block, lane), Reason::NotMember));
            }
            (self.masks[at], self.known[at]) = (lanes, true);
        }
        Some(self.masks[at])
    }
}
