//! Offsets of the lanes of a block into one list, which holds the entries lane after lane. The list is one allocation
//! of memory instead of an allocation for each provider.

use std::ops::Range;

use super::ids::LANES;

/// By lane, the end of the lane's range and the beginning of the next range. A lane without entries has an empty range.
#[derive(Clone, Debug)]
pub(super) struct LaneOffsets([u32; LANES]);

impl Default for LaneOffsets {
    fn default() -> Self {
        Self([0; LANES])
    }
}

impl LaneOffsets {
    pub fn range(&self, lane: usize) -> Range<usize> {
        let start = lane.checked_sub(1).map_or(0, |before| self.0[before]);
        start as usize..self.0[lane] as usize
    }

    /// Changes the length of a lane's range, and moves the ranges behind.
    pub fn resize(&mut self, lane: usize, length: usize) {
        let (old, new) = (self.range(lane).len() as u32, length as u32);
        self.0[lane..].iter_mut().for_each(|end| *end = *end - old + new);
    }
}
