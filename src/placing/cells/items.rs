//! The hosts of a search: for new replicas, or with replicas that may stay.

use std::sync::Arc;

use super::index::CellIndex;
use crate::placing::compared::Compared;
use crate::placing::cost::Cost;

/// The hosts of a search. Each has places: for new replicas, or of replicas that may stay.
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

    /// The most replicas on an item by the rules on hosts.
    fn most(&self, item: u32) -> u32;

    /// The cost by the rules on hosts of the replica with this number, from 0 to [`Items::most`] less 1.
    fn unit(&self, item: u32, number: u32) -> Cost;

    /// Whether an item takes these numbers of replicas, by role.
    fn fits(&self, item: u32, counts: &[u32]) -> bool;
}
