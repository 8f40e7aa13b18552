//! How the trees of a block lie in it.

use super::ids::{LANES, Slot, lanes_of};
use super::version::Snapshot;

/// Who belongs together in one block, so that a search need not walk trees that it can see at once.
#[derive(Clone, Debug)]
pub(in crate::search) struct Layout {
    /// For the lane of a root the lanes of its tree, itself among them; nothing for other lanes.
    pub trees: [u64; LANES],
    /// The lanes of roots whose trees have providers in other blocks too.
    pub spilling: u64,
}

impl Layout {
    pub fn of(snapshot: &Snapshot, block: usize) -> Self {
        let data = snapshot.blocks().get(block);
        let mut layout = Self {
            trees: [0; LANES],
            spilling: 0,
        };
        for lane in lanes_of(data.present) {
            let root = snapshot.root(Slot::new(block, lane));
            if root.block() == block {
                layout.trees[root.lane()] |= 1 << lane;
            }
        }
        for lane in lanes_of(data.present & data.roots) {
            let tree = snapshot.tree(Slot::new(block, lane));
            let spills = tree.iter().any(|slot| slot.block() != block);
            layout.spilling |= u64::from(spills) << lane;
        }
        layout
    }
}
