//! The largest amounts of a class on one provider of some hosts, and whether they are enough for a request.

use std::collections::BTreeSet;

use super::host_set::HostSet;
use crate::search::snapshot::{AggregateId, BlockSlots, ClassId, Slot, Snapshot};

/// The largest amounts of a class on one provider, each of its own provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassRoom {
    /// [`crate::search::Inventory::limit`].
    pub capacity: ProviderAmount,
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

/// The providers with an inventory of a class.
pub struct ClassProviders<'s> {
    snapshot: &'s Snapshot,
    class: ClassId,
    /// The hosts that have the class in their own tree.
    own: HostSet,
    providers: Vec<Slot>,
    /// The sharing providers among these, by aggregate. A pool of several aggregates is there for each aggregate.
    pools: Vec<(AggregateId, Slot)>,
}

impl<'s> ClassProviders<'s> {
    pub fn of(snapshot: &'s Snapshot, class: ClassId) -> ClassProviders<'s> {
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
            providers,
            pools,
        }
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
            free: one.free.max(other.free),
            normal_free: one.normal_free.max(other.normal_free),
            max_unit: one.max_unit.max(other.max_unit),
        })
    }

    fn room_of(&self, provider: Slot) -> Option<ClassRoom> {
        let inventory = self.snapshot.inventory(provider, self.class)?;
        let (normal, used) = self.snapshot.limit_and_used(provider, self.class);
        let capacity = inventory.limit();
        let of_provider = |amount| ProviderAmount { amount, provider };
        Some(ClassRoom {
            capacity: of_provider(capacity),
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
                true if free >= amount => Enough::Now,
                true if limit >= amount => Enough::NotNow,
                _ => Enough::Never,
            })
        };
        let all = self.of_hosts(hosts).into_iter().filter_map(of_provider);
        all.max().unwrap_or(Enough::Never)
    }

    /// The providers of these hosts, and the sharing providers in reach, with sharing providers below a host twice.
    fn of_hosts(&self, hosts: &HostSet) -> Vec<Slot> {
        let is_own = |slot: &Slot| hosts.contains(self.snapshot.cached_root(*slot));
        let own = self.providers.iter().copied().filter(is_own);
        own.chain(self.pools_of(hosts)).collect()
    }

    /// The sharing providers that reach these hosts: an aggregate of the provider is an aggregate of the tree.
    fn pools_of(&self, hosts: &HostSet) -> Vec<Slot> {
        let mut found: BTreeSet<AggregateId> = BTreeSet::new();
        let pools_of = |aggregate: AggregateId| {
            let first = self.pools.partition_point(|(known, _)| *known < aggregate);
            let after = self.pools.partition_point(|(known, _)| *known <= aggregate);
            &self.pools[first..after]
        };
        let blocks = if self.pools.is_empty() {
            0
        } else {
            self.snapshot.blocks.len()
        };
        for block in 0..blocks {
            for &(aggregate, lanes) in self.snapshot.blocks.get(block).profile.aggregates.iter() {
                let is_new = !found.contains(&aggregate) && !pools_of(aggregate).is_empty();
                let mut members = BlockSlots::new(block, lanes);
                if is_new && members.any(|slot| hosts.contains(self.snapshot.cached_root(slot))) {
                    found.insert(aggregate);
                }
            }
        }
        let pools: BTreeSet<Slot> = found.into_iter().flat_map(pools_of).map(|(_, pool)| *pool).collect();
        pools.into_iter().collect()
    }
}
