//! The trees of a version: parents, roots and children of providers, and the layouts of blocks.

use std::collections::BTreeMap;

use super::block_slots::BlockSlots;
use super::ids::{LANES, Slot, lanes_of};
use super::layout::{ELSEWHERE, Layout, NONE, by_block};
use super::version::Snapshot;

impl Snapshot {
    /// The number of trees.
    pub(in crate::search) fn tree_count(&self) -> usize {
        self.len() - self.child_count
    }

    /// Whether any provider has a parent.
    pub(in crate::search) fn has_trees(&self) -> bool {
        self.child_count > 0
    }

    pub fn parent(&self, slot: Slot) -> Option<Slot> {
        self.by_id(self.block(slot).identity.parents[slot.lane()]?)
    }

    /// The root of the provider's tree; the provider itself if there is no parent.
    pub fn root(&self, slot: Slot) -> Slot {
        let block = self.block(slot);
        if block.roots & slot.bit() != 0 {
            return slot;
        }
        self.by_id(block.identity.trees[slot.lane()]).unwrap_or(slot)
    }

    /// Direct children, ordered by id.
    pub fn children(&self, slot: Slot) -> &[Slot] {
        self.block(slot).identity.children.of(slot.lane())
    }

    /// A provider and its ancestors, up to the root. Ends even at a cycle of parents, which a foreign writer may have
    /// left.
    pub fn lineage(&self, slot: Slot) -> impl Iterator<Item = Slot> {
        std::iter::successors(Some(slot), |&slot| self.parent(slot)).take(self.len())
    }

    /// A provider and its descendants, parents before children. Each provider once: a foreign writer may have left a
    /// cycle of parents in the tables. Each provider has one parent, so a reachable cycle goes through `top`.
    pub fn tree(&self, top: Slot) -> Vec<Slot> {
        let mut found = Vec::new();
        let mut stack = vec![top];
        while let Some(slot) = stack.pop() {
            found.push(slot);
            stack.extend(self.children(slot).iter().rev().filter(|child| **child != top));
        }
        found
    }

    /// Same as [`Snapshot::parent`], without an index lookup if the parent is in the same block.
    pub fn cached_parent(&self, slot: Slot) -> Option<Slot> {
        match self.layout(slot.block()).parents[slot.lane()] {
            NONE => None,
            ELSEWHERE => self.parent(slot),
            lane => Some(Slot::new(slot.block(), lane.into())),
        }
    }

    /// Same as [`Snapshot::root`], without an index lookup if the root is in the same block.
    pub fn cached_root(&self, slot: Slot) -> Slot {
        match self.layout(slot.block()).roots[slot.lane()] {
            ELSEWHERE => self.root(slot),
            lane => Slot::new(slot.block(), lane.into()),
        }
    }

    /// Adds the providers of [`Snapshot::tree`] of a root, in any order, by the layout if all are in one block.
    pub(in crate::search) fn cached_tree(&self, root: Slot, into: &mut Vec<BlockSlots>) {
        let layout = self.layout(root.block());
        if self.block(root).roots & root.bit() != 0 && layout.spilling & root.bit() == 0 {
            BlockSlots::add(into, root.block(), layout.trees[root.lane()]);
        } else {
            for (block, lanes) in by_block(self.tree(root)) {
                BlockSlots::add(into, block, lanes);
            }
        }
    }

    /// The trees of a block.
    pub(in crate::search) fn layout(&self, block: usize) -> &Layout {
        self.blocks.get(block).layout.get_or_init(|| self.find_layout(block))
    }

    fn find_layout(&self, block: usize) -> Layout {
        let data = self.blocks.get(block);
        let mut layout = Layout {
            trees: [0; LANES],
            above: [0; LANES],
            parents: [NONE; LANES],
            roots: [ELSEWHERE; LANES],
            rooted_elsewhere: 0,
            spilling: 0,
            spilled: BTreeMap::new(),
        };
        for slot in BlockSlots::new(block, data.present) {
            let root = self.root(slot);
            if root.block() == block {
                layout.trees[root.lane()] |= slot.bit();
                layout.roots[slot.lane()] = root.lane() as u8;
            } else {
                layout.rooted_elsewhere |= slot.bit();
            }
            layout.parents[slot.lane()] = match self.parent(slot) {
                None => NONE,
                Some(parent) if parent.block() == block => parent.lane() as u8,
                Some(_) => ELSEWHERE,
            };
        }
        for lane in lanes_of(data.present) {
            layout.above[lane] = layout.ancestors(lane);
        }
        for root in BlockSlots::new(block, data.roots) {
            let tree = self.tree(root);
            if tree.iter().any(|slot| slot.block() != block) {
                layout.spilling |= root.bit();
                layout.spilled.insert(root.lane(), by_block(tree));
            }
        }
        layout
    }
}
