//! An upper bound of the number of consumers that fit, from sums over the providers of the ways.
//!
//! A consumer takes at least the least amount of a class in a way. So the free amounts of the class, divided by this
//! amount, bound the number of consumers. Ways without a common provider are bounded one by one.

use std::collections::{BTreeMap, BTreeSet};

use super::{HostWays, Ways, count_alone, free};
use crate::search::candidate::Placement;
use crate::search::snapshot::{ClassId, Slot, Snapshot};

/// The bound of the hosts so far. Consumers are of two kinds: a consumer of a pool is served by sharing providers, too.
pub struct FitBound<'a> {
    snapshot: &'a Snapshot,
    amounts: &'a [(ClassId, i64)],
    /// The sum over hosts, without the bound of the sharing providers.
    all: u64,
    /// The same, of consumers without a pool.
    without_pools: u64,
    /// The same, of consumers of pools.
    with_pools: u64,
    /// The placements of a consumer on sharing providers.
    pool_parts: BTreeSet<Vec<Placement>>,
    /// By class, the number of hosts that the class bounds.
    limits: BTreeMap<ClassId, u64>,
}

/// A number of consumers, and the class that bounds the number. [`u64::MAX`] without a bound.
type BoundWithClass = (u64, Option<ClassId>);

impl<'a> FitBound<'a> {
    pub fn new(snapshot: &'a Snapshot, amounts: &'a [(ClassId, i64)]) -> Self {
        FitBound {
            snapshot,
            amounts,
            all: 0,
            without_pools: 0,
            with_pools: 0,
            pool_parts: BTreeSet::new(),
            limits: BTreeMap::new(),
        }
    }

    pub fn add(&mut self, host: &HostWays) {
        match &host.ways {
            Ways::Alone => self.add_without_pools(count_alone(self.snapshot, host.host, self.amounts)),
            Ways::Several(ways, true) => self.add_ways(ways),
            Ways::Several(_, false) => self.add_tree(host.host),
        }
    }

    /// Adds a host whose ways are not all known.
    pub fn add_tree(&mut self, host: Slot) {
        self.add_without_pools(self.of_tree(host));
    }

    fn add_without_pools(&mut self, limit: BoundWithClass) {
        self.without_pools = self.without_pools.saturating_add(limit.0);
        self.add_host(limit);
    }

    fn add_host(&mut self, (most, class): BoundWithClass) {
        self.all = self.all.saturating_add(most);
        if let Some(class) = class {
            *self.limits.entry(class).or_default() += 1;
        }
    }

    fn add_ways(&mut self, ways: &[Vec<Placement>]) {
        let has_pool = |way: &&Vec<Placement>| way.iter().any(|it| self.snapshot.is_sharing(it.slot));
        let (of_pools, own): (Vec<&Vec<Placement>>, Vec<&Vec<Placement>>) = ways.iter().partition(has_pool);
        let pool_parts: Vec<Vec<Placement>> = of_pools.iter().map(|way| self.part(way, true)).collect();
        self.pool_parts.extend(pool_parts);
        let (without, _) = self.of_ways(own.iter().copied());
        let (with, _) = self.of_ways(of_pools.iter().copied());
        self.without_pools = self.without_pools.saturating_add(without);
        self.with_pools = self.with_pools.saturating_add(with);
        self.add_host(self.of_ways(ways.iter()));
    }

    /// The bound, and the class that bounds most hosts, or the sharing providers.
    pub fn finish(self) -> BoundWithClass {
        let pool_parts: Vec<&[Placement]> = self.pool_parts.iter().map(Vec::as_slice).collect();
        let (of_pools, pool_class) = self.of_component(&pool_parts);
        let with_pools = self.without_pools.saturating_add(self.with_pools.min(of_pools));
        if with_pools < self.all {
            return (with_pools, pool_class);
        }
        let class = self.limits.iter().max_by_key(|(_, hosts)| **hosts);
        (self.all, class.map(|(class, _)| *class))
    }

    /// The part of a way on sharing providers, or on the host's own providers.
    fn part(&self, way: &[Placement], is_of_pools: bool) -> Vec<Placement> {
        let part = way.iter().filter(|it| self.snapshot.is_sharing(it.slot) == is_of_pools);
        part.copied().collect()
    }

    /// The bound of ways, by the host's own providers. 0 without ways.
    fn of_ways<'w>(&self, ways: impl Iterator<Item = &'w Vec<Placement>>) -> BoundWithClass {
        let own: BTreeSet<Vec<Placement>> = ways.map(|way| self.part(way, false)).collect();
        let components = components(own.iter().map(Vec::as_slice).collect());
        let bounds: Vec<BoundWithClass> = components.iter().map(|ways| self.of_component(ways)).collect();
        let sum = bounds.iter().fold(0_u64, |sum, (most, _)| sum.saturating_add(*most));
        let greatest = bounds.iter().max_by_key(|(most, _)| *most);
        (sum, greatest.and_then(|(_, class)| *class))
    }

    /// The bound of ways with common providers: of the class with the least sum.
    fn of_component(&self, ways: &[&[Placement]]) -> BoundWithClass {
        if let [way] = ways {
            let rooms = way
                .iter()
                .map(|it| (free(self.snapshot, it.slot, it.class) / it.amount, it.class));
            return least(rooms);
        }
        let classes: BTreeSet<ClassId> = ways.iter().flat_map(|way| way.iter().map(|it| it.class)).collect();
        least(
            classes
                .into_iter()
                .filter_map(|class| Some((self.of_class(ways, class)?, class))),
        )
    }

    /// `None` if a way takes nothing of the class.
    fn of_class(&self, ways: &[&[Placement]], class: ClassId) -> Option<i64> {
        let amounts = |way: &[Placement]| -> Vec<i64> {
            let mut amounts: Vec<i64> = way.iter().filter(|it| it.class == class).map(|it| it.amount).collect();
            amounts.sort_unstable();
            amounts
        };
        let first = amounts(ways.first()?);
        let providers: BTreeSet<Slot> = ways
            .iter()
            .flat_map(|way| way.iter().filter(|it| it.class == class).map(|it| it.slot))
            .collect();
        let rooms = providers.iter().map(|slot| free(self.snapshot, *slot, class));
        let are_equal = first.windows(2).all(|two| two[0] == two[1]) && ways.iter().all(|way| amounts(way) == first);
        if let (true, Some(amount)) = (are_equal, first.first()) {
            let pieces = rooms.fold(0_i64, |sum, room| sum.saturating_add(room / amount));
            return Some(pieces / first.len() as i64);
        }
        let least = ways.iter().map(|way| amounts(way).iter().sum::<i64>()).min()?;
        let sum = rooms.fold(0_i64, i64::saturating_add);
        (least > 0).then(|| sum / least)
    }

    /// The bound of all providers of a tree and all sharing providers.
    fn of_tree(&self, host: Slot) -> BoundWithClass {
        let mut providers: BTreeSet<Slot> = self.snapshot.tree(host).into_iter().collect();
        providers.extend(self.snapshot.sharing());
        least(self.amounts.iter().map(|(class, amount)| {
            let rooms = providers.iter().map(|slot| free(self.snapshot, *slot, *class));
            (rooms.fold(0_i64, i64::saturating_add) / amount, *class)
        }))
    }
}

/// The least number, with its class; no bound without numbers.
fn least(rooms: impl Iterator<Item = (i64, ClassId)>) -> BoundWithClass {
    let least = rooms.min_by_key(|(room, _)| *room);
    least.map_or((u64::MAX, None), |(room, class)| (room.unsigned_abs(), Some(class)))
}

/// The ways in sets without a common provider.
fn components(ways: Vec<&[Placement]>) -> Vec<Vec<&[Placement]>> {
    let mut components: Vec<(BTreeSet<Slot>, Vec<&[Placement]>)> = Vec::new();
    for way in ways {
        let slots: BTreeSet<Slot> = way.iter().map(|placement| placement.slot).collect();
        let (mut joined, mut of_joined) = (slots, vec![way]);
        components.retain_mut(|(slots, ways)| {
            let is_apart = slots.is_disjoint(&joined);
            if !is_apart {
                joined.append(slots);
                of_joined.append(ways);
            }
            is_apart
        });
        components.push((joined, of_joined));
    }
    components.into_iter().map(|(_, ways)| ways).collect()
}
