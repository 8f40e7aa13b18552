//! The largest amounts of a class on one provider of some hosts, and whether they are enough for a request.

use std::collections::{BTreeMap, BTreeSet};

use super::host_set::HostSet;
use crate::search::snapshot::{AggregateId, BlockSlots, ClassId, ProviderState, Slot, Snapshot};

/// The largest amounts of a class on one provider, each of its own provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassRoom {
    /// [`crate::search::Inventory::limit`].
    pub capacity: ProviderAmount,
    /// The normal limit, or the capacity if the snapshot has no normal limits.
    pub limit: ProviderAmount,
    /// Below zero if all providers are overcommitted.
    pub free: ProviderAmount,
    /// Within the normal limit, if the snapshot has normal limits.
    pub normal_free: ProviderAmount,
    pub max_unit: ProviderAmount,
}

/// An amount with the provider that has the amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProviderAmount {
    pub amount: i64,
    pub provider: Slot,
}

impl ProviderAmount {
    /// The first of two equal amounts.
    fn max(self, other: ProviderAmount) -> ProviderAmount {
        if other.amount > self.amount { other } else { self }
    }
}

/// The amounts of a class on all providers that can serve one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostSum {
    pub amount: i64,
    pub host: Slot,
    /// The number of providers, of the host's tree or sharing.
    pub providers: usize,
}

/// Whether a single provider has enough of a class for an amount, and allows the amount, within the limits of the
/// snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Enough {
    /// No provider, even without usage.
    Never,
    /// A provider, if less were used, or if the provider were up.
    NotNow,
    Now,
}

/// The providers with an inventory of a class.
pub struct ClassProviders<'s> {
    snapshot: &'s Snapshot,
    class: ClassId,
    /// Whether only providers that are up have room.
    only_up: bool,
    /// The hosts that have the class in their own tree.
    own: HostSet,
    providers: Vec<Slot>,
    /// The sharing providers among these, by aggregate. A pool of several aggregates is there for each aggregate.
    pools: Vec<(AggregateId, Slot)>,
}

impl<'s> ClassProviders<'s> {
    pub fn of(snapshot: &'s Snapshot, class: ClassId, only_up: bool) -> ClassProviders<'s> {
        let has_class = |slot: &Slot| snapshot.inventory(*slot, class).is_some();
        let providers: Vec<Slot> = snapshot.iter().filter(has_class).collect();
        let sharing = snapshot.sharing().filter(has_class);
        let by_aggregate = |pool: Slot| snapshot.aggregates(pool).map(move |aggregate| (aggregate, pool));
        let mut pools: Vec<(AggregateId, Slot)> = sharing.flat_map(by_aggregate).collect();
        pools.sort_unstable();
        ClassProviders {
            own: HostSet::of(snapshot, providers.iter().map(|slot| snapshot.cached_root(*slot))),
            snapshot,
            class,
            only_up,
            providers,
            pools,
        }
    }

    /// Whether sharing providers have the class.
    pub fn are_shared(&self) -> bool {
        !self.pools.is_empty()
    }

    /// Whether the state of a provider allows new consumers, if states count.
    fn may_serve(&self, provider: Slot) -> bool {
        !self.only_up || self.snapshot.state(provider) == ProviderState::Up
    }

    /// Whether a provider of the host's own tree has the class. If not, only sharing providers can.
    pub fn are_own(&self, host: Slot) -> bool {
        self.own.contains(host)
    }

    /// The largest amounts of the providers of these hosts and of the sharing providers in reach. `None` without an
    /// inventory of the class.
    pub fn room(&self, hosts: &HostSet) -> Option<ClassRoom> {
        let rooms = self.of_hosts(hosts).into_iter().filter_map(|slot| self.room_of(slot));
        rooms.reduce(|one, other| ClassRoom {
            capacity: one.capacity.max(other.capacity),
            limit: one.limit.max(other.limit),
            free: one.free.max(other.free),
            normal_free: one.normal_free.max(other.normal_free),
            max_unit: one.max_unit.max(other.max_unit),
        })
    }

    /// The amounts of one provider. `None` if the provider cannot serve.
    pub fn room_of(&self, provider: Slot) -> Option<ClassRoom> {
        let inventory = self.snapshot.inventory(provider, self.class)?;
        if !self.may_serve(provider) {
            return None;
        }
        let (normal, used) = self.snapshot.limit_and_used(provider, self.class);
        let capacity = inventory.limit();
        let of_provider = |amount| ProviderAmount { amount, provider };
        Some(ClassRoom {
            capacity: of_provider(capacity),
            limit: of_provider(normal),
            free: of_provider(capacity.saturating_sub(used)),
            normal_free: of_provider(normal.saturating_sub(used)),
            max_unit: of_provider(inventory.max_unit.into()),
        })
    }

    /// Whether a provider as of [`Self::room`] has enough for an amount.
    pub fn enough(&self, hosts: &HostSet, amount: i64, strict: bool) -> Enough {
        let of_provider = |slot| {
            let inventory = self.snapshot.inventory(slot, self.class)?;
            let is_allowed = inventory.units().allow(amount, strict);
            let (limit, used) = self.snapshot.limit_and_used(slot, self.class);
            let free = limit.saturating_sub(used);
            Some(match is_allowed {
                // Usage may be below zero.
                true if free >= amount && self.may_serve(slot) => Enough::Now,
                true if limit >= amount => Enough::NotNow,
                _ => Enough::Never,
            })
        };
        let all = self.of_hosts(hosts).into_iter().filter_map(of_provider);
        all.max().unwrap_or(Enough::Never)
    }

    /// The host with the greatest sum of an amount over the providers that can serve the host.
    pub fn greatest_sum(&self, hosts: &HostSet, amount: impl Fn(&ClassRoom) -> ProviderAmount) -> Option<HostSum> {
        let mut by_host: BTreeMap<Slot, BTreeSet<Slot>> = BTreeMap::new();
        for provider in &self.providers {
            let host = self.snapshot.cached_root(*provider);
            if hosts.contains(host) {
                by_host.entry(host).or_default().insert(*provider);
            }
        }
        for (aggregate, member) in self.members_of_pools() {
            let host = self.snapshot.cached_root(member);
            if hosts.contains(host) {
                let pools = self.pools_in(aggregate).iter().map(|(_, pool)| *pool);
                by_host.entry(host).or_default().extend(pools);
            }
        }
        let sum = |(host, providers): (Slot, BTreeSet<Slot>)| {
            let rooms = providers.into_iter().filter_map(|provider| self.room_of(provider));
            let amounts: Vec<i64> = rooms.map(|room| amount(&room).amount.max(0)).collect();
            HostSum {
                amount: amounts.iter().copied().fold(0, i64::saturating_add),
                host,
                providers: amounts.len(),
            }
        };
        // Of equal sums the first host.
        by_host
            .into_iter()
            .map(sum)
            .reduce(|one, other| if other.amount > one.amount { other } else { one })
    }

    /// The values of `min_unit`, `max_unit` and `step_size` that refuse an amount, on the providers as of
    /// [`Self::room`].
    pub fn refusing_units(&self, hosts: &HostSet, amount: i64, strict: bool) -> BTreeSet<(&'static str, i32)> {
        let serving = self.of_hosts(hosts).into_iter().filter(|slot| self.may_serve(*slot));
        let inventories = serving.filter_map(|slot| self.snapshot.inventory(slot, self.class));
        inventories
            .flat_map(|inventory| inventory.units().refusing(amount, strict))
            .collect()
    }

    /// The providers of [`Self::of_hosts`] whose state allows no new consumers, if states count.
    pub fn not_up(&self, hosts: &HostSet) -> BTreeSet<Slot> {
        if self.snapshot.are_all_up() {
            return BTreeSet::new();
        }
        let all = self.of_hosts(hosts).into_iter();
        all.filter(|slot| !self.may_serve(*slot)).collect()
    }

    /// The providers of these hosts, and the sharing providers in reach, with sharing providers below a host twice.
    fn of_hosts(&self, hosts: &HostSet) -> Vec<Slot> {
        let is_own = |slot: &Slot| hosts.contains(self.snapshot.cached_root(*slot));
        let own = self.providers.iter().copied().filter(is_own);
        own.chain(self.pools_of(hosts)).collect()
    }

    /// The sharing providers that reach these hosts: an aggregate of the provider is an aggregate of the tree.
    pub fn pools_of(&self, hosts: &HostSet) -> BTreeSet<Slot> {
        let is_member = |(_, member): &(AggregateId, Slot)| hosts.contains(self.snapshot.cached_root(*member));
        let aggregates = self
            .members_of_pools()
            .filter(is_member)
            .map(|(aggregate, _)| aggregate);
        let aggregates: BTreeSet<AggregateId> = aggregates.collect();
        let pools = aggregates.into_iter().flat_map(|aggregate| self.pools_in(aggregate));
        pools.map(|(_, pool)| *pool).collect()
    }

    /// The providers with an aggregate of sharing providers of the class, once for each such aggregate.
    fn members_of_pools(&self) -> impl Iterator<Item = (AggregateId, Slot)> {
        let blocks = if self.are_shared() {
            self.snapshot.blocks.len()
        } else {
            0
        };
        (0..blocks).flat_map(move |block| {
            let aggregates = self.snapshot.blocks.get(block).profile.aggregates.iter();
            let of_pools = aggregates.filter(|(aggregate, _)| !self.pools_in(*aggregate).is_empty());
            of_pools.flat_map(move |(aggregate, lanes)| {
                BlockSlots::new(block, *lanes).map(move |member| (*aggregate, member))
            })
        })
    }

    /// The sharing providers of the class in an aggregate.
    fn pools_in(&self, aggregate: AggregateId) -> &[(AggregateId, Slot)] {
        let first = self.pools.partition_point(|(known, _)| *known < aggregate);
        let after = self.pools.partition_point(|(known, _)| *known <= aggregate);
        &self.pools[first..after]
    }
}
