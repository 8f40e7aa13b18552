//! Replicas on several hosts, such as evacuated instances: beside new replicas, and when n falls.

use super::worlds::{World, atomic, spread, workload};
use crate::placing::{Axis, Effort, FurtherHost, Mode, Releasable, Rule, Workload};

const ZONE: Axis = Axis::Domain(0);

fn rests(world: &World, all: &[(usize, &str)]) -> Vec<FurtherHost> {
    let rest = |(replica, name): &(usize, &str)| FurtherHost {
        replica: *replica,
        host: world.host(name),
    };
    all.iter().map(rest).collect()
}

/// A zone counts a replica on two of its racks once, so zone z1 has the fewest replicas.
#[test]
fn found_p4_a_domain_around_two_hosts_of_a_replica_counts_the_replica_once() {
    let names = ["z1a", "z1b", "z1f", "z2c", "z2d", "z2e"];
    let paths = ["z1/a", "z1/b", "z1/f", "z2/c", "z2/d", "z2/e"].map(str::to_owned);
    let world = World::of_paths(&names.map(str::to_owned), &paths);
    let placed = world.replicas_on(&["z1a", "z2c", "z2d"]);
    let further = rests(&world, &[(0, "z1b")]);
    let rules = [spread(Mode::MaxDifference, &[ZONE])];
    for seed in 0..20 {
        let four = Workload {
            placed: &placed,
            further: &further,
            ..workload(&[4], &rules)
        };
        let found = world.placed(&four, &Effort { seed, ..atomic() });
        assert_eq!(found.replicas, world.replicas_on(&["z1f"]), "seed {seed}");
    }
}

/// Three zones, and at most two of five replicas in each.
#[test]
fn found_p4_a_zone_is_not_full_with_one_replica_on_two_racks() {
    let names = ["z1a", "z1b", "z1f", "z2c", "z2d", "z3e", "z3g"];
    let paths = ["z1/a", "z1/b", "z1/f", "z2/c", "z2/d", "z3/e", "z3/g"].map(str::to_owned);
    let world = World::of_paths(&names.map(str::to_owned), &paths);
    let placed = world.replicas_on(&["z1a", "z2c", "z2d", "z3e"]);
    let further = rests(&world, &[(0, "z1b")]);
    let rules = [spread(Mode::QuorumSafe, &[ZONE])];
    let five = Workload {
        placed: &placed,
        further: &further,
        ..workload(&[5], &rules)
    };
    assert!(world.place(&five).is_ok());
    let placed = world.replicas_on(&["z1a", "z2c", "z2d", "z3e", "z3g"]);
    let six = Workload {
        placed: &placed,
        further: &further,
        ..workload(&[6], &rules)
    };
    let zone_one = world.place(&six).expect("zone z1 has one replica");
    assert_eq!(zone_one.into_iter().collect::<Vec<_>>(), ["z1f"]);
}

fn released(world: &World, rules: &[Rule], n: u32, hosts: &[&[&str]]) -> Vec<usize> {
    let replicas = hosts.iter().map(|hosts| Releasable {
        role: 0,
        hosts: hosts.iter().map(|name| world.host(name)).collect(),
        lost: false,
    });
    let released = world.released(&workload(&[n], rules), &replicas.collect::<Vec<_>>());
    assert!(released.is_exact);
    released.gone
}

/// Replicas 0 and 1 share zone b, so both cannot stay.
#[test]
fn found_p4_what_stays_keeps_the_rule_on_every_host() {
    let names = ["a", "b", "b2", "c"].map(str::to_owned);
    let world = World::of_paths(&names, &["za", "zb", "zb", "zc"].map(str::to_owned));
    let rules = [spread(Mode::OneEach, &[ZONE])];
    let gone = released(&world, &rules, 2, &[&["a", "b"], &["b2"], &["c"]]);
    assert!(gone == [0] || gone == [1], "{gone:?}");
    // Both are alone in their zones.
    assert_eq!(released(&world, &rules, 2, &[&["a", "b"], &["c"], &["b2"]]).len(), 1);
    assert_eq!(released(&world, &rules, 1, &[&["a", "b"], &["b2"], &["c"]]).len(), 2);
}

/// With more replicas on several hosts than are tried, the answer is not said to be the best.
#[test]
fn found_p4_many_replicas_on_several_hosts_are_not_exact() {
    let names: Vec<String> = (0..12).map(|host| format!("h{host}")).collect();
    let paths: Vec<String> = (0..12).map(|host| format!("z{}", host / 2)).collect();
    let world = World::of_paths(&names, &paths);
    let replicas = (0..6).map(|at| Releasable {
        role: 0,
        hosts: vec![2 * at, 2 * at + 1],
        lost: false,
    });
    let rules = [spread(Mode::MaxDifference, &[ZONE])];
    let found = world.released(&workload(&[3], &rules), &replicas.collect::<Vec<_>>());
    assert_eq!((found.gone.len(), found.is_exact), (3, false));
}

/// Host b does not match the role, so replica 0 breaks a rule by itself. Replica 1 is on the same host as replica 0.
#[test]
fn found_p4_a_replica_with_a_host_that_does_not_match_goes_first() {
    let names = ["a", "b", "c"].map(str::to_owned);
    let world = World::of_paths(&names, &["z", "z", "z"].map(str::to_owned)).only(&["a", "c"]);
    assert_eq!(released(&world, &[], 1, &[&["a", "b"], &["a"]]), [0]);
}

/// Replicas 0 and 2 share host c. Replicas 0 and 1 are in zone z1, so only replicas 1 and 2 keep the rule.
#[test]
fn found_p4_a_host_is_not_full_of_replicas_that_go() {
    let names = ["a", "b", "c"].map(str::to_owned);
    let world = World::of_paths(&names, &["z1", "z1", "z2"].map(str::to_owned));
    let rules = [spread(Mode::QuorumSafe, &[ZONE])];
    assert_eq!(released(&world, &rules, 2, &[&["a", "c"], &["b"], &["c"]]), [0]);
}
