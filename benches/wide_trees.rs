//! The search alone over trees of many equal children: `cargo bench --bench wide_trees`.
//!
//! A root with 4, 8, 16 or 32 children of one unit each, and as many groups of one unit (the first thousand candidates),
//! or one group more (there are none). Prints the median of 51 rounds; what a search costs in parts placed is asserted
//! in `src/search/tests/wide.rs`, and what a client sees beside OpenStack Placement is `benches/wide_trees.py`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use placet::search::{
    Catalog, ClassId, Group, GroupPolicy, Interrupt, Inventory, ProviderId, ProviderRow, Request, Settings, Snapshot,
    Strategy, Traits, candidates,
};

const ROUNDS: usize = 51;
const LIMIT: usize = 1000;

fn main() {
    println!("| children | groups | group_policy | candidates | median |\n|---|---|---|---|---|");
    for children in [4, 8, 16, 32] {
        let snapshot = tree(children);
        for groups in [children, children + 1] {
            for policy in [GroupPolicy::Isolate, GroupPolicy::None] {
                let (found, micros) = measure(&snapshot, &request(groups, policy));
                println!("| {children} | {groups} | {policy:?} | {found} | {micros:.1} µs |");
            }
        }
    }
}

fn measure(snapshot: &Snapshot, request: &Request) -> (usize, f64) {
    let settings = Settings {
        seed: 1,
        max: None,
        ceiling: usize::MAX,
        strategy: Strategy::DepthFirst,
        strict_step: false,
        interrupt: Interrupt::default(),
    };
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
    let catalog = Catalog::new(vec![(ClassId(0), Arc::from("VCPU"))], Vec::new(), Vec::new());
    let row = |id: i32| ProviderRow {
        id: ProviderId(id),
        uuid: format!("uuid-{id}").into(),
        name: format!("name-{id}").into(),
        generation: 0,
        parent: (id > 1).then_some(ProviderId(1)),
        root: ProviderId(1),
        modified: 0,
        inventories: if id > 1 {
            BTreeMap::from([(ClassId(0), one())])
        } else {
            BTreeMap::new()
        },
        used: BTreeMap::new(),
        traits: BTreeSet::new(),
        aggregates: BTreeSet::new(),
    };
    Snapshot::build(catalog, (1..=children + 1).map(row).collect())
}

fn one() -> Inventory {
    Inventory {
        total: 1,
        reserved: 0,
        min_unit: 1,
        max_unit: 1,
        step_size: 1,
        allocation_ratio: 1.0,
    }
}

fn request(groups: i32, policy: GroupPolicy) -> Request {
    let group = |index| Group {
        suffix: format!("_{index}"),
        resources: vec![("VCPU".to_owned(), 1)],
        ..Group::default()
    };
    Request {
        groups: (0..groups).map(group).collect(),
        group_policy: Some(policy),
        same_subtrees: Vec::new(),
        root_required: Traits::default(),
        limit: Some(LIMIT),
        nested: true,
    }
}
