//! Which regions a search passes over as a whole: what holds for many blocks is found out once.

use super::observer::Observer;
use super::snapshot::Snapshot;

/// By region, once asked: can anything be found there?
#[derive(Debug, Default)]
pub(super) struct Regions(Vec<Option<bool>>);

impl Regions {
    /// Need a block not be looked at, because `promises` is false of its region? Whoever listens wants to know why of each.
    pub fn exclude<O: Observer>(&mut self, block: usize, promises: impl FnOnce() -> bool) -> bool {
        if O::LISTENS {
            return false;
        }
        let region = Snapshot::region(block);
        if self.0.len() <= region {
            self.0.resize(region + 1, None);
        }
        !*self.0[region].get_or_insert_with(promises)
    }
}
