//! The rule `within`: figures.

use std::collections::BTreeSet;

use super::worlds::{World, atomic, spread, workload};
use crate::placing::{
    Affinity, AffinityKind, Axis, Broken, DomainId, Effort, FurtherHost, Level, Members, Mode, PlacedReplica,
    Releasable, Removed, Rule, Spread, Within, Workload,
};

fn within(level: Level, axis: Axis) -> Rule {
    Rule::Within(Within { level, axis })
}

const ZONE: Axis = Axis::Domain(0);
const RACK: Axis = Axis::Domain(1);

/// Zones `a` with two racks of two hosts, `b` with three racks of one host, and `c` with one host.
fn zones() -> World {
    World::of(&[
        ("a1", &["a", "a/r1"]),
        ("a2", &["a", "a/r1"]),
        ("a3", &["a", "a/r2"]),
        ("a4", &["a", "a/r2"]),
        ("b1", &["b", "b/r1"]),
        ("b2", &["b", "b/r2"]),
        ("b3", &["b", "b/r3"]),
        ("c1", &["c", "c/r1"]),
    ])
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn found_p14_all_replicas_are_in_one_domain_that_holds_all() {
    let world = zones();
    let rules = [within(Level::Hard, ZONE)];
    assert_eq!(
        world.place(&workload(&[4], &rules)),
        Ok(names(&["a1", "a2", "a3", "a4"]))
    );
    // Three replicas on racks of their own have a place in zone b alone.
    let rules = [within(Level::Hard, ZONE), spread(Mode::OneEach, &[RACK])];
    assert_eq!(world.place(&workload(&[3], &rules)), Ok(names(&["b1", "b2", "b3"])));
    // A spread holds inside the domain: other zones do not count as empty siblings.
    let rules = [within(Level::Hard, ZONE), spread(Mode::MaxDifference, &[ZONE, RACK])];
    let placed = world.place(&workload(&[2], &rules)).unwrap();
    assert!(placed.iter().all(|name| name.starts_with('a')) || placed.iter().all(|name| name.starts_with('b')));
    let replicas = world.replicas_on(&placed.iter().map(String::as_str).collect::<Vec<_>>());
    let judged = world.judge(&Workload {
        placed: &replicas,
        ..workload(&[2], &rules)
    });
    assert_eq!(judged.violations, []);
}

#[test]
fn found_p14_of_several_domains_the_best_by_rank_is_taken() {
    let mut world = zones();
    let rules = [within(Level::Hard, ZONE)];
    for (best, expected) in [("a", ["a1", "a2", "a3"]), ("b", ["b1", "b2", "b3"])] {
        for (name, offers) in world.names.iter().zip(&mut world.offers) {
            offers[0].2 = i64::from(!name.starts_with(best));
        }
        // In zone a the fourth host is the dearest.
        world.offers[3][0].2 = 5;
        assert_eq!(world.place(&workload(&[3], &rules)), Ok(names(&expected)));
    }
}

#[test]
fn found_p14_placed_replicas_fix_the_domain_and_growth_beyond_it_says_so() {
    let world = zones();
    let rules = [within(Level::Hard, ZONE)];
    let placed = world.replicas_on(&["b1", "b2"]);
    let grow = |n: &'static [u32]| Workload {
        placed: &placed,
        ..workload(n, &rules)
    };
    assert_eq!(world.place(&grow(&[3])), Ok(names(&["b3"])));
    let refused = world.place(&grow(&[5])).unwrap_err();
    let refusal = refused.refusal.as_ref().unwrap();
    let limit = refusal.within.unwrap();
    let tree = &world.cluster.dimensions[0].tree;
    assert_eq!((limit.rule, tree.path(limit.domain)), (0, "b"));
    assert_eq!((limit.taken, limit.admitted, refusal.missing), (2, 1, 3));
    assert_eq!(refusal.removed, [(Removed::Outside(0), 5), (Removed::Taken, 2)]);
    let some = world.placed(
        &grow(&[5]),
        &Effort {
            atomic: false,
            ..atomic()
        },
    );
    assert_eq!(some.replicas, world.replicas_on(&["b3"]));
    assert_eq!(some.unplaced, [2]);
}

#[test]
fn found_p14_a_refusal_names_the_domain_that_takes_the_most() {
    let world = zones();
    let rules = [within(Level::Hard, ZONE)];
    let refused = world.place(&workload(&[6], &rules)).unwrap_err();
    let limit = refused.refusal.as_ref().unwrap().within.unwrap();
    assert_eq!(world.cluster.dimensions[0].tree.path(limit.domain), "a");
    assert_eq!((limit.taken, limit.admitted), (0, 4));
    assert!(refused.is_exact);
}

/// Zone a has room for more replicas, and zone b has more racks.
#[test]
fn found_p14_a_refusal_by_a_spread_inside_names_the_domain_that_takes_the_most() {
    let world = zones();
    let rules = [within(Level::Hard, ZONE), spread(Mode::OneEach, &[RACK])];
    let refused = world.place(&workload(&[4], &rules)).unwrap_err();
    let limit = refused.refusal.as_ref().unwrap().within.unwrap();
    assert_eq!(world.cluster.dimensions[0].tree.path(limit.domain), "b");
    assert_eq!((limit.taken, limit.admitted), (0, 3));
}

/// The slots of a search are divided among the hosts of the domain, and not among all hosts.
#[test]
fn found_p14_a_host_of_a_large_cluster_takes_all_replicas() {
    let names: Vec<String> = (0..40_000).map(|host| format!("h{host}")).collect();
    let paths: Vec<String> = (0..40_000).map(|host| format!("r{}", host / 40)).collect();
    let mut world = World::of_paths(&names, &paths);
    world.offers.iter_mut().for_each(|offers| offers[0].0 = 60);
    let placed = world.placed(&workload(&[60], &[within(Level::Hard, Axis::Host)]), &atomic());
    assert_eq!((placed.refusal, placed.is_exact), (None, true));
    assert!(placed.replicas.iter().all(|replica| *replica == placed.replicas[0]));
    assert_eq!(placed.replicas.len(), 60);
}

/// A consumer of an evacuated instance has allocations in the zone that was left, too.
#[test]
fn found_p14_replicas_with_rests_in_a_second_zone_fix_the_zone_of_their_first_hosts() {
    let world = zones();
    let rules = [within(Level::Hard, ZONE)];
    let placed = world.replicas_on(&["b1", "b2"]);
    let rest = |replica: usize, name: &str| FurtherHost {
        replica,
        host: world.host(name),
    };
    let further = [rest(0, "a1"), rest(1, "a2")];
    let standing = |n: &'static [u32]| Workload {
        placed: &placed,
        further: &further,
        ..workload(n, &rules)
    };
    assert_eq!(world.place(&standing(&[3])), Ok(names(&["b3"])));
    let judged = world.judge(&standing(&[2]));
    let [violation] = &judged.violations[..] else {
        panic!("{judged:?}")
    };
    assert_eq!(world.cluster.dimensions[0].tree.path(violation.domain), "b");
    assert_eq!(violation.replicas, [0, 1]);
}

/// Four replicas on lost hosts do not fix the zone of three replicas that are alive.
#[test]
fn found_p14_lost_replicas_do_not_choose_the_domain_that_stays() {
    let world = zones();
    let rules = [within(Level::Hard, ZONE), spread(Mode::OneEach, &[RACK])];
    let replica = |(name, lost): (&str, bool)| Releasable {
        role: 0,
        hosts: vec![world.host(name)],
        lost,
    };
    let all = ["a1", "a2", "a3", "a4"].map(|name| (name, true));
    let all: Vec<Releasable> = all
        .into_iter()
        .chain([("b1", false), ("b2", false)])
        .map(replica)
        .collect();
    assert_eq!(world.released(&workload(&[2], &rules), &all).gone, [0, 1, 2, 3]);
}

#[test]
fn found_p14_within_a_host_a_host_takes_several_replicas() {
    let mut world = zones();
    for offers in &mut world.offers {
        offers[0].0 = 2;
    }
    world.offers[5][0].0 = 3;
    let rules = [within(Level::Hard, Axis::Host)];
    assert_eq!(world.place(&workload(&[3], &rules)), Ok(names(&["b2"])));
    assert!(world.place(&workload(&[4], &rules)).is_err());
    let rules = [within(Level::Soft, Axis::Host)];
    let placed = world.placed(&workload(&[4], &rules), &atomic());
    let on_b2 = placed.replicas.iter().filter(|it| it.host == 5).count();
    assert_eq!((placed.replicas.len(), on_b2), (4, 3));
}

#[test]
fn found_p14_apart_and_the_conditions_of_hosts_decide_which_domain_is_left() {
    let world = zones();
    let apart = |level: Level| {
        Rule::Affinity(Affinity {
            level,
            kind: AffinityKind::AntiAffinity,
            members: Members::Domains {
                dimension: 1,
                domains: vec![world.cluster.dimensions[1].tree.find("a/r2").unwrap()],
            },
        })
    };
    let hard = [within(Level::Hard, ZONE), apart(Level::Hard)];
    assert_eq!(world.place(&workload(&[3], &hard)), Ok(names(&["b1", "b2", "b3"])));
    assert!(world.place(&workload(&[4], &hard)).is_err());
    let soft = [within(Level::Soft, ZONE), apart(Level::Hard)];
    let placed = world.place(&workload(&[4], &soft)).unwrap();
    assert_eq!(placed.iter().filter(|name| name.starts_with('b')).count(), 3);
    let only = zones().only(&["a1", "a2", "b1", "c1"]);
    let rules = [within(Level::Hard, ZONE)];
    assert_eq!(only.place(&workload(&[2], &rules)), Ok(names(&["a1", "a2"])));
}

#[test]
fn found_p14_replicas_outside_of_the_fullest_domain_are_a_violation_and_go_first() {
    let world = zones();
    for level in [Level::Hard, Level::Soft, Level::Prefer] {
        let rules = [within(level, ZONE)];
        let placed = world.replicas_on(&["a1", "a3", "b1", "c1"]);
        let judged = world.judge(&Workload {
            placed: &placed,
            ..workload(&[4], &rules)
        });
        let [violation] = &judged.violations[..] else {
            panic!("{judged:?}")
        };
        assert_eq!((violation.rule, violation.axis), (Broken::Rule(0), ZONE));
        assert_eq!(world.cluster.dimensions[0].tree.path(violation.domain), "a");
        assert_eq!((violation.count, &violation.replicas), (2, &vec![2, 3]));
        let replicas: Vec<Releasable> = placed
            .iter()
            .map(|replica| Releasable {
                role: 0,
                hosts: vec![replica.host],
                lost: false,
            })
            .collect();
        let released = world.released(&workload(&[2], &rules), &replicas);
        assert_eq!(released.gone, [2, 3]);
    }
}

#[test]
fn found_p14_the_budget_bounds_the_domains_that_are_tried() {
    let paths: Vec<String> = (0..40_000).map(|host| format!("r{}", host / 4)).collect();
    let names: Vec<String> = (0..40_000).map(|host| format!("h{host}")).collect();
    let world = World::of_paths(&names, &paths);
    let rules = [within(Level::Hard, ZONE)];
    let placed = world.placed(&workload(&[4], &rules), &atomic());
    assert!(
        placed.is_exact && placed.replicas.len() == 4,
        "the first domain is proven best"
    );
    let leaf = |replica: &PlacedReplica| -> DomainId { world.cluster.dimensions[0].leaves[replica.host as usize] };
    assert!(
        placed
            .replicas
            .iter()
            .all(|replica| leaf(replica) == leaf(&placed.replicas[0]))
    );
    let preferred = world.placed(&workload(&[4], &[within(Level::Prefer, ZONE)]), &atomic());
    assert!(preferred.is_exact, "the first domain is proven best");
    let spread_too = [within(Level::Hard, ZONE), spread(Mode::MaxDifference, &[Axis::Host])];
    let effort = Effort {
        budget: 1_000_000,
        ..atomic()
    };
    let placed = world.placed(&workload(&[4], &spread_too), &effort);
    assert_eq!(placed.replicas.len(), 4);
    assert!(!placed.is_exact, "not all of 10,000 racks are compared");
}

/// Host a has two replicas, so a soft rule over hosts wants the next on host b. A zone that holds host a alone is no
/// better: the replica would stand on host a, and no further one would have a place.
#[test]
fn found_p14_a_host_above_its_share_breaks_no_rule_about_new_replicas() {
    let mut world = World::of(&[("a", &["fd:z/r"]), ("b", &["fd:z"])]);
    world.offers = vec![vec![(1, 0, 0)]; 2];
    world.build();
    let over_hosts = Spread {
        level: Level::Soft,
        mode: Mode::MaxDifference,
        axes: vec![Axis::Host],
        strict: false,
    };
    let over_zones = spread(Mode::MaxDifference, &[Axis::Domain(0)]);
    let rules = [
        Rule::Spread(over_hosts),
        over_zones,
        within(Level::Hard, Axis::Domain(0)),
    ];
    let placed = world.replicas_on(&["a", "a"]);
    let workload = Workload {
        placed: &placed,
        ..workload(&[3], &rules)
    };
    assert_eq!(world.placed(&workload, &atomic()).replicas, world.replicas_on(&["b"]));
}
