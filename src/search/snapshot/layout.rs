//! How the trees of a block lie in it.

use super::bunch::Bunch;
use super::ids::{LANES, Slot, lanes_of};
use super::version::Snapshot;

/// Who belongs together in one block, so that a search need not walk trees that it can see at once.
#[derive(Clone, Debug)]
pub(in crate::search) struct Layout {
    /// For the lane of a root the lanes of its tree in this block, itself among them; nothing for other lanes.
    pub trees: [u64; LANES],
    /// By lane those at or above it, if they are all in this block; otherwise nothing.
    pub above: [u64; LANES],
    /// The lane of each provider's parent and root, or one of the two below.
    parents: [u8; LANES],
    roots: [u8; LANES],
    /// The lanes of providers whose root is in another block.
    pub strays: u64,
    /// The lanes of roots whose trees have providers in other blocks too.
    pub spilling: u64,
    /// Those trees, by the lane of the root: blocks and lanes.
    spilled: Vec<(usize, Vec<(usize, u64)>)>,
}

const NONE: u8 = u8::MAX;
const ELSEWHERE: u8 = u8::MAX - 1;

impl Layout {
    pub fn of(snapshot: &Snapshot, block: usize) -> Self {
        let data = snapshot.blocks().get(block);
        let mut layout = Self {
            trees: [0; LANES],
            above: [0; LANES],
            parents: [NONE; LANES],
            roots: [ELSEWHERE; LANES],
            strays: 0,
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
                layout.strays |= 1 << lane;
            }
            layout.parents[lane] = match snapshot.parent(slot) {
                None => NONE,
                Some(parent) if parent.block() == block => parent.lane() as u8,
                Some(_) => ELSEWHERE,
            };
        }
        for lane in lanes_of(data.present) {
            layout.above[lane] = layout.line(lane);
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

    /// As `above` tells it.
    fn line(&self, lane: usize) -> u64 {
        let (mut lanes, mut at) = (0, lane);
        loop {
            // Tables that somebody else wrote may have anything in them, a circle too.
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

    /// The whole tree of a root, if some of it is in other blocks.
    pub fn spilled(&self, lane: usize) -> Option<&[(usize, u64)]> {
        let found = self.spilled.iter().find(|(root, _)| *root == lane);
        found.map(|(_, pieces)| pieces.as_slice())
    }
}

impl Snapshot {
    /// As `parent`, without a look into an index where the parent is near.
    pub fn near_parent(&self, slot: Slot) -> Option<Slot> {
        match self.layout(slot.block()).parents[slot.lane()] {
            NONE => None,
            ELSEWHERE => self.parent(slot),
            lane => Some(Slot::new(slot.block(), lane.into())),
        }
    }

    /// As `tree`, of a root, likewise; in whatever order.
    pub(in crate::search) fn near_tree(&self, root: Slot, into: &mut Vec<Bunch>) {
        let layout = self.layout(root.block());
        let is_root = self.blocks().get(root.block()).roots & root.bit() != 0;
        if is_root && layout.spilling & root.bit() == 0 {
            Bunch::add(into, root.block(), layout.trees[root.lane()]);
        } else {
            let all = by_block(self.tree(root));
            all.into_iter()
                .for_each(|(block, lanes)| Bunch::add(into, block, lanes));
        }
    }

    /// As `root`, likewise.
    pub fn near_root(&self, slot: Slot) -> Slot {
        match self.layout(slot.block()).roots[slot.lane()] {
            ELSEWHERE => self.root(slot),
            lane => Slot::new(slot.block(), lane.into()),
        }
    }
}

/// The blocks of some slots, with their lanes.
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
