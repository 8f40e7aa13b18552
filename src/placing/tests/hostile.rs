//! The largest workloads that a request may ask for end within their budget.

use std::cell::Cell;

use super::worlds::{atomic, spread};
use crate::interrupt::Interrupt;
use crate::placing::{
    Axis, Cluster, Dimension, DomainTree, Effort, Eligible, Hosts, Mode, Offer, Placed, Proof, STEPS_A_ROUND, Workload,
    place,
};

const ROLES: usize = 1_000;

/// Hosts that are used to different degrees. Each role asks for an amount of its own, and is not for one of the hosts.
struct Different {
    hosts: u32,
    offers: Cell<u64>,
}

impl Different {
    fn excludes(&self, host: u32, role: usize) -> bool {
        (role as u32 * 7) % self.hosts == host
    }
}

impl Hosts for Different {
    fn offer(&self, host: u32, role: usize, already: u32) -> Option<Offer> {
        self.offers.set(self.offers.get() + 1);
        let (used, size) = (i64::from(host * 37 % 101), i64::from(64 + host % 3 * 32));
        let score = (used + role as i64 + 1) * 10_000 / size;
        (already == 0).then_some(Offer { over: 0, score })
    }

    fn fits(&self, _host: u32, counts: &[u32]) -> bool {
        counts.iter().sum::<u32>() <= 1
    }
}

/// In three sites with racks of 40 hosts, and in 20 upgrade domains.
fn cluster(hosts: u32) -> Cluster {
    let (mut fault, mut upgrade) = (DomainTree::default(), DomainTree::default());
    let fault_leaves = (0..hosts).map(|host| fault.intern(&format!("fd:/dc{}/r{}", host / 40 % 3, host / 120)));
    let fault_leaves = fault_leaves.collect();
    let upgrade_leaves = (0..hosts).map(|host| upgrade.intern(&format!("UD{}", host % 20)));
    let upgrade_leaves = upgrade_leaves.collect();
    let of = |tree, leaves| Dimension { tree, leaves };
    Cluster::new(hosts, vec![of(fault, fault_leaves), of(upgrade, upgrade_leaves)])
}

/// Places one replica of each role. Returns the answer, the steps and the offers that were looked at.
fn placed(hosts: u32, mode: Mode, effort: &Effort) -> (Placed, u64, u64) {
    let (cluster, world) = (
        cluster(hosts),
        Different {
            hosts,
            offers: Cell::new(0),
        },
    );
    let eligible = |role| (0..hosts).map(|host| !world.excludes(host, role)).collect();
    let eligible = Eligible::of(
        &cluster,
        (0..ROLES).map(eligible).collect(),
        Vec::new(),
        &Interrupt::default(),
    );
    let rules = [spread(mode, &[Axis::Domain(0), Axis::Domain(1)])];
    let workload = Workload {
        wanted: &[1; ROLES],
        rules: &rules,
        quorum: false,
        standing: &[],
    };
    let placed = place((&cluster, &eligible), &world, &workload, effort);
    (placed, effort.interrupt.spent() * STEPS_A_ROUND, world.offers.get())
}

#[test]
fn hostile_02_a_thousand_roles_are_placed_within_the_budget() {
    for mode in [Mode::Adaptive, Mode::QuorumSafe] {
        let (placed, steps, offers) = placed(3_000, mode, &atomic());
        let mut hosts: Vec<u32> = placed.replicas.iter().map(|it| it.host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        assert_eq!((hosts.len(), placed.refusal), (ROLES, None), "{mode:?}");
        assert_eq!(placed.proof, Proof::BudgetSpent, "{mode:?}");
        // The lists of places have six million offers. They bound no search.
        assert!(steps < 3 * Effort::BUDGET, "{mode:?}: {steps} steps");
        assert!(offers < 3 * Effort::BUDGET, "{mode:?}: {offers} offers");
    }
}

#[test]
fn hostile_02_the_flow_of_roles_ends_wherever_it_is_interrupted() {
    let whole = placed(300, Mode::QuorumSafe, &atomic()).1;
    for part in 1..8 {
        let steps = whole * part / 8 / STEPS_A_ROUND;
        let effort = Effort {
            interrupt: Interrupt::after(steps),
            ..atomic()
        };
        let (_, spent, _) = placed(300, Mode::QuorumSafe, &effort);
        let after = spent - steps * STEPS_A_ROUND;
        // A host has an offer for each role.
        assert!(after < 100_000, "it took {after} steps after {steps}");
    }
}
