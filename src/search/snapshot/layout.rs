//! The layout of a block: the lanes of each tree, and the trees with providers in further blocks.

use std::collections::BTreeMap;

use super::ids::{LANES, Slot};

/// The trees of a block as masks of lanes. A search combines masks instead of following each parent and child.
#[derive(Clone, Debug)]
pub(in crate::search) struct Layout {
    /// By the lane of a root: the lanes of the root's tree in this block, with the root's lane. Zero without a root.
    pub trees: [u64; LANES],
    /// For each lane: the lane and its ancestors, if all are in this block; zero if not.
    pub above: [u64; LANES],
    /// The lane of each provider's parent and root, or `NONE` or `ELSEWHERE`.
    pub(super) parents: [u8; LANES],
    pub(super) roots: [u8; LANES],
    /// The lanes of providers whose root is in a different block.
    pub rooted_elsewhere: u64,
    /// The lanes of roots whose trees have providers in further blocks.
    pub spilling: u64,
    /// By the lane of a root in `spilling`: the blocks and lanes of the whole tree.
    pub spilled: BTreeMap<usize, Vec<(usize, u64)>>,
}

/// No parent.
pub(super) const NONE: u8 = u8::MAX;
/// In a different block.
pub(super) const ELSEWHERE: u8 = u8::MAX - 1;

impl Layout {
    /// The value of `above` for a lane.
    pub(super) fn ancestors(&self, lane: usize) -> u64 {
        let (mut lanes, mut at) = (0, lane);
        loop {
            // A foreign writer may have left a cycle of parents in the tables.
            if lanes >> at & 1 == 1 {
                return 0;
            }
            lanes |= 1 << at;
            match self.parents[at] {
                NONE => return lanes,
                ELSEWHERE => return 0,
                parent => at = parent.into(),
            }
        }
    }
}

/// Groups slots by block: each block with the mask of its lanes.
pub(in crate::search) fn by_block(mut slots: Vec<Slot>) -> Vec<(usize, u64)> {
    slots.sort_unstable();
    let mut blocks: Vec<(usize, u64)> = Vec::new();
    for slot in slots {
        match blocks.last_mut() {
            Some((block, lanes)) if *block == slot.block() => *lanes |= slot.bit(),
            _ => blocks.push((slot.block(), slot.bit())),
        }
    }
    blocks
}
