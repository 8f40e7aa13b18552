//! The zone map of a region: a summary by which a search skips all blocks of a region at once.

use super::free_capacity::MaxFree;
use super::ids::ClassId;
use super::persistent_vec::PersistentVec;
use super::version::Snapshot;

/// The summary of one region: 64 blocks, which are one node of the vector of blocks.
#[derive(Clone, Debug)]
pub(in crate::search) struct ZoneMap {
    max_free: MaxFree,
    /// Whether a tree with its root in the region has providers in other blocks.
    spans_blocks: bool,
}

impl Snapshot {
    /// The region of a block.
    pub(in crate::search) fn region(block: usize) -> usize {
        PersistentVec::<super::block::Block, ZoneMap>::node(block)
    }

    /// False if no provider in the region of `block` has all of `amounts` free, each class by itself.
    pub(in crate::search) fn may_fit(&self, block: usize, amounts: &[(ClassId, i64)]) -> bool {
        let max_free = &self.zone_map(block).max_free;
        amounts.iter().all(|&(class, amount)| max_free.may_fit(class, amount))
    }

    /// False if every tree with its root in the region of `block` is in one block.
    pub(in crate::search) fn may_span_blocks(&self, block: usize) -> bool {
        self.zone_map(block).spans_blocks
    }

    fn zone_map(&self, block: usize) -> &ZoneMap {
        self.blocks.summary(block, |blocks| ZoneMap {
            max_free: MaxFree::of(blocks.clone().map(|block| self.blocks.get(block).free_capacity())),
            // Without any child the layouts need not be computed.
            spans_blocks: self.child_count > 0 && blocks.into_iter().any(|block| self.layout(block).spilling != 0),
        })
    }
}
