//! Time of conditions on hosts on top of a search: `cargo bench --bench conditions [HOSTS [ROUNDS]]`.
//!
//! There is a cloud of flat hosts and one of nested hosts, each host with a type, three properties and two domains. The
//! same search runs without a condition, with `where` of three comparisons, and with domains. The bench prints medians,
//! their ratio to the search without, and the memory that the descriptions add to a snapshot: with the hosts alike in
//! rows of 64, and with a serial number of each host as a property more.

mod clouds;
mod median;
mod search_inputs;

use std::sync::Arc;
use std::time::Duration;

use clouds::{flat, nested};
use median::median;
use placet::benchmarked::{
    Catalog, ClassId, Description, Domain, GroupPolicy, HostConditions, PropertyValue, ProviderId, ProviderRow,
    Request, Scoring, Snapshot, best, candidates,
};
use search_inputs::{BuildRow, group, request, row, settings};

const CLASSES: [(&str, i32, i64); 3] = [("VCPU", 64, 4), ("MEMORY_MB", 262_144, 8_192), ("DISK_GB", 4_000, 40)];
/// The snapshots over which the memory is averaged.
const COPIES: i32 = 20;
/// True for one host in four.
const CONDITION: &str = "HasSSD == true && SomeProperty >= 4 && NodeColor != green";

fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let (hosts, rounds) = (numbers.next().unwrap_or(10_000), numbers.next().unwrap_or(41));
    println!("| hosts | search | without | with where | ratio | with domains | ratio |");
    println!("|---|---|---|---|---|---|---|");
    for (name, rows) in [("flat", flat(hosts, provider)), ("nested", nested(hosts, provider))] {
        let snapshot = described(Snapshot::build(catalog(), rows.clone()), description);
        for (search, limit) in [("the first", Some(1)), ("1000", Some(1000)), ("best 10", None)] {
            measure(&format!("{hosts} {name}"), search, &snapshot, limit, rounds);
        }
        let plain = bytes_a_host(hosts, || Snapshot::build(catalog(), rows.clone()));
        let more = [description, with_serial_number].map(|description| {
            let all = bytes_a_host(hosts, || {
                described(Snapshot::build(catalog(), rows.clone()), description)
            });
            all - plain
        });
        println!(
            "{name}: {plain:.0} bytes a host without descriptions, {:.0} more with them, {:.0} with serial numbers too",
            more[0], more[1]
        );
    }
}

/// The snapshot with a description of each host.
fn described(snapshot: Snapshot, description: fn(i32) -> Description) -> Snapshot {
    let roots = snapshot.iter().filter(|&slot| snapshot.parent(slot).is_none());
    let roots: Vec<ProviderId> = roots.map(|slot| snapshot.id(slot)).collect();
    snapshot.with_descriptions(roots.into_iter().map(|id| (id, description(id.0))))
}

/// The resident memory that one more snapshot takes. The memory that making one frees is used again by the next one, so
/// the first is not counted, and none is freed: the next measurement would use its memory again.
fn bytes_a_host(hosts: i32, make: impl Fn() -> Snapshot) -> f64 {
    let mut kept = vec![make()];
    let before = resident_bytes();
    kept.extend((0..COPIES).map(|_| make()));
    let added = resident_bytes().saturating_sub(before);
    std::mem::forget(kept);
    added as f64 / f64::from(COPIES) / f64::from(hosts)
}

fn measure(name: &str, search: &str, snapshot: &Snapshot, limit: Option<usize>, rounds: i32) {
    let time = |host: HostConditions| {
        let resources = CLASSES.map(|(class, _, amount)| (class, amount));
        let request = Request {
            host,
            ..request(vec![group("", &resources)], GroupPolicy::None, limit)
        };
        median(rounds, || match limit {
            Some(_) => candidates(snapshot, &request, &settings()).map_or(0, |all| all.select().count()),
            None => best(snapshot, &request, Scoring::Emptiest, 10, &settings()).map_or(0, |found| found.best.len()),
        })
    };
    let without = time(HostConditions::default());
    let condition = time(HostConditions {
        condition: Arc::new(CONDITION.parse().unwrap_or_default()),
        only_up: true,
        ..HostConditions::default()
    });
    let domains = time(HostConditions {
        in_domains: vec![domain("fault", "fd:/dc1"), domain("fault", "fd:/dc2")],
        not_in_domains: vec![domain("upgrade", "UD1")],
        ..HostConditions::default()
    });
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!(
        "| {name} | {search} | {:.1} µs | {:.1} µs | {:.2} | {:.1} µs | {:.2} |",
        micros(without),
        micros(condition),
        micros(condition) / micros(without),
        micros(domains),
        micros(domains) / micros(without)
    );
}

fn domain(dimension: &str, path: &str) -> Domain {
    Domain {
        dimension: dimension.into(),
        path: path.into(),
    }
}

/// Ten racks in each of three sites, 64 hosts alike in a row.
fn description(id: i32) -> Description {
    let number = i64::from(id / 64);
    let properties = [
        ("HasSSD", PropertyValue::Boolean(id % 2 == 0)),
        (
            "NodeColor",
            PropertyValue::Text(["green", "blue", "red"][number as usize % 3].into()),
        ),
        ("SomeProperty", PropertyValue::Integer(i64::from(id % 8))),
    ];
    let domains = [
        ("fault", format!("fd:/dc{}/r{}", 1 + number % 3, number % 10)),
        ("upgrade", format!("UD{}", id % 5)),
    ];
    Description {
        kind: Some(format!("NodeType{:02}", number % 10).into()),
        properties: properties.map(|(name, value)| (name.into(), Some(value))).into(),
        domains: domains.map(|(dimension, path)| (dimension.into(), path.into())).into(),
        ..Description::default()
    }
}

/// As [`description`], with a property whose value no other host has.
fn with_serial_number(id: i32) -> Description {
    let mut description = description(id);
    let serial = PropertyValue::Text(format!("SN{id:010}").into());
    description.properties.insert("SerialNumber".into(), Some(serial));
    description
}

fn provider(id: i32, classes: &[usize]) -> ProviderRow {
    classes
        .iter()
        .fold(row(id), |row, &class| row.with(ClassId(class as i32), CLASSES[class].1))
}

fn catalog() -> Catalog {
    let classes = CLASSES.iter().enumerate();
    let classes = classes.map(|(id, (name, ..))| (ClassId(id as i32), (*name).into()));
    Catalog::new(classes.collect(), Vec::new(), Vec::new())
}

/// Of this process, as Linux counts it; zero elsewhere.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or_default() * 4096
}
