//! Placements whose answer is not wanted any more.

use std::cell::Cell;

use super::super::{
    Axis, Cluster, Dimension, DomainTree, Effort, Eligible, Hosts, Mode, Offer, Replica, Workload, place, release,
};
use super::worlds::{ATOMIC, spread};

/// Each host has room for one replica.
struct Empty;

impl Hosts for Empty {
    fn offer(&self, host: u32, _: usize, already: u32) -> Option<Offer> {
        let score = i64::from(host % 7);
        (already == 0).then_some(Offer { over: 0, score })
    }

    fn fits(&self, _: u32, _: &[u32]) -> bool {
        false
    }
}

/// 60 hosts in five domains.
fn cluster() -> Cluster {
    let mut tree = DomainTree::default();
    let leaves = (0..60).map(|host| tree.intern(&format!("fd:/r{}", host % 5)));
    let leaves = leaves.collect();
    Cluster::new(60, vec![Dimension { tree, leaves }])
}

/// Calls `run` with an interrupt that is set from a number of calls on, for each number until `run` ends before that.
/// Returns the number.
fn interrupt_everywhere(run: impl Fn(&dyn Fn(u64) -> bool)) -> u32 {
    for before in 0.. {
        let calls = Cell::new(0);
        run(&|_| {
            calls.set(calls.get() + 1);
            calls.get() > before
        });
        if calls.get() <= before {
            return before;
        }
        let after = calls.get() - before;
        assert!(after < 8, "it asked {after} times after {before}");
    }
    unreachable!("the numbers do not end")
}

#[test]
fn an_interrupt_ends_a_placement_and_a_release_wherever_they_are() {
    let (cluster, rules) = (cluster(), [spread(Mode::MaxDifference, &[Axis::Domain(0)])]);
    let eligible = Eligible::of(&cluster, vec![[true; 60].into()], Vec::new());
    let workload = |wanted| Workload {
        wanted,
        rules: &rules,
        quorum: false,
        standing: &[],
    };
    for atomic in [true, false] {
        let calls = interrupt_everywhere(|interrupted| {
            let effort = Effort {
                atomic,
                interrupted,
                ..ATOMIC
            };
            place((&cluster, &eligible), &Empty, &workload(&[40]), &effort);
        });
        assert!(calls > 40, "each replica is a path of the flow");
    }
    let replica = |host| Replica {
        role: 0,
        host: Some(host),
        lost: false,
    };
    let standing: Vec<Replica> = (0..40).map(replica).collect();
    let calls = interrupt_everywhere(|interrupted| {
        release(&cluster, &eligible, &workload(&[20]), &standing, interrupted);
    });
    assert!(calls > 20);
}
