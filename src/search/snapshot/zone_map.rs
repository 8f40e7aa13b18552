//! The zone map of a region: a summary by which a search skips all blocks of a region at once.

use std::collections::BTreeMap;

use super::free_capacity::FreeCapacity;
use super::ids::ClassId;

/// The summary of one region: 64 blocks, which are one node of the vector of blocks.
#[derive(Clone, Debug, Default)]
pub(in crate::search) struct ZoneMap {
    /// The maximum of free capacity over the blocks, by class, sorted.
    max_free: Box<[(ClassId, i64)]>,
    /// Whether a tree with its root in the region has providers in other blocks.
    pub spans_blocks: bool,
}

impl ZoneMap {
    pub fn new<'a>(blocks: impl Iterator<Item = &'a FreeCapacity>, spans_blocks: bool) -> Self {
        let mut max_free: BTreeMap<ClassId, i64> = BTreeMap::new();
        for (class, capacity) in blocks.flat_map(FreeCapacity::classes) {
            let max = max_free.entry(*class).or_insert(capacity.max_free);
            *max = (*max).max(capacity.max_free);
        }
        Self {
            max_free: max_free.into_iter().collect(),
            spans_blocks,
        }
    }

    /// False if no provider in the region has all of `amounts` free, each class by itself.
    pub fn may_fit(&self, amounts: &[(ClassId, i64)]) -> bool {
        amounts.iter().all(|&(class, amount)| {
            let at = self.max_free.binary_search_by_key(&class, |(class, _)| *class);
            at.is_ok_and(|at| self.max_free[at].1 >= amount)
        })
    }
}
