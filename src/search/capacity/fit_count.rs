//! Sums the room of hosts.

use std::collections::BTreeMap;

use super::host_room::HostRoom;
use super::pools::{PoolUse, WayPools};
use crate::interrupt::Interrupt;
use crate::search::snapshot::ClassId;

/// The number of further consumers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FitCount {
    /// A packing with this number was found.
    pub found: u64,
    /// No packing has more; [`u64::MAX`] without a bound.
    pub most: u64,
    /// The class whose room bounds the number first.
    pub limited_by: Option<ClassId>,
}

impl FitCount {
    pub fn is_exact(&self) -> bool {
        self.found == self.most
    }
}

/// The sum over some hosts.
pub struct FitSum<'a> {
    found: u64,
    /// As of [`super::bound::HostBound`].
    all: u64,
    without_pools: u64,
    with_pools: u64,
    /// By class, the number of hosts that the class bounds.
    limits: BTreeMap<ClassId, u64>,
    pools: PoolUse<'a>,
}

impl<'a> FitSum<'a> {
    pub fn new(pools: &'a WayPools) -> FitSum<'a> {
        FitSum {
            found: 0,
            all: 0,
            without_pools: 0,
            with_pools: 0,
            limits: BTreeMap::new(),
            pools: PoolUse::new(pools),
        }
    }

    pub fn add(&mut self, room: &HostRoom, interrupt: &Interrupt) {
        let of_pools = room.pooled.as_ref().map_or(0, |host| self.pools.add(host, interrupt));
        let (most, class) = room.bound.all;
        self.found = self.found.saturating_add(room.found).saturating_add(of_pools);
        self.all = self.all.saturating_add(most);
        self.without_pools = self.without_pools.saturating_add(room.bound.without_pools);
        self.with_pools = self.with_pools.saturating_add(room.bound.with_pools);
        if let Some(class) = class {
            *self.limits.entry(class).or_default() += 1;
        }
    }

    /// The sum. The class is the class that bounds most hosts, or the class of the pools.
    pub fn finish(self) -> FitCount {
        let (of_pools, pool_class) = self.pools.bound();
        let by_pools = self.without_pools.saturating_add(self.with_pools.min(of_pools));
        let most_hosts = self.limits.iter().max_by_key(|(_, hosts)| **hosts);
        // The sum of both kinds of consumers may be below the bound of all consumers although the pools have room.
        let limited_by = if of_pools < self.with_pools && by_pools < self.all {
            pool_class
        } else {
            most_hosts.map(|(class, _)| *class)
        };
        FitCount {
            found: self.found,
            most: by_pools.min(self.all),
            limited_by,
        }
    }
}
