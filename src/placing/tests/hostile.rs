//! The largest workloads of a request end within their budget.

use std::cell::Cell;

use super::worlds::{atomic, spread};
use crate::interrupt::{Interrupt, OPERATIONS_A_STEP};
use crate::placing::{
    Affinity, AffinityKind, Axis, Cluster, Dimension, DomainTree, Effort, Eligible, Hosts, Level, Members, Mode, Offer,
    Placed, PlacedReplica, Rule, Workload, judge, place,
};

const ROLES: usize = 1_000;

/// Hosts with different usages. Each role asks for an amount of its own, and excludes one host.
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

/// Places a replica of each role. Returns the answer, the number of operations, and the number of offers.
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
        placed: &[],
        further: &[],
    };
    let placed = place((&cluster, &eligible), &world, &workload, effort);
    (placed, effort.interrupt.spent() * OPERATIONS_A_STEP, world.offers.get())
}

#[test]
fn hostile_02_a_thousand_roles_are_placed_within_the_budget() {
    for mode in [Mode::Adaptive, Mode::QuorumSafe] {
        let (placed, operations, offers) = placed(3_000, mode, &atomic());
        let mut hosts: Vec<u32> = placed.replicas.iter().map(|it| it.host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        assert_eq!((hosts.len(), placed.refusal), (ROLES, None), "{mode:?}");
        assert!(!placed.is_exact, "{mode:?}");
        // The lists of places have six million offers. They bound no search.
        assert!(operations < 3 * Effort::BUDGET, "{mode:?}: {operations} operations");
        assert!(offers < 3 * Effort::BUDGET, "{mode:?}: {offers} offers");
    }
}

#[test]
fn hostile_02_the_flow_of_roles_ends_wherever_it_is_interrupted() {
    let hosts = 1_200;
    let (placed_at_all, whole, offers) = placed(hosts, Mode::QuorumSafe, &atomic());
    assert_eq!(
        placed_at_all.replicas.len(),
        ROLES,
        "without a flow there is no placement"
    );
    assert!(
        whole > 2 * offers,
        "{whole} operations, of which {offers} are offers: most are arcs"
    );
    for part in 1..8 {
        let steps = whole * part / 8 / OPERATIONS_A_STEP;
        let effort = Effort {
            interrupt: Interrupt::after(steps),
            ..atomic()
        };
        let (_, spent, _) = placed(hosts, Mode::QuorumSafe, &effort);
        let after = spent - steps * OPERATIONS_A_STEP;
        // A host has an offer for each role.
        assert!(after < 100_000, "it took {after} operations after {steps} steps");
    }
}

/// Each host is in an upgrade domain of its own, and in a fault domain of its own `depth` levels down.
fn deep_cluster(hosts: u32, depth: usize) -> Cluster {
    let (mut fault, mut upgrade) = (DomainTree::default(), DomainTree::default());
    let below = "/x".repeat(depth);
    let fault_leaves = (0..hosts).map(|host| fault.intern(&format!("fd:/{host}{below}")));
    let fault_leaves = fault_leaves.collect();
    let upgrade_leaves = (0..hosts).map(|host| upgrade.intern(&format!("UD{host}")));
    let upgrade_leaves = upgrade_leaves.collect();
    let of = |tree, leaves| Dimension { tree, leaves };
    Cluster::new(hosts, vec![of(fault, fault_leaves), of(upgrade, upgrade_leaves)])
}

fn eligible(cluster: &Cluster) -> Eligible {
    let all = vec![true; cluster.hosts as usize].into();
    Eligible::of(cluster, vec![all], Vec::new(), &Interrupt::default())
}

#[test]
fn hostile_08_domains_of_other_groups_of_cells_are_not_looked_at() {
    let (hosts, depth) = (200, 100);
    let cluster = deep_cluster(hosts, depth);
    let world = Different {
        hosts,
        offers: Cell::new(0),
    };
    let workload = Workload {
        wanted: &[3],
        rules: &[spread(Mode::QuorumSafe, &[Axis::Domain(0), Axis::Domain(1)])],
        quorum: false,
        placed: &[],
        further: &[],
    };
    let effort = atomic();
    let placed = place((&cluster, &eligible(&cluster)), &world, &workload, &effort);
    assert_eq!((placed.replicas.len(), placed.is_exact), (3, true));
    let operations = effort.interrupt.spent() * OPERATIONS_A_STEP;
    let domains = u64::from(hosts) * depth as u64;
    assert!(operations > domains, "{operations} operations: each domain counts");
    // Each upgrade domain is a group with one cell.
    let of_all_groups = domains * u64::from(hosts);
    assert!(operations < of_all_groups / 5, "{operations} operations");
}

#[test]
fn hostile_08_the_depth_of_domains_is_counted_by_a_judgement() {
    let (hosts, depth) = (100, 200);
    let cluster = deep_cluster(hosts, depth);
    let at = |host| PlacedReplica { role: 0, host };
    let placed: Vec<PlacedReplica> = (0..hosts).map(at).collect();
    let affinity = |kind| {
        Rule::Affinity(Affinity {
            level: Level::Hard,
            kind,
            members: Members::Domains {
                dimension: 0,
                domains: (0..hosts)
                    .map(|host| cluster.dimensions[0].leaves[host as usize])
                    .collect(),
            },
        })
    };
    let spent = |rules: &[Rule]| {
        let workload = Workload {
            wanted: &[hosts],
            rules,
            quorum: false,
            placed: &placed,
            further: &[],
        };
        let interrupt = Interrupt::default();
        let judgement = judge(
            (&cluster, &eligible(&cluster)),
            &workload,
            &vec![true; placed.len()],
            &interrupt,
        );
        (judgement.violations.len(), interrupt.spent() * OPERATIONS_A_STEP)
    };
    let ((without, less), (with, more)) = (spent(&[]), spent(&[affinity(AffinityKind::AntiAffinity)]));
    assert_eq!((without, with), (0, hosts as usize));
    // The domains are marked once, and the ancestors of each host's domain are looked at.
    let levels = u64::from(hosts) * depth as u64;
    assert!(more - less > 3 * levels / 2, "{} operations more", more - less);
}
