//! The candidates of a search, whatever is searched.

use std::sync::Arc;

use super::index::CellIndex;
use crate::placing::compared::Compared;
use crate::placing::cost::Cost;

/// The candidates of a search: hosts for new replicas, or replicas that may stay.
pub trait Items {
    /// The number of items.
    fn count(&self) -> u32;

    /// At least the number of items that may take a replica.
    fn usable(&self) -> u32 {
        self.count()
    }

    /// The cells of the items by the compared dimensions. An item with a free place is in live domains.
    fn index(&self, compared: &Compared) -> Arc<CellIndex>;

    /// The cost of a further replica of a role on an item that gets `already` new replicas of the role. `None` if there
    /// is no room.
    fn offer(&self, item: u32, role: usize, already: u32) -> Option<Cost>;

    /// The most replicas that the rules on hosts admit on an item.
    fn most(&self, item: u32) -> u32;

    /// The cost that the rules on hosts add for the replica with this number, from 0 to [`Items::most`] less 1.
    fn unit(&self, item: u32, number: u32) -> Cost;

    /// Whether these replicas fit together, by role.
    fn fits(&self, item: u32, counts: &[u32]) -> bool;
}
