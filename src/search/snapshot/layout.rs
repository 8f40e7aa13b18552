//! The layout of a block: the lanes of each tree, and the trees that continue in further blocks.

use super::block_slots::BlockSlots;
use super::ids::{LANES, Slot, lanes_of};
use super::version::Snapshot;

/// The trees of one block as masks of lanes, so that a search need not follow parents and children one by one.
#[derive(Clone, Debug)]
pub(in crate::search) struct Layout {
    /// For the lane of a root: the lanes of its tree in this block, including the root's lane. Zero for other lanes.
    pub trees: [u64; LANES],
    /// For each lane: the lane and its ancestors, if all are in this block; zero if not.
    pub above: [u64; LANES],
    /// The lane of each provider's parent and root, or `NONE` or `ELSEWHERE`.
    parents: [u8; LANES],
    roots: [u8; LANES],
    /// The lanes of providers whose root is in another block.
    pub rooted_elsewhere: u64,
    /// The lanes of roots whose trees have providers in other blocks too.
    pub spilling: u64,
    /// By the lane of a root in `spilling`: the blocks and lanes of the whole tree.
    spilled: Vec<(usize, Vec<(usize, u64)>)>,
}

/// No parent.
const NONE: u8 = u8::MAX;
/// In another block.
const ELSEWHERE: u8 = u8::MAX - 1;

impl Layout {
    pub fn of(snapshot: &Snapshot, block: usize) -> Self {
        let data = snapshot.blocks().get(block);
        let mut layout = Self {
            trees: [0; LANES],
            above: [0; LANES],
            parents: [NONE; LANES],
            roots: [ELSEWHERE; LANES],
            rooted_elsewhere: 0,
            spilling: 0,
            spilled: Vec::new(),
        };
        for lane in lanes_of(data.present) {
            let slot = Slot::new(block, lane);
            let root = snapshot.root(slot);
            if root.block() == block {
                layout.trees[root.lane()] |= 1 << lane;
                layout.roots[lane] = root.lane() as u8;
            } else {
                layout.rooted_elsewhere |= 1 << lane;
            }
            layout.parents[lane] = match snapshot.parent(slot) {
                None => NONE,
                Some(parent) if parent.block() == block => parent.lane() as u8,
                Some(_) => ELSEWHERE,
            };
        }
        for lane in lanes_of(data.present) {
            layout.above[lane] = layout.ancestors(lane);
        }
        for lane in lanes_of(data.present & data.roots) {
            let tree = snapshot.tree(Slot::new(block, lane));
            if tree.iter().any(|slot| slot.block() != block) {
                layout.spilling |= 1 << lane;
                layout.spilled.push((lane, by_block(tree)));
            }
        }
        layout
    }

    /// The value of `above` for a lane.
    fn ancestors(&self, lane: usize) -> u64 {
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

    /// The blocks and lanes of the whole tree of a root, if the tree continues in other blocks.
    pub fn spilled(&self, lane: usize) -> Option<&[(usize, u64)]> {
        let found = self.spilled.iter().find(|(root, _)| *root == lane);
        found.map(|(_, blocks)| blocks.as_slice())
    }
}

impl Snapshot {
    /// Same as [`Snapshot::parent`], without an index lookup if the parent is in the same block.
    pub fn cached_parent(&self, slot: Slot) -> Option<Slot> {
        match self.layout(slot.block()).parents[slot.lane()] {
            NONE => None,
            ELSEWHERE => self.parent(slot),
            lane => Some(Slot::new(slot.block(), lane.into())),
        }
    }

    /// Adds the providers of [`Snapshot::tree`] of a root, in any order, by the layout if all are in one block.
    pub(in crate::search) fn cached_tree(&self, root: Slot, into: &mut Vec<BlockSlots>) {
        let layout = self.layout(root.block());
        let is_root = self.blocks().get(root.block()).roots & root.bit() != 0;
        if is_root && layout.spilling & root.bit() == 0 {
            BlockSlots::add(into, root.block(), layout.trees[root.lane()]);
        } else {
            let all = by_block(self.tree(root));
            all.into_iter()
                .for_each(|(block, lanes)| BlockSlots::add(into, block, lanes));
        }
    }

    /// Same as [`Snapshot::root`], without an index lookup if the root is in the same block.
    pub fn cached_root(&self, slot: Slot) -> Slot {
        match self.layout(slot.block()).roots[slot.lane()] {
            ELSEWHERE => self.root(slot),
            lane => Slot::new(slot.block(), lane.into()),
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
