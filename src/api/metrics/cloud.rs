//! The metrics of the cloud: the inventory, the usage and the free capacity of each class.

use super::text::MetricsPage;
use crate::model::statistics::ModelNumbers;
use crate::search::{self, AggregateTotals, ClassTotals, CloudTotals, ProviderState};

/// A family for each sum: the names for the cloud and for an aggregate, and the sum.
type SumFamily = (&'static str, &'static str, fn(&ClassTotals) -> i64);

const FAMILIES: [SumFamily; 7] = [
    ("placet_inventory_units", "placet_aggregate_inventory_units", |sums| {
        sums.total
    }),
    (
        "placet_inventory_reserved",
        "placet_aggregate_inventory_reserved",
        |sums| sums.reserved,
    ),
    (
        "placet_inventory_capacity",
        "placet_aggregate_inventory_capacity",
        |sums| sums.capacity,
    ),
    ("placet_inventory_used", "placet_aggregate_inventory_used", |sums| {
        sums.used
    }),
    ("placet_inventory_free", "placet_aggregate_inventory_free", |sums| {
        sums.free
    }),
    (
        "placet_inventory_largest_free",
        "placet_aggregate_inventory_largest_free",
        |sums| sums.largest_free,
    ),
    (
        "placet_inventory_providers",
        "placet_aggregate_inventory_providers",
        |sums| i64::try_from(sums.providers).unwrap_or(i64::MAX),
    ),
];

pub fn write(page: &mut MetricsPage, numbers: &ModelNumbers, max_aggregates: usize) {
    let CloudTotals {
        classes,
        aggregates,
        omitted_aggregates,
        hosts,
        pools,
    } = search::totals(&numbers.snapshot, max_aggregates);
    let providers = numbers.snapshot.len();
    page.one("placet_providers", providers);
    let states = ProviderState::ALL.into_iter().map(|(state, _)| state);
    page.by("state", "placet_hosts", states.clone().zip(hosts));
    page.by("state", "placet_pools", states.zip(pools));
    if let Some(consumers) = numbers.consumers {
        page.one("placet_consumers", consumers);
    }
    for (name, _, sum) in FAMILIES {
        let samples = classes.iter().map(|(class, sums)| (class, sum(sums)));
        page.by("resource_class", name, samples);
    }
    write_aggregates(page, &aggregates);
    page.one("placet_aggregates_omitted", omitted_aggregates);
}

fn write_aggregates(page: &mut MetricsPage, aggregates: &[AggregateTotals]) {
    if aggregates.is_empty() {
        return;
    }
    let providers = aggregates
        .iter()
        .map(|aggregate| (&aggregate.uuid, aggregate.providers));
    page.by("aggregate", "placet_aggregate_providers", providers);
    for (_, name, sum) in FAMILIES {
        page.family(name);
        for aggregate in aggregates {
            for (class, sums) in &aggregate.classes {
                page.sample(
                    &[("aggregate", &*aggregate.uuid), ("resource_class", &**class)],
                    sum(sums),
                );
            }
        }
    }
}
