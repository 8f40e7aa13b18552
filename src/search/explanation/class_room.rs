//! The largest amounts of a class on one provider of some hosts.

use super::host_set::HostSet;
use crate::search::snapshot::{ClassId, Slot, Snapshot};

/// The largest amounts of a class on one provider, each of its own provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassRoom {
    /// [`crate::search::Inventory::limit`].
    pub capacity: i64,
    /// Below zero if all providers are overcommitted.
    pub free: i64,
    /// Within the normal limit, if the snapshot has normal limits.
    pub normal_free: i64,
}

impl ClassRoom {
    /// Of these hosts and of the sharing providers. `None` without an inventory of the class.
    pub(super) fn of(snapshot: &Snapshot, hosts: &HostSet, class: ClassId) -> Option<ClassRoom> {
        let counts = |slot: &Slot| snapshot.is_sharing(*slot) || hosts.contains(snapshot.cached_root(*slot));
        let having = snapshot
            .iter()
            .filter(|slot| snapshot.inventory(*slot, class).is_some());
        let rooms = having
            .filter(counts)
            .filter_map(|slot| ClassRoom::of_provider(snapshot, slot, class));
        rooms.reduce(|one, other| ClassRoom {
            capacity: one.capacity.max(other.capacity),
            free: one.free.max(other.free),
            normal_free: one.normal_free.max(other.normal_free),
        })
    }

    fn of_provider(snapshot: &Snapshot, slot: Slot, class: ClassId) -> Option<ClassRoom> {
        let inventory = snapshot.inventory(slot, class)?;
        let (normal, used) = snapshot.limit_and_used(slot, class);
        let capacity = inventory.limit();
        Some(ClassRoom {
            capacity,
            free: capacity.saturating_sub(used),
            normal_free: normal.saturating_sub(used),
        })
    }
}
