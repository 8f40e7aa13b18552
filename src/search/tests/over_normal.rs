//! Candidates with the least usage over normal limits, for a gang.

use std::sync::Arc;

use super::*;
use crate::search::{Interrupt, OverSequence, PlannedUsage, Scoring};

const HOSTS: i32 = 600;
const GANG: usize = 150;

/// Hosts with two nodes of different usages. A tenth of each node is its normal limit.
fn cloud() -> Arc<Snapshot> {
    let host = |host: i32| {
        let root = 1 + host * 3;
        let node = move |node: i32| {
            let mut row = bare(root + node).with(VCPU, 20).below(root, root);
            row.used.insert(VCPU, i64::from((host * 7 + node * 3) % 9));
            row
        };
        [bare(root), node(1), node(2)]
    };
    let limit = ("VCPU".into(), "0.1".parse().unwrap());
    let catalog = catalog().with_limits([limit].into());
    Arc::new(Snapshot::build(catalog, (0..HOSTS).flat_map(host).collect()))
}

/// Places a gang, with a sequence for all consumers or a sequence for each. Returns the amount over the limits of each
/// consumer, and the steps.
fn placed(scoring: Option<Scoring>, is_one: bool) -> (Vec<(i64, i64)>, u64) {
    let request = request(group(&[("VCPU", 2)]));
    let interrupt = Interrupt::default();
    let settings = SearchSettings {
        interrupt: interrupt.clone(),
        ..settings()
    };
    let hard = cloud();
    let (mut normal, mut hard) = (
        PlannedUsage::new(Arc::new(hard.at_normal_limits())),
        PlannedUsage::new(hard),
    );
    let mut sequence = OverSequence::new(scoring);
    let mut all = Vec::new();
    for _ in 0..GANG {
        if !is_one {
            sequence = OverSequence::new(scoring);
        }
        let snapshot = Arc::clone(hard.snapshot());
        let found = sequence.next(&normal, &snapshot, &request, &settings).unwrap();
        assert!(found.is_exact);
        let placements = found.candidate.expect("there is room").placements;
        let cost = scoring.map_or(0.0, |scoring| scoring.cost(&snapshot, &placements));
        all.push((normal.added_over(&placements), (cost * 1e6) as i64));
        for usage in [&mut normal, &mut hard] {
            let change = usage.add(&placements);
            sequence.note(&change);
        }
    }
    (all, interrupt.spent())
}

#[test]
fn hostile_s3_a_gang_beyond_normal_limits_compares_the_cloud_once() {
    for scoring in [None, Some(Scoring::Emptiest), Some(Scoring::Fullest)] {
        let ((one, steps), (each, all_steps)) = (placed(scoring, true), placed(scoring, false));
        assert_eq!(one, each, "{scoring:?}");
        assert!(
            steps * 10 < all_steps,
            "{scoring:?}: {steps} steps instead of {all_steps}"
        );
    }
}
