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
    let nested = matches!(arguments.shape, hosts::Shape::Nested);
    let mut results = Vec::new();
    for (name, request) in cases(nested) {
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

fn cases(nested: bool) -> Vec<(&'static str, Request)> {
    let base = |memory: i64, required: &str| {
        let all = group("", &[("VCPU", 1), ("MEMORY_MB", memory), ("DISK_GB", 1)]);
        let mut asked = request(vec![all], GroupPolicy::None, Some(LIMIT));
        // In a tree the root has the trait, and not the provider of the memory.
        if !required.is_empty() {
            asked.root_required = Traits {
                required: vec![[required.to_owned()].into()],
                ..Traits::default()
            };
        }
        asked
    };
    let mut cases = vec![
        ("limit 1000", base(512, "")),
        ("one in 1000 fits", base(512, "RARE")),
        ("nothing fits", base(200_000, "")),
    ];
    if nested {
        cases.push(("granular", granular()));
    }
    cases
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
