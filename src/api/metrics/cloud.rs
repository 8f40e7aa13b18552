//! The metrics of the cloud: the inventory, the usage and the free capacity of each class.

use super::text::{Kind, Page};
use crate::model::statistics::ModelNumbers;
use crate::search::{self, AggregateTotals, ClassTotals, CloudTotals, ProviderState};

/// A family for each sum: the names for the cloud and for an aggregate, the help, and the sum.
type Family = (&'static str, &'static str, &'static str, fn(&ClassTotals) -> i64);

const FAMILIES: [Family; 6] = [
    (
        "placet_inventory_units",
        "placet_aggregate_inventory_units",
        "Sum of the totals of inventories",
        |sums| sums.total,
    ),
    (
        "placet_inventory_reserved",
        "placet_aggregate_inventory_reserved",
        "Sum of what inventories reserve",
        |sums| sums.reserved,
    ),
    (
        "placet_inventory_capacity",
        "placet_aggregate_inventory_capacity",
        "What claims may use: (total - reserved) * allocation_ratio, rounded down for each provider",
        |sums| sums.capacity,
    ),
    (
        "placet_inventory_used",
        "placet_aggregate_inventory_used",
        "Sum of the usages",
        |sums| sums.used,
    ),
    (
        "placet_inventory_free",
        "placet_aggregate_inventory_free",
        "What is left of the capacity, for each provider at least 0",
        |sums| sums.free,
    ),
    (
        "placet_inventory_providers",
        "placet_aggregate_inventory_providers",
        "Providers with an inventory of the class",
        |sums| i64::try_from(sums.providers).unwrap_or(i64::MAX),
    ),
];

pub fn write(page: &mut Page, numbers: &ModelNumbers, max_aggregates: usize) {
    let CloudTotals {
        classes,
        aggregates,
        omitted_aggregates,
        hosts,
    } = search::totals(&numbers.snapshot, max_aggregates);
    let providers = numbers.snapshot.len();
    page.one("placet_providers", Kind::Gauge, "Resource providers", providers);
    page.family("placet_hosts", Kind::Gauge, "Root resource providers by state");
    for ((state, _), count) in ProviderState::ALL.into_iter().zip(hosts) {
        page.sample(&[("state", state)], count);
    }
    if let Some(consumers) = numbers.consumers {
        page.one("placet_consumers", Kind::Gauge, "Consumers with allocations", consumers);
    }
    for (name, _, help, sum) in FAMILIES {
        page.family(name, Kind::Gauge, help);
        for (class, sums) in &classes {
            page.sample(&[("resource_class", &**class)], sum(sums));
        }
    }
    write_aggregates(page, &aggregates);
    page.one(
        "placet_aggregates_omitted",
        Kind::Gauge,
        "Aggregates with providers beyond [placet] metrics_aggregates",
        omitted_aggregates,
    );
}

fn write_aggregates(page: &mut Page, aggregates: &[AggregateTotals]) {
    if aggregates.is_empty() {
        return;
    }
    page.family(
        "placet_aggregate_providers",
        Kind::Gauge,
        "Resource providers of an aggregate",
    );
    for aggregate in aggregates {
        page.sample(&[("aggregate", &*aggregate.uuid)], aggregate.providers);
    }
    for (_, name, help, sum) in FAMILIES {
        page.family(name, Kind::Gauge, help);
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
