//! The search alone, without HTTP, JSON or database: how long until all candidates are found. Each is forgotten when the
//! next one is asked for, as an answer does it that is written while it is searched for.

use std::hint::black_box;
use std::time::Instant;

use clap::Args;
use placet::search::{GroupPolicy, Request, Settings, Snapshot, Traits, candidates};
use serde_json::json;

use crate::hosts;
use crate::world::{group, request, settings};

const LIMIT: usize = 1000;

#[derive(Args)]
pub struct Arguments {
    #[arg(long, default_value_t = 10_000)]
    hosts: i32,
    #[arg(long, default_value = "flat")]
    shape: hosts::Shape,
    #[arg(long, default_value_t = 201)]
    rounds: usize,
}

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let snapshot = Snapshot::build(hosts::catalog(), hosts::rows(arguments.hosts, arguments.shape));
    let mut results = Vec::new();
    for (name, request) in cases(arguments.shape) {
        results.push(measure(&snapshot, name, &request, arguments.rounds));
    }
    println!(
        "{}",
        json!({"hosts": arguments.hosts, "providers": snapshot.len(), "cases": results})
    );
    Ok(())
}

fn measure(snapshot: &Snapshot, name: &str, request: &Request, rounds: usize) -> serde_json::Value {
    let mut found = 0;
    let before = spent();
    let mut micros: Vec<f64> = (0..rounds)
        .map(|round| {
            // Another order each time, as in another process.
            let settings = Settings {
                seed: round as u64,
                ..settings()
            };
            let start = Instant::now();
            found = count(snapshot, request, &settings).unwrap_or_default();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    let cpu = (spent() - before) / 1e3 / rounds as f64;
    micros.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| micros[((rounds - 1) as f64 * share) as usize];
    json!({"case": name, "found": found, "p50_us": at(0.5), "p99_us": at(0.99), "cpu_us": cpu})
}

fn count(snapshot: &Snapshot, request: &Request, settings: &Settings) -> placet::error::Result<usize> {
    let mut found = 0;
    for candidate in candidates(snapshot, request, settings, ())?.select() {
        black_box(candidate?);
        found += 1;
    }
    Ok(found)
}

fn cases(shape: hosts::Shape) -> Vec<(&'static str, Request)> {
    let cases = [
        ("limit 1000", base(512)),
        ("traits", traits()),
        ("one in 1000 fits", rare()),
        ("member_of", member_of(shape)),
        ("in_tree", in_tree(shape)),
        ("nothing fits", base(200_000)),
    ];
    let granular = matches!(shape, hosts::Shape::Nested).then(|| ("granular", granular()));
    cases.into_iter().chain(granular).collect()
}

fn base(memory: i64) -> Request {
    let all = group("", &[("VCPU", 1), ("MEMORY_MB", memory), ("DISK_GB", 1)]);
    request(vec![all], GroupPolicy::None, Some(LIMIT))
}

fn traits() -> Request {
    let mut asked = base(512);
    asked.groups[0].traits.required = ["T3", "T17"].map(|it| [it.to_owned()].into()).into();
    asked
}

/// In a tree the root has the trait, and not the provider of the memory.
fn rare() -> Request {
    let root_required = Traits {
        required: vec![["RARE".to_owned()].into()],
        ..Traits::default()
    };
    Request {
        root_required,
        ..base(512)
    }
}

/// A pool is in no zone.
fn member_of(shape: hosts::Shape) -> Request {
    let aggregate = match shape {
        hosts::Shape::Shared => "pool 3",
        hosts::Shape::Flat | hosts::Shape::Nested => "zone 3",
    };
    let mut asked = base(512);
    asked.groups[0].member_of.any_of = vec![[aggregate.to_owned()].into()];
    asked
}

/// A pool is in nobody's tree.
fn in_tree(shape: hosts::Shape) -> Request {
    let mut asked = base(512);
    if matches!(shape, hosts::Shape::Shared) {
        asked.groups[0].resources.pop();
    }
    // A root in every shape, and in the smallest cloud.
    asked.groups[0].in_tree = Some("uuid-701".to_owned());
    asked
}

/// Disk of the root, and a network function of the NUMA node whose cores are taken.
fn granular() -> Request {
    let groups = vec![
        group("", &[("DISK_GB", 1)]),
        group("_NUMA", &[("VCPU", 1), ("MEMORY_MB", 512)]),
        group("_NET", &[("SRIOV_NET_VF", 1)]),
    ];
    Request {
        same_subtrees: vec![vec!["_NUMA".to_owned(), "_NET".to_owned()]],
        ..request(groups, GroupPolicy::None, Some(LIMIT))
    }
}

/// Nanoseconds of CPU time of this thread, where the system tells: others that share the cores do not count.
fn spent() -> f64 {
    let told = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = told.split(' ').next().and_then(|nanos| nanos.parse().ok());
    nanos.unwrap_or_default()
}
