//! The providers that the summaries of an answer show.

use super::candidates::Candidate;
use super::snapshot::{BlockSlots, Slot, Snapshot};

/// The providers of candidates, each once: whole trees, or these providers alone before version 1.29, which has no
/// trees. All calls need the same snapshot, because slots belong to a version of the snapshot.
pub(super) struct ShownProviders {
    whole_trees: bool,
    /// The providers, or the roots of their trees.
    set: SlotSet,
    /// The members of the set in the order of addition.
    order: Vec<Slot>,
}

impl ShownProviders {
    pub fn new(snapshot: &Snapshot, whole_trees: bool) -> Self {
        Self {
            whole_trees,
            set: SlotSet::new(snapshot),
            order: Vec::new(),
        }
    }

    pub fn add(&mut self, snapshot: &Snapshot, candidate: &Candidate) {
        for placement in &candidate.placements {
            let slot = if self.whole_trees {
                snapshot.cached_root(placement.slot)
            } else {
                placement.slot
            };
            if self.set.insert(slot) {
                self.order.push(slot);
            }
        }
    }

    pub fn into_blocks(self, snapshot: &Snapshot) -> Vec<BlockSlots> {
        let mut all = Vec::new();
        for slot in self.order {
            if self.whole_trees {
                snapshot.cached_tree(slot, &mut all);
            } else {
                BlockSlots::add(&mut all, slot.block(), slot.bit());
            }
        }
        all
    }
}

/// A set of slots, as a bitmap.
struct SlotSet(Vec<u64>);

impl SlotSet {
    fn new(snapshot: &Snapshot) -> Self {
        Self(vec![0; snapshot.blocks().len()])
    }

    /// Adds a slot. False if the set already has the slot.
    fn insert(&mut self, slot: Slot) -> bool {
        let lanes = &mut self.0[slot.block()];
        let is_new = *lanes & slot.bit() == 0;
        *lanes |= slot.bit();
        is_new
    }
}
