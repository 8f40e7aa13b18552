//! The search alone over trees of many equal children: `cargo bench --bench wide_trees`.
//!
//! A root with 4, 8, 16 or 32 children of one unit each, and as many groups of one unit (the first thousand candidates),
//! or one group more (there are none). Prints the median of 51 rounds; what a search costs in parts placed is asserted
//! in `src/search/tests/wide.rs`, and what a client sees beside OpenStack Placement is `benches/wide_trees.py`.

mod world;

use std::sync::Arc;
use std::time::Instant;

use placet::search::{Catalog, ClassId, GroupPolicy, Request, Snapshot, candidates};
use world::{Writing, group, request, row, settings};

const ROUNDS: usize = 51;
const LIMIT: usize = 1000;

fn main() {
    println!("| children | groups | group_policy | candidates | median |\n|---|---|---|---|---|");
    for children in [4, 8, 16, 32] {
        let snapshot = tree(children);
        for groups in [children, children + 1] {
            for policy in [GroupPolicy::Isolate, GroupPolicy::None] {
                let (found, micros) = measure(&snapshot, &asking(groups, policy));
                println!("| {children} | {groups} | {policy:?} | {found} | {micros:.1} µs |");
            }
        }
    }
}

fn measure(snapshot: &Snapshot, request: &Request) -> (usize, f64) {
    let settings = settings();
    let mut found = 0;
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            found = candidates(snapshot, request, &settings, ())
                .and_then(|all| all.select().collect::<Result<Vec<_>, _>>())
                .map_or(0, |found| found.len());
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    (found, times[ROUNDS / 2])
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

fn asking(groups: i32, policy: GroupPolicy) -> Request {
    let groups = (0..groups).map(|n| group(&format!("_{n}"), &[("VCPU", 1)])).collect();
    request(groups, policy, Some(LIMIT))
}
