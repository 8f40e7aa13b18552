//! Which regions a search passes over as a whole: what holds for many blocks is found out once.

use super::observer::Observer;
use super::snapshot::{Slot, Snapshot};

/// By region, once asked: can anything be found there? Nothing for a search of one tree, for whom to ask takes longer than
/// to look.
#[derive(Debug)]
pub(super) struct Regions(Option<Vec<Option<bool>>>);

impl Regions {
    /// For a search of that tree, or of everything.
    pub fn new(tree: Option<Slot>) -> Self {
        Regions(tree.is_none().then(Vec::new))
    }

    /// Need a block not be looked at, because `promises` is false of its region? Whoever listens wants to know why of each.
    pub fn exclude<O: Observer>(&mut self, block: usize, promises: impl FnOnce() -> bool) -> bool {
        let Some(known) = self.0.as_mut().filter(|_| !O::LISTENS) else {
            return false;
        };
        let region = Snapshot::region(block);
        if known.len() <= region {
            known.resize(region + 1, None);
        }
        !*known[region].get_or_insert_with(promises)
    }
}
