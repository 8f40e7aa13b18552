//! Search time in trees with many equal children: `cargo bench --bench wide_trees`.
//!
//! A root has 4, 8, 16 or 32 children of one unit each. The request has as many groups of one unit (the first thousand
//! candidates are found), or one group more (there are no candidates). Prints the median of 51 rounds.
//!
//! `src/search/tests/wide.rs` asserts the number of search steps. `benches/wide_trees.py` measures the same requests
//! over HTTP, and compares them with OpenStack Placement.

mod search_inputs;

use std::sync::Arc;
use std::time::Instant;

use placet::benchmarked::{Catalog, ClassId, GroupPolicy, Request, Snapshot, candidates};
use search_inputs::{BuildRow, group, request, row, settings};

const ROUNDS: usize = 51;
const CANDIDATE_LIMIT: usize = 1000;

fn main() {
    println!("| children | groups | group_policy | candidates | median |\n|---|---|---|---|---|");
    for children in [4, 8, 16, 32] {
        let snapshot = tree(children);
        for groups in [children, children + 1] {
            for policy in [GroupPolicy::Isolate, GroupPolicy::None] {
                let (found, median_us) = measure(&snapshot, &request_of_units(groups, policy));
                println!("| {children} | {groups} | {policy:?} | {found} | {median_us:.1} µs |");
            }
        }
    }
}

fn measure(snapshot: &Snapshot, request: &Request) -> (usize, f64) {
    let settings = settings();
    let mut found = 0;
    let mut times_us: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            found = candidates(snapshot, request, &settings)
                .and_then(|all| all.select().collect::<Result<Vec<_>, _>>())
                .map_or(0, |found| found.len());
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times_us.sort_unstable_by(f64::total_cmp);
    (found, times_us[ROUNDS / 2])
}

fn tree(children: i32) -> Snapshot {
    let vcpu = ClassId(0);
    let catalog = Catalog::new(vec![(vcpu, Arc::from("VCPU"))], Vec::new(), Vec::new());
    let child = |id| row(id).with(vcpu, 1).below(1);
    Snapshot::build(
        catalog,
        std::iter::once(row(1)).chain((2..=children + 1).map(child)).collect(),
    )
}

fn request_of_units(groups: i32, policy: GroupPolicy) -> Request {
    let groups = (0..groups).map(|n| group(&format!("_{n}"), &[("VCPU", 1)])).collect();
    request(groups, policy, Some(CANDIDATE_LIMIT))
}
