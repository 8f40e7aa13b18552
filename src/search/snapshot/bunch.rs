//! Some providers that stand beside each other.

use super::ids::Slot;

/// Providers of one block, one after the other. What is made of a block is looked for once for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bunch {
    block: usize,
    lanes: u64,
}

impl Bunch {
    pub(in crate::search) fn new(block: usize, lanes: u64) -> Bunch {
        Bunch { block, lanes }
    }

    /// Adds some to a list of bunches, of which the last may be of the same block.
    pub(in crate::search) fn add(all: &mut Vec<Bunch>, block: usize, lanes: u64) {
        match all.last_mut() {
            Some(last) if last.block == block => last.lanes |= lanes,
            _ => all.push(Bunch::new(block, lanes)),
        }
    }

    /// The provider that comes next.
    pub fn first(&self) -> Option<Slot> {
        (self.lanes != 0).then(|| Slot::new(self.block, self.lanes.trailing_zeros() as usize))
    }
}

impl Iterator for Bunch {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        let first = self.first()?;
        self.lanes &= self.lanes - 1;
        Some(first)
    }
}
