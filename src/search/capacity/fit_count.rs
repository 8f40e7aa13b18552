//! Sums the room of hosts.

use std::collections::BTreeMap;

use super::bound::{BoundWithClass, sum};
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
    /// The class of the bound; of a sum over hosts the class that bounds most hosts.
    pub limited_by: Option<ClassId>,
}

impl FitCount {
    pub fn is_exact(&self) -> bool {
        self.found == self.most
    }
}

/// A sum of bounds over hosts.
#[derive(Default)]
struct BoundSum {
    sum: u64,
    /// By class, the number of hosts that the class bounds.
    hosts: BTreeMap<ClassId, u64>,
}

impl BoundSum {
    fn add(&mut self, (most, class): BoundWithClass) {
        self.sum = self.sum.saturating_add(most);
        if let Some(class) = class {
            *self.hosts.entry(class).or_default() += 1;
        }
    }

    /// The sum, with the class that bounds most hosts.
    fn total(&self) -> BoundWithClass {
        let most_hosts = self.hosts.iter().max_by_key(|(_, hosts)| **hosts);
        (self.sum, most_hosts.map(|(class, _)| *class))
    }
}

/// The sum over some hosts.
pub struct FitSum<'a> {
    found: u64,
    /// As of [`super::bound::HostBound`].
    all: BoundSum,
    without_pools: BoundSum,
    with_pools: BoundSum,
    pools: PoolUse<'a>,
}

impl<'a> FitSum<'a> {
    pub fn new(pools: &'a WayPools) -> FitSum<'a> {
        FitSum {
            found: 0,
            all: BoundSum::default(),
            without_pools: BoundSum::default(),
            with_pools: BoundSum::default(),
            pools: PoolUse::new(pools),
        }
    }

    pub fn add(&mut self, room: &HostRoom, interrupt: &Interrupt) {
        let of_pools = room.pooled.as_ref().map_or(0, |host| self.pools.add(host, interrupt));
        self.found = self.found.saturating_add(room.found).saturating_add(of_pools);
        self.all.add(room.bound.all);
        self.without_pools.add(room.bound.without_pools);
        self.with_pools.add(room.bound.with_pools);
    }

    /// The sum, with the class of the tighter bound: of all consumers, or of both kinds of consumers by themselves.
    pub fn finish(self, interrupt: &Interrupt) -> FitCount {
        let with_pools = least(self.with_pools.total(), self.pools.bound(interrupt));
        let both_kinds = sum([self.without_pools.total(), with_pools].into_iter());
        let (most, limited_by) = least(self.all.total(), both_kinds);
        FitCount {
            found: self.found,
            most,
            limited_by,
        }
    }
}

/// The lower bound; the first of equal bounds.
fn least(one: BoundWithClass, other: BoundWithClass) -> BoundWithClass {
    if other.0 < one.0 { other } else { one }
}
