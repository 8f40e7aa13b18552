//! Sums over the whole cloud.

use std::sync::Arc;

use super::{DISK, VCPU, bare, build_colliding, stock};
use crate::search::snapshot::{Inventory, ProviderRow};
use crate::search::totals::{AggregateTotals, ClassTotals, totals};

fn overcommitted(total: i32, reserved: i32) -> Inventory {
    Inventory {
        reserved,
        allocation_ratio: 1.5,
        ..stock(total)
    }
}

fn cloud() -> Vec<ProviderRow> {
    let mut first = bare(1).with(DISK, 7).using(VCPU, 4).in_aggregates([1, 2]);
    first.inventories.insert(VCPU, overcommitted(8, 1));
    // The usage is larger than the total.
    let second = bare(2).with(VCPU, 2).using(VCPU, 3).in_aggregates([2]);
    vec![first, second, bare(3).in_aggregates([3])]
}

#[test]
fn sums_are_over_all_providers_of_a_class() {
    let found = totals(&build_colliding(cloud()), 0);
    let vcpu = ClassTotals {
        providers: 2,
        total: 10,
        reserved: 1,
        capacity: 10 + 2,
        used: 7,
        free: 6,
        largest_free: 6,
    };
    let disk = ClassTotals {
        providers: 1,
        total: 7,
        capacity: 7,
        free: 7,
        largest_free: 7,
        ..ClassTotals::default()
    };
    let expected = [(Arc::from("VCPU"), vcpu), (Arc::from("DISK_GB"), disk)];
    assert_eq!(found.classes, expected);
    assert_eq!((found.aggregates.len(), found.omitted_aggregates), (0, 3));
}

#[test]
fn the_aggregates_with_the_most_providers_are_shown() {
    let found = totals(&build_colliding(cloud()), 2);
    let shown: Vec<_> = found.aggregates.iter().map(|it| (&*it.uuid, it.providers)).collect();
    assert_eq!(shown, [("a2", 2), ("a1", 1)]);
    assert_eq!(found.omitted_aggregates, 1);
    let AggregateTotals { classes, .. } = &found.aggregates[1];
    assert_eq!((&*classes[0].0, classes[0].1.free), ("VCPU", 6));
    assert_eq!(found.aggregates[0].classes, found.classes);
}
