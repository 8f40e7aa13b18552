//! Sums over the whole cloud: the total and the usage of each class, over all providers and by aggregate.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::snapshot::{AggregateId, ClassId, Inventory, ProviderState, Snapshot};

/// Sums over the inventories of one class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClassTotals {
    /// Providers with an inventory of the class.
    pub providers: u64,
    pub total: i64,
    pub reserved: i64,
    /// The usable capacity: `(total - reserved) * allocation_ratio`, rounded down for each provider.
    pub capacity: i64,
    pub used: i64,
    /// The rest of the capacity, for each provider at least 0.
    pub free: i64,
    /// The greatest rest of a single provider.
    pub largest_free: i64,
}

impl ClassTotals {
    /// Adds an inventory with its usage.
    pub fn add(&mut self, inventory: Inventory, used: i64) {
        let capacity = inventory.limit().max(0);
        let sum = |to: &mut i64, amount: i64| *to = to.saturating_add(amount);
        self.providers += 1;
        sum(&mut self.total, i64::from(inventory.total));
        sum(&mut self.reserved, i64::from(inventory.reserved));
        sum(&mut self.capacity, capacity);
        sum(&mut self.used, used);
        let free = (capacity - used).max(0);
        sum(&mut self.free, free);
        self.largest_free = self.largest_free.max(free);
    }
}

/// The sums of one aggregate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AggregateTotals {
    pub uuid: Arc<str>,
    pub providers: u64,
    pub classes: Vec<(Arc<str>, ClassTotals)>,
}

/// The sums of a cloud, by name of class.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CloudTotals {
    pub classes: Vec<(Arc<str>, ClassTotals)>,
    /// The aggregates with the most providers, up to the requested number.
    pub aggregates: Vec<AggregateTotals>,
    /// The number of omitted aggregates with providers.
    pub omitted_aggregates: usize,
    /// Hosts, which are root providers that share nothing, in the order of [`ProviderState::ALL`].
    pub hosts: [u64; ProviderState::ALL.len()],
    /// Sharing providers, in the same order.
    pub pools: [u64; ProviderState::ALL.len()],
}

type ClassSums = BTreeMap<ClassId, ClassTotals>;

/// The sums of all providers in this version, and of at most `max_aggregates` aggregates.
pub fn totals(snapshot: &Snapshot, max_aggregates: usize) -> CloudTotals {
    let (kept, omitted_aggregates) = largest_aggregates(snapshot, max_aggregates);
    let shown: HashSet<AggregateId> = kept.iter().map(|(id, _)| *id).collect();
    let (mut all, mut by_aggregate) = (ClassSums::new(), HashMap::<AggregateId, ClassSums>::new());
    let (mut hosts, mut pools) = ([0; ProviderState::ALL.len()], [0; ProviderState::ALL.len()]);
    for slot in snapshot.iter() {
        if snapshot.is_host(slot) {
            hosts[snapshot.state(slot) as usize] += 1;
        }
        if snapshot.is_sharing(slot) {
            pools[snapshot.state(slot) as usize] += 1;
        }
        for (class, inventory, used) in snapshot.inventories(slot) {
            all.entry(class).or_default().add(inventory, used);
        }
        for aggregate in snapshot.aggregates(slot).filter(|id| shown.contains(id)) {
            let sums = by_aggregate.entry(aggregate).or_default();
            for (class, inventory, used) in snapshot.inventories(slot) {
                sums.entry(class).or_default().add(inventory, used);
            }
        }
    }
    let aggregates = kept.into_iter().filter_map(|(id, providers)| {
        Some(AggregateTotals {
            uuid: Arc::clone(snapshot.catalog().aggregate_uuid(id)?),
            providers,
            classes: named(snapshot, by_aggregate.remove(&id).unwrap_or_default()),
        })
    });
    CloudTotals {
        aggregates: aggregates.collect(),
        classes: named(snapshot, all),
        omitted_aggregates,
        hosts,
        pools,
    }
}

/// The aggregates with the most providers, and the number of all other aggregates with providers.
fn largest_aggregates(snapshot: &Snapshot, max: usize) -> (Vec<(AggregateId, u64)>, usize) {
    let mut providers = BTreeMap::<AggregateId, u64>::new();
    for slot in snapshot.iter() {
        for aggregate in snapshot.aggregates(slot) {
            *providers.entry(aggregate).or_default() += 1;
        }
    }
    let mut largest: Vec<(AggregateId, u64)> = providers.into_iter().collect();
    // A stable sort: of aggregates of one size the oldest stay.
    largest.sort_by_key(|(_, providers)| std::cmp::Reverse(*providers));
    let omitted = largest.len().saturating_sub(max);
    largest.truncate(max);
    (largest, omitted)
}

fn named(snapshot: &Snapshot, sums: ClassSums) -> Vec<(Arc<str>, ClassTotals)> {
    let name = |(id, totals)| Some((Arc::clone(snapshot.catalog().class_name(id)?), totals));
    sums.into_iter().filter_map(name).collect()
}
