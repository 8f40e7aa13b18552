//! `load search`: the search alone, without HTTP, JSON or database. Measures the time until all candidates are found.
//!
//! Each candidate is dropped before the next one is found, as in a response that is written during the search. A plain
//! search with a limit is followed by ranked ones for as many candidates, with the same seeds.

mod hosts;

use std::hint::black_box;
use std::time::Instant;

use clap::Args;
use placet::benchmarked::{GroupPolicy, Request, Scoring, SearchSettings, Snapshot, Traits, best, candidates};
use serde_json::json;

use crate::search_inputs::{group, request, settings};

const CANDIDATE_LIMIT: usize = 1000;
const SCORINGS: [(&str, Scoring); 3] = [
    ("fullest", Scoring::Fullest),
    ("emptiest", Scoring::Emptiest),
    ("tightest", Scoring::Tightest),
];

#[derive(Args)]
pub struct Arguments {
    #[arg(long, default_value_t = 10_000)]
    hosts: i32,
    #[arg(long, default_value = "flat")]
    shape: hosts::Shape,
    /// The number of times that each request is searched for
    #[arg(long, default_value_t = 201)]
    rounds: usize,
    /// How much of each inventory is used
    #[arg(long, default_value = "half")]
    usage: hosts::Usage,
}

pub fn run(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let rows = hosts::rows(arguments.hosts, arguments.shape, arguments.usage);
    let snapshot = Snapshot::build(hosts::catalog(), rows);
    let mut results = Vec::new();
    for (name, request) in cases(arguments.shape) {
        results.push(measure(name, arguments.rounds, |settings| {
            count(&snapshot, &request, settings)
        }));
        for (rank, scoring) in SCORINGS {
            let Some(limit) = request.limit else { continue };
            let name = format!("{name}, {rank}");
            results.push(measure(&name, arguments.rounds, |settings| {
                Ok(best(&snapshot, &request, scoring, limit, settings)?.best.len())
            }));
        }
    }
    println!(
        "{}",
        json!({"hosts": arguments.hosts, "providers": snapshot.len(), "cases": results})
    );
    Ok(())
}

fn measure(
    name: &str,
    rounds: usize,
    search: impl Fn(&SearchSettings) -> placet::benchmarked::Result<usize>,
) -> serde_json::Value {
    let mut found = 0;
    let cpu_before = cpu_nanoseconds();
    let mut latencies_us: Vec<f64> = (0..rounds)
        .map(|round| {
            // Another seed permutes the providers, as another process does.
            let settings = SearchSettings {
                seed: round as u64,
                ..settings()
            };
            let start = Instant::now();
            found = black_box(search(&settings).unwrap_or_default());
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    let cpu_us = (cpu_nanoseconds() - cpu_before) / 1e3 / rounds as f64;
    latencies_us.sort_unstable_by(f64::total_cmp);
    let percentile = |share: f64| latencies_us[((rounds - 1) as f64 * share) as usize];
    json!({"case": name, "found": found, "p50_us": percentile(0.5), "p99_us": percentile(0.99), "cpu_us": cpu_us})
}

fn count(snapshot: &Snapshot, request: &Request, settings: &SearchSettings) -> placet::benchmarked::Result<usize> {
    let mut found = 0;
    for candidate in candidates(snapshot, request, settings)?.select() {
        black_box(candidate?);
        found += 1;
    }
    Ok(found)
}

fn cases(shape: hosts::Shape) -> Vec<(&'static str, Request)> {
    let cases = [
        ("limit 1", with_limit(Some(1))),
        ("limit 1000", base(512)),
        ("no limit", with_limit(None)),
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
    request(vec![all], GroupPolicy::None, Some(CANDIDATE_LIMIT))
}

fn with_limit(limit: Option<usize>) -> Request {
    Request { limit, ..base(512) }
}

fn traits() -> Request {
    let mut request = base(512);
    request.groups[0].traits.required = ["T3", "T17"].map(|name| [name.to_owned()].into()).into();
    request
}

/// Requires the rare trait of the root, because in a nested cloud the provider of the memory does not have it.
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

/// With shared disk the aggregate is a pool's, because pools are in no zone.
fn member_of(shape: hosts::Shape) -> Request {
    let aggregate = match shape {
        hosts::Shape::Shared => "pool 3",
        hosts::Shape::Flat | hosts::Shape::Nested => "zone 3",
    };
    let mut request = base(512);
    request.groups[0].member_of.any_of = vec![[aggregate.to_owned()].into()];
    request
}

/// With shared disk the request has no disk, because pools are in no host's tree.
fn in_tree(shape: hosts::Shape) -> Request {
    let mut request = base(512);
    if matches!(shape, hosts::Shape::Shared) {
        request.groups[0].resources.pop();
    }
    // Provider 701 is a root in every shape, and in the smallest cloud.
    request.groups[0].in_tree = Some("uuid-701".to_owned());
    request
}

/// Disk of the root, and a network function of the NUMA node that provides the cores.
fn granular() -> Request {
    let groups = vec![
        group("", &[("DISK_GB", 1)]),
        group("_NUMA", &[("VCPU", 1), ("MEMORY_MB", 512)]),
        group("_NET", &[("SRIOV_NET_VF", 1)]),
    ];
    Request {
        same_subtrees: vec![vec!["_NUMA".to_owned(), "_NET".to_owned()]],
        ..request(groups, GroupPolicy::None, Some(CANDIDATE_LIMIT))
    }
}

/// The CPU time of this thread so far; 0 if the system does not have it. Unlike wall time it leaves out other programs
/// on the same cores.
fn cpu_nanoseconds() -> f64 {
    let schedstat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds = schedstat.split(' ').next().and_then(|number| number.parse().ok());
    nanoseconds.unwrap_or_default()
}
