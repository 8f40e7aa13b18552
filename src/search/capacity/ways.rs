//! The ways of a host to serve the request, as amounts of inventories.

use std::ops::Range;

use crate::search::candidate::Placement;
use crate::search::snapshot::{ClassId, Slot, Snapshot};

/// An amount of a way, with the index of the inventory that gives the amount.
pub type WayAmount = (usize, i64);

/// The ways of a host. A way takes amounts from inventories of the host's tree, and of pools: sharing providers.
#[derive(Debug)]
pub struct HostWays {
    /// Sorted by provider and class. No pair occurs twice.
    pub inventories: Vec<WayInventory>,
    /// The amounts of all ways, one way after the other.
    amounts: Vec<WayAmount>,
    /// By way, the end of the way's amounts.
    ends: Vec<usize>,
}

/// An inventory from which ways take amounts.
#[derive(Clone, Copy, Debug)]
pub struct WayInventory {
    pub slot: Slot,
    pub class: ClassId,
    pub free: i64,
    /// Whether the provider is a pool.
    pub is_of_pool: bool,
}

impl HostWays {
    /// `ends`: by way, the end of the way's placements.
    pub fn new(snapshot: &Snapshot, placements: &[Placement], ends: &[usize]) -> HostWays {
        let mut pairs: Vec<(Slot, ClassId)> = placements.iter().map(|it| (it.slot, it.class)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let index = |it: &Placement| pairs.partition_point(|pair| *pair < (it.slot, it.class));
        let amounts = placements.iter().map(|it| (index(it), it.amount)).collect();
        let inventory = |&(slot, class): &(Slot, ClassId)| WayInventory {
            slot,
            class,
            free: free(snapshot, slot, class),
            is_of_pool: snapshot.is_sharing(slot),
        };
        HostWays {
            inventories: pairs.iter().map(inventory).collect(),
            amounts,
            ends: ends.to_vec(),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = &[WayAmount]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let amounts: Range<usize> = start..*end;
            start = *end;
            &self.amounts[amounts]
        })
    }

    /// The amounts of a way from pools, or from the host's own providers.
    pub fn part(&self, way: &[WayAmount], is_of_pools: bool) -> Vec<WayAmount> {
        let part = way
            .iter()
            .filter(|(at, _)| self.inventories[*at].is_of_pool == is_of_pools);
        part.copied().collect()
    }

    /// Whether a way takes an amount from a pool.
    pub fn has_pool(&self, way: &[WayAmount]) -> bool {
        way.iter().any(|(at, _)| self.inventories[*at].is_of_pool)
    }

    /// All but the free amounts and the identities of providers. Hosts with equal shapes have the same bounds as
    /// functions of the free amounts.
    pub fn shape(&self) -> Vec<u64> {
        let mut shape = vec![self.inventories.len() as u64];
        let mut last = None;
        for inventory in &self.inventories {
            let is_next = last.replace(inventory.slot) != Some(inventory.slot);
            let flags = u64::from(is_next) << 1 | u64::from(inventory.is_of_pool);
            shape.push(flags << 32 | u64::from(inventory.class.0.cast_unsigned()));
        }
        for way in self.iter() {
            shape.push(way.len() as u64);
            shape.extend(way.iter().flat_map(|(at, amount)| [*at as u64, amount.cast_unsigned()]));
        }
        shape
    }
}

/// The free amount of a class of a provider.
pub fn free(snapshot: &Snapshot, slot: Slot, class: ClassId) -> i64 {
    let (limit, used) = snapshot.limit_and_used(slot, class);
    limit.saturating_sub(used).max(0)
}
