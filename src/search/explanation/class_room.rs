//! The largest amounts of a class on one provider of some hosts, and whether they are enough for a request.

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
    pub max_unit: i32,
}

/// Whether a single provider has enough of a class for an amount, and allows the amount, within the limits of the
/// snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Enough {
    /// No provider, even without usage.
    Never,
    /// A provider, if less were used.
    NotNow,
    Now,
}

impl Enough {
    /// As of [`ClassRoom::of`].
    pub(super) fn of(snapshot: &Snapshot, hosts: &HostSet, (class, amount): (ClassId, i64), strict: bool) -> Enough {
        let of_provider = |slot| {
            let is_allowed = snapshot.inventory(slot, class)?.units().allow(amount, strict);
            let (limit, used) = snapshot.limit_and_used(slot, class);
            let free = limit.saturating_sub(used);
            Some(match is_allowed {
                // Usage may be below zero.
                true if free >= amount => Enough::Now,
                true if limit >= amount => Enough::NotNow,
                _ => Enough::Never,
            })
        };
        let all = providers(snapshot, hosts, class).filter_map(of_provider);
        all.max().unwrap_or(Enough::Never)
    }
}

/// The providers of these hosts, and the sharing providers, that have an inventory of the class.
fn providers<'s>(snapshot: &'s Snapshot, hosts: &'s HostSet, class: ClassId) -> impl Iterator<Item = Slot> + 's {
    let counts = |slot: &Slot| snapshot.is_sharing(*slot) || hosts.contains(snapshot.cached_root(*slot));
    let having = snapshot
        .iter()
        .filter(move |slot| snapshot.inventory(*slot, class).is_some());
    having.filter(counts)
}

impl ClassRoom {
    /// Of these hosts and of the sharing providers. `None` without an inventory of the class.
    pub(super) fn of(snapshot: &Snapshot, hosts: &HostSet, class: ClassId) -> Option<ClassRoom> {
        let rooms = providers(snapshot, hosts, class);
        let rooms = rooms.filter_map(|slot| ClassRoom::of_provider(snapshot, slot, class));
        rooms.reduce(|one, other| ClassRoom {
            capacity: one.capacity.max(other.capacity),
            free: one.free.max(other.free),
            normal_free: one.normal_free.max(other.normal_free),
            max_unit: one.max_unit.max(other.max_unit),
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
            max_unit: inventory.max_unit,
        })
    }
}
