//! Skips whole regions of the snapshot if the zone maps of the regions exclude a result.
//!
//! A region is 64 blocks (4,096 providers). The snapshot keeps a zone map of each region (`snapshot/zone_map.rs`). A
//! search evaluates a zone map once and caches the result for the remaining blocks of the region.

use super::snapshot::{AmountRulesByClass, Slot, Snapshot};

/// By region, once evaluated: whether the region may contain a result. `None` in a search of a single tree, because
/// evaluating a zone map takes longer than scanning the few blocks of a tree.
#[derive(Debug)]
pub(super) struct ZoneFilter(Option<Vec<Option<bool>>>);

impl ZoneFilter {
    /// For a search of a single tree, or of all trees.
    pub fn new(tree: Option<Slot>, rules: &AmountRulesByClass) -> Self {
        // Zone maps know the room by all rules.
        ZoneFilter((tree.is_none() && rules.are_all()).then(Vec::new))
    }

    /// Skips nothing.
    pub fn off() -> Self {
        ZoneFilter(None)
    }

    pub fn is_off(&self) -> bool {
        self.0.is_none()
    }

    /// Whether a block can be skipped, because `may_match` is false for the region of the block.
    pub fn can_skip(&mut self, block: usize, may_match: impl FnOnce() -> bool) -> bool {
        let Some(known) = self.0.as_mut() else {
            return false;
        };
        let region = Snapshot::region(block);
        if known.len() <= region {
            known.resize(region + 1, None);
        }
        !*known[region].get_or_insert_with(may_match)
    }
}
