//! Placements whose answer is not wanted any more.

use super::super::{
    Axis, Cluster, Dimension, DomainTree, Effort, Eligible, Hosts, Mode, Offer, Releasable, Workload, place, release,
};
use super::worlds::{atomic, spread};
use crate::interrupt::Interrupt;

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

/// Calls `run` with a budget for each number of steps until the budget is enough. Returns the number.
fn interrupt_everywhere(run: impl Fn(&Interrupt)) -> u64 {
    for steps in 1.. {
        let interrupt = Interrupt::after(steps);
        run(&interrupt);
        if !interrupt.ran_out() {
            return steps;
        }
        let after = interrupt.spent() - steps;
        assert!(after < 40, "it took {after} steps after {steps}");
    }
    unreachable!("the numbers do not end")
}

#[test]
fn an_interrupt_ends_a_placement_and_a_release_wherever_they_are() {
    let (cluster, rules) = (cluster(), [spread(Mode::MaxDifference, &[Axis::Domain(0)])]);
    let eligible = Eligible::of(&cluster, vec![[true; 60].into()], Vec::new(), &Interrupt::default());
    let workload = |wanted| Workload {
        wanted,
        rules: &rules,
        quorum: false,
        placed: &[],
        further: &[],
    };
    for is_atomic in [true, false] {
        let calls = interrupt_everywhere(|interrupt| {
            let effort = Effort {
                atomic: is_atomic,
                interrupt: interrupt.clone(),
                ..atomic()
            };
            place((&cluster, &eligible), &Empty, &workload(&[40]), &effort);
        });
        assert!(calls > 40, "each replica is a path of the flow");
    }
    let replica = |host| Releasable {
        role: 0,
        hosts: vec![host],
        lost: false,
    };
    let placed: Vec<Releasable> = (0..40).map(replica).collect();
    let calls = interrupt_everywhere(|interrupt| {
        release(&cluster, &eligible, &workload(&[20]), &placed, interrupt);
    });
    assert!(calls > 20);
}
