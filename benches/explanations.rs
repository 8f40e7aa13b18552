//! Time of explanations of queries without a candidate: `cargo bench --bench explanations [HOSTS [ROUNDS]]`.
//!
//! There is a cloud of flat hosts and one of nested hosts, each host half full. For five causes the bench prints the
//! median time of the empty search, of the explanation, of the ten nearest hosts, and of the single changes.

mod clouds;
mod median;
mod search_inputs;

use std::collections::BTreeSet;
use std::time::Duration;

use clouds::{flat, nested};
use median::median;
use placet::benchmarked::{
    AggregateId, Catalog, ClassId, GroupPolicy, Interrupt, Inventory, ProviderRow, Request, Snapshot, TraitId,
    candidates, explain, nearest, single_changes,
};
use search_inputs::{BuildRow, group, request, row, settings};

const CLASSES: [(&str, i32); 4] = [("VCPU", 64), ("MEMORY_MB", 262_144), ("DISK_GB", 4_000), ("PCPU", 64)];

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let (hosts, rounds) = (numbers.next().unwrap_or(10_000), numbers.next().unwrap_or(21));
    println!("| hosts | cause | empty search | explanation | nearest hosts | changes |");
    println!("|---|---|---|---|---|---|");
    for (name, rows) in [("flat", flat(hosts, provider)), ("nested", nested(hosts, provider))] {
        let snapshot = Snapshot::build(catalog(), rows);
        for (cause, request) in causes() {
            measure(&format!("{hosts} {name}"), cause, &snapshot, &request, rounds);
        }
    }
}

/// Requests without a candidate.
fn causes() -> [(&'static str, Request); 5] {
    let of = |resources: &[(&str, i64)]| request(vec![group("", resources)], GroupPolicy::None, Some(1_000));
    let usual: [(&str, i64); 3] = [("VCPU", 4), ("MEMORY_MB", 8_192), ("DISK_GB", 40)];
    let (mut missing, mut outside) = (of(&usual), of(&usual));
    missing.groups[0].traits.required = vec![BTreeSet::from(["CUSTOM_RARE".to_owned()])];
    outside.groups[0].member_of.any_of = vec![BTreeSet::from(["empty".to_owned()])];
    [
        ("max_unit", of(&[("VCPU", 4), ("MEMORY_MB", 200_000)])),
        ("room", of(&[("VCPU", 40), ("MEMORY_MB", 8_192), ("DISK_GB", 40)])),
        ("no inventory", of(&[("PCPU", 4), ("MEMORY_MB", 8_192)])),
        ("trait", missing),
        ("aggregate", outside),
    ]
}

fn measure(name: &str, cause: &str, snapshot: &Snapshot, request: &Request, rounds: i32) {
    let settings = settings();
    let found = candidates(snapshot, request, &settings).map_or(1, Iterator::count);
    assert_eq!(found, 0, "{cause}");
    let search = median(rounds, || {
        candidates(snapshot, request, &settings).map_or(0, Iterator::count)
    });
    let explanation = median(rounds, || {
        explain(snapshot, request, None, &settings).map_or(0, |it| it.thinnings().count())
    });
    let explained = explain(snapshot, request, None, &settings).expect("the search is not interrupted");
    let budget = Interrupt::default();
    let nearest = median(rounds, || {
        nearest(snapshot, &explained, 10, &settings, &budget).map_or(0, |(hosts, _)| hosts.len())
    });
    let steps = budget.spent();
    let changes = median(rounds, || {
        single_changes(snapshot, &explained, &settings, &budget).map_or(0, |(changes, _)| changes.len())
    });
    let of_changes = budget.spent() - steps;
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!(
        "| {name} | {cause} | {:.0} µs | {:.0} µs | {:.0} µs ({steps} steps) | {:.0} µs ({of_changes} steps) |",
        micros(search),
        micros(explanation),
        micros(nearest),
        micros(changes)
    );
}

/// Half of each amount is used, in different ways.
fn provider(id: i32, classes: &[usize]) -> ProviderRow {
    let mut provider = classes.iter().fold(row(id), |row, &class| {
        let (_, total) = CLASSES[class];
        row.with(ClassId(class as i32), total)
    });
    for (class, inventory) in &mut provider.inventories {
        provider.used.insert(*class, i64::from(inventory.total / 2 - id % 8));
        *inventory = Inventory {
            max_unit: inventory.total / 2 + 16,
            ..*inventory
        };
    }
    provider.traits.extend((id % 2 == 0).then_some(TraitId(1)));
    provider.aggregates.insert(AggregateId(1 + id % 3));
    provider
}

fn catalog() -> Catalog {
    let classes = CLASSES.iter().enumerate();
    let classes = classes.map(|(id, (name, _))| (ClassId(id as i32), (*name).into()));
    let traits = [(TraitId(1), "CUSTOM_COMMON".into()), (TraitId(2), "CUSTOM_RARE".into())];
    let aggregates = ["a1", "a2", "a3", "empty"].into_iter().map(Into::into);
    Catalog::new(
        classes.collect(),
        traits.into(),
        (1..).map(AggregateId).zip(aggregates).collect(),
    )
}
