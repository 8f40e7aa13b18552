//! The slots of one block. Data of the block is looked up once for all slots.

use super::ids::Slot;

/// An iterator over some slots of one block, in the order of their lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockSlots {
    block: usize,
    lanes: u64,
}

impl BlockSlots {
    pub(in crate::search) fn new(block: usize, lanes: u64) -> BlockSlots {
        BlockSlots { block, lanes }
    }

    /// Adds lanes of a block to a list. If the last entry is of the same block, the entry is extended.
    pub(in crate::search) fn add(all: &mut Vec<BlockSlots>, block: usize, lanes: u64) {
        match all.last_mut() {
            Some(last) if last.block == block => last.lanes |= lanes,
            _ => all.push(BlockSlots::new(block, lanes)),
        }
    }

    /// The next slot, which is not taken from the iterator.
    pub fn first(&self) -> Option<Slot> {
        (self.lanes != 0).then(|| Slot::new(self.block, self.lanes.trailing_zeros() as usize))
    }
}

impl Iterator for BlockSlots {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        let first = self.first()?;
        self.lanes &= self.lanes - 1;
        Some(first)
    }
}
