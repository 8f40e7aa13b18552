//! Where in one list, in which the lanes of a block have their parts one behind the other, each part ends: one piece of memory
//! instead of one for each provider.

use std::ops::Range;

use super::ids::LANES;

/// Lanes that have nothing have an empty part.
#[derive(Clone, Debug)]
pub(super) struct Ends([u32; LANES]);

impl Default for Ends {
    fn default() -> Self {
        Self([0; LANES])
    }
}

impl Ends {
    /// The part of a lane.
    pub fn part(&self, lane: usize) -> Range<usize> {
        let before = lane.checked_sub(1).map_or(0, |lane| self.0[lane]);
        before as usize..self.0[lane] as usize
    }

    /// The part of a lane has another length, and those behind it have moved.
    pub fn resize(&mut self, lane: usize, length: usize) {
        let (old, new) = (self.part(lane).len() as u32, length as u32);
        self.0[lane..].iter_mut().for_each(|end| *end = *end - old + new);
    }
}
