//! The providers that the summaries of an answer show.

use super::candidate::Candidate;
use super::snapshot::{BlockSlots, Slot, Snapshot};

/// The providers of candidates, each once: whole trees, or these providers alone before version 1.29, which has no
/// trees. All calls need the same snapshot, because slots belong to a version of the snapshot.
pub(super) struct ShownProviders {
    whole_trees: bool,
    /// By block, the lanes of the providers, or of the roots of their trees.
    lanes: Vec<u64>,
    /// The same providers or roots in the order of addition.
    order: Vec<Slot>,
}

impl ShownProviders {
    pub fn new(snapshot: &Snapshot, whole_trees: bool) -> Self {
        Self {
            whole_trees,
            lanes: vec![0; snapshot.blocks.len()],
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
            let lanes = &mut self.lanes[slot.block()];
            if *lanes & slot.bit() == 0 {
                *lanes |= slot.bit();
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
