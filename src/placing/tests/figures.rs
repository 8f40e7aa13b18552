//! Tables of Service Fabric's documentation and code, figure by figure: limits, modes, and the numbers of valid sets.
//!
//! Each count uses the layer's own judgement over all sets of hosts. A placement has to be one of the valid sets.

use std::collections::BTreeSet;

use super::worlds::{BOTH, World, spread, strict, workload};
use crate::placing::rules::modes::{may_be_down, quorum, quorum_limit};
use crate::placing::{Axis, Mode, Rule, Workload};

const BASE: [(&str, &[&str]); 5] = [
    ("N1", &["fd:/0", "0"]),
    ("N2", &["fd:/1", "1"]),
    ("N3", &["fd:/2", "2"]),
    ("N4", &["fd:/3", "3"]),
    ("N5", &["fd:/4", "4"]),
];
const MORE: [(&str, &[&str]); 5] = [
    ("N6", &["fd:/0", "1"]),
    ("N7", &["fd:/1", "2"]),
    ("N8", &["fd:/2", "3"]),
    ("N9", &["fd:/3", "4"]),
    ("N10", &["fd:/4", "0"]),
];

/// The base with the first `more` hosts of `MORE`: configuration 1, 2 and 3 have 1, 5 and 3 of these hosts.
pub fn configuration(more: usize) -> World {
    World::of(&[&BASE[..], &MORE[..more]].concat())
}

/// Nine hosts in three domains of each dimension, a rack in each of the fault domains.
pub fn nine_machines() -> World {
    World::of(&[
        ("vm1", &["fd:/dc1/r0", "UD1"]),
        ("vm2", &["fd:/dc1/r0", "UD2"]),
        ("vm3", &["fd:/dc1/r0", "UD3"]),
        ("vm4", &["fd:/dc2/r0", "UD1"]),
        ("vm5", &["fd:/dc2/r0", "UD2"]),
        ("vm6", &["fd:/dc2/r0", "UD3"]),
        ("vm7", &["fd:/dc3/r0", "UD1"]),
        ("vm8", &["fd:/dc3/r0", "UD2"]),
        ("vm9", &["fd:/dc3/r0", "UD3"]),
    ])
}

/// The same with three racks in each fault domain.
fn nine_racks() -> World {
    World::of(&[
        ("Node01", &["fd:/DC01/Rack01", "UpgradeDomain1"]),
        ("Node02", &["fd:/DC01/Rack02", "UpgradeDomain2"]),
        ("Node03", &["fd:/DC01/Rack03", "UpgradeDomain3"]),
        ("Node04", &["fd:/DC02/Rack01", "UpgradeDomain1"]),
        ("Node05", &["fd:/DC02/Rack02", "UpgradeDomain2"]),
        ("Node06", &["fd:/DC02/Rack03", "UpgradeDomain3"]),
        ("Node07", &["fd:/DC03/Rack01", "UpgradeDomain1"]),
        ("Node08", &["fd:/DC03/Rack02", "UpgradeDomain2"]),
        ("Node09", &["fd:/DC03/Rack03", "UpgradeDomain3"]),
    ])
}

pub fn names(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

/// The number of valid sets. A placement exists if and only if a valid set exists, and is a valid set.
pub fn count(world: &World, rule: Rule, n: u32) -> usize {
    let rules = [rule];
    let sets = world.sets(&rules, n);
    match world.place(&workload(&[n], &rules)) {
        Ok(hosts) => assert!(sets.contains(&hosts), "{hosts:?} is no valid set"),
        Err(placed) => assert!(
            sets.is_empty(),
            "refused, but there are {} sets: {placed:?}",
            sets.len()
        ),
    }
    sets.len()
}

fn mode(world: &World, n: u32) -> Mode {
    let rules = [spread(Mode::Adaptive, &BOTH)];
    world.judge(&workload(&[n], &rules)).modes[0].rule.mode
}

/// The counts of the first level of each dimension, of placed replicas.
fn counts(world: &World, hosts: &[&str], n: u32) -> Vec<Vec<u32>> {
    let (rules, placed) = ([spread(Mode::Adaptive, &BOTH)], world.replicas_on(hosts));
    let judged = world.judge(&Workload {
        placed: &placed,
        ..workload(&[n], &rules)
    });
    judged
        .modes
        .iter()
        .map(|mode| mode.counts.iter().map(|domain| domain.count).collect())
        .collect()
}

fn is_valid(world: &World, rule: Rule, hosts: &[&str], n: u32) -> bool {
    let (rules, placed) = ([rule], world.replicas_on(hosts));
    let judged = world.judge(&Workload {
        placed: &placed,
        ..workload(&[n], &rules)
    });
    judged.violations.is_empty()
}

#[test]
fn the_limits_of_quorum_safe_are_those_of_the_table() {
    let of = |figure: fn(u32) -> u32| (1..=9).map(figure).collect::<Vec<u32>>();
    assert_eq!(of(quorum), [1, 2, 2, 3, 3, 4, 4, 5, 5]);
    assert_eq!(of(may_be_down), [0, 0, 1, 1, 2, 2, 3, 3, 4]);
    assert_eq!(of(|n| quorum_limit(n, 2)), [1, 1, 2, 2, 3, 3, 4, 4, 5]);
    assert_eq!(of(|n| quorum_limit(n, 3)), [1, 1, 1, 2, 2, 2, 3, 3, 4]);
    assert_eq!(of(|n| quorum_limit(n, 4)), [1, 1, 1, 1, 2, 2, 3, 3, 4]);
    assert_eq!(of(|n| quorum_limit(n, 5)), [1, 1, 1, 1, 2, 2, 3, 3, 4]);
}

#[test]
fn t1_only_the_diagonal_of_configuration_1_is_even() {
    let (world, rules) = (configuration(1), [spread(Mode::MaxDifference, &BOTH)]);
    assert_eq!(world.sets(&rules, 5), [names(&["N1", "N2", "N3", "N4", "N5"])]);
    assert_eq!(
        world.place(&workload(&[5], &rules)),
        Ok(names(&["N1", "N2", "N3", "N4", "N5"]))
    );
}

#[test]
fn t2_to_t4_a_doubled_domain_breaks_max_difference_alone() {
    let world = configuration(1);
    let layouts: [(&[&str], [[u32; 5]; 2]); 3] = [
        (&["N1", "N2", "N3", "N4", "N5"], [[1; 5], [1; 5]]),
        (&["N1", "N6", "N3", "N4", "N5"], [[2, 0, 1, 1, 1], [1; 5]]),
        (&["N6", "N2", "N3", "N4", "N5"], [[1; 5], [0, 2, 1, 1, 1]]),
    ];
    for (at, (hosts, expected)) in layouts.into_iter().enumerate() {
        assert_eq!(counts(&world, hosts, 5), expected);
        let valid = |mode| is_valid(&world, spread(mode, &BOTH), hosts, 5);
        assert_eq!(valid(Mode::MaxDifference), at == 0, "{hosts:?}");
        assert_eq!(valid(Mode::OneEach), at == 0, "{hosts:?}");
        assert!(valid(Mode::QuorumSafe) && valid(Mode::Adaptive), "{hosts:?}");
    }
}

#[test]
fn t5_every_set_of_configuration_1_is_quorum_safe() {
    assert_eq!(count(&configuration(1), spread(Mode::QuorumSafe, &BOTH), 5), 6);
}

#[test]
fn t6_configuration_2_has_two_even_sets_that_do_not_mix() {
    let even = [spread(Mode::MaxDifference, &BOTH)];
    let (first, second) = (
        names(&["N1", "N2", "N3", "N4", "N5"]),
        names(&["N6", "N7", "N8", "N9", "N10"]),
    );
    assert_eq!(configuration(5).sets(&even, 5), [first.clone(), second]);
    assert_eq!(configuration(4).sets(&even, 5), std::slice::from_ref(&first));
    assert_eq!(configuration(4).place(&workload(&[5], &even)), Ok(first));
    assert_eq!(count(&configuration(5), spread(Mode::MaxDifference, &BOTH), 5), 2);
}

#[test]
fn t7_and_t8_configuration_3_is_quorum_safe_for_five() {
    let world = configuration(3);
    assert_eq!(mode(&world, 5), Mode::QuorumSafe);
    assert_eq!(count(&world, spread(Mode::Adaptive, &BOTH), 5), 56);
    let layout = ["N1", "N6", "N7", "N3", "N5"];
    assert_eq!(counts(&world, &layout, 5), [[2, 1, 1, 0, 1], [1, 1, 2, 0, 1]]);
    assert!(is_valid(&world, spread(Mode::Adaptive, &BOTH), &layout, 5));
}

#[test]
fn t9_configuration_3_is_even_for_four() {
    let (world, rules) = (configuration(3), [spread(Mode::Adaptive, &BOTH)]);
    assert_eq!(mode(&world, 4), Mode::MaxDifference);
    let sets = world.sets(&rules, 4);
    let with_new = |set: &&BTreeSet<String>| ["N6", "N7", "N8"].iter().any(|name| set.contains(*name));
    assert_eq!((sets.len(), sets.iter().filter(with_new).count()), (11, 6));
    assert_eq!(count(&world, spread(Mode::Adaptive, &BOTH), 4), 11);
    let layout = ["N1", "N6", "N7", "N3", "N5"];
    for without in layout {
        let rest: Vec<&str> = layout.into_iter().filter(|name| *name != without).collect();
        assert!(!is_valid(&world, spread(Mode::Adaptive, &BOTH), &rest, 4), "{rest:?}");
    }
    let kept = sets.iter().map(|set| set.intersection(&names(&layout)).count()).max();
    assert_eq!(kept, Some(3), "at least one more has to move");
}

#[test]
fn t10_the_missing_replica_goes_to_n4_and_nowhere_else() {
    let world = configuration(3).only(&["N2", "N3", "N4", "N5", "N6", "N7", "N8"]);
    let rules = [spread(Mode::Adaptive, &BOTH)];
    let placed = world.replicas_on(&["N6", "N7", "N3", "N5"]);
    let four = Workload {
        placed: &placed,
        ..workload(&[5], &rules)
    };
    assert_eq!(world.judge(&four).modes[0].rule.mode, Mode::MaxDifference);
    assert_eq!(world.place(&four), Ok(names(&["N4"])));
    let all = ["N6", "N7", "N3", "N5", "N4"];
    assert_eq!(counts(&world, &all, 5), [vec![1; 5], vec![1, 2, 1, 1]]);
    for other in ["N2", "N8"] {
        assert!(!is_valid(
            &world,
            spread(Mode::Adaptive, &BOTH),
            &["N6", "N7", "N3", "N5", other],
            5
        ));
    }
}

#[test]
fn t11_configurations_1_and_2_are_quorum_safe_under_adaptive() {
    assert_eq!([1, 5].map(|more| mode(&configuration(more), 5)), [Mode::QuorumSafe; 2]);
    let counts = [1, 5].map(|more| count(&configuration(more), spread(Mode::Adaptive, &BOTH), 5));
    assert_eq!(counts, [6, 252]);
}

#[test]
fn the_example_clusters_have_as_many_valid_sets_as_the_table_says() {
    for world in [nine_machines(), nine_racks()] {
        let counts = [2, 3, 4, 5, 6, 7, 9].map(|n| count(&world, spread(Mode::Adaptive, &BOTH), n));
        assert_eq!(counts, [18, 6, 45, 45, 6, 18, 1]);
        let quorum_safe = [4, 7].map(|n| count(&world, spread(Mode::QuorumSafe, &BOTH), n));
        assert_eq!(quorum_safe, [90, 36]);
        let modes: Vec<u32> = (1..=9).filter(|&n| mode(&world, n) == Mode::QuorumSafe).collect();
        assert_eq!(modes, [3, 6, 9]);
    }
}

#[test]
fn e1_four_on_nine_machines_are_never_two_two_none() {
    let rules = [spread(Mode::Adaptive, &BOTH)];
    for set in nine_machines().sets(&rules, 4) {
        let hosts: Vec<&str> = set.iter().map(String::as_str).collect();
        for mut counts in counts(&nine_machines(), &hosts, 4) {
            counts.sort_unstable();
            assert_eq!(counts, [1, 1, 2]);
        }
    }
}

#[test]
fn e2_three_on_nine_racks_are_one_in_each_domain_and_safe() {
    let (world, rules) = (nine_racks(), [spread(Mode::Adaptive, &BOTH)]);
    let judged = world.judge(&workload(&[3], &rules));
    assert_eq!(
        judged.modes.iter().map(|mode| mode.limit).collect::<Vec<_>>(),
        [Some(1); 2]
    );
    for set in world.sets(&rules, 3) {
        let placed = world.replicas_on(&set.iter().map(String::as_str).collect::<Vec<_>>());
        let racks: BTreeSet<_> = placed
            .iter()
            .map(|at| world.cluster.dimensions[0].leaves[at.host as usize])
            .collect();
        assert_eq!(racks.len(), 3);
        let judged = world.judge(&Workload {
            placed: &placed,
            ..workload(&[3], &rules)
        });
        assert_eq!(judged.safety.is_safe, Some(true));
    }
}

#[test]
fn e3_machines_on_one_host_share_its_domain() {
    let hosts: Vec<[String; 2]> = (0..10)
        .map(|at| {
            [
                format!("{}-{}", at / 2, at % 2),
                format!("fd:/host{}/vm{}", at / 2, at % 2),
            ]
        })
        .collect();
    let hosts: Vec<(&str, [&str; 1])> = hosts
        .iter()
        .map(|[name, path]| (name.as_str(), [path.as_str()]))
        .collect();
    let hosts: Vec<(&str, &[&str])> = hosts.iter().map(|(name, paths)| (*name, &paths[..])).collect();
    let world = World::of(&hosts);
    let even = || spread(Mode::MaxDifference, &[Axis::Domain(0)]);
    assert_eq!([5, 6].map(|n| count(&world, even(), n)), [32, 80]);
}

#[test]
fn e9_siblings_are_compared_and_not_all_domains_of_a_level() {
    let world = World::of(&[
        ("a1", &["fd:/dc1/r0"]),
        ("a2", &["fd:/dc1/r0"]),
        ("a3", &["fd:/dc1/r0"]),
        ("b1", &["fd:/dc2/r0"]),
        ("b2", &["fd:/dc2/r1"]),
        ("b3", &["fd:/dc2/r2"]),
    ]);
    let even = || spread(Mode::MaxDifference, &[Axis::Domain(0)]);
    assert_eq!([2, 3, 4, 5, 6].map(|n| count(&world, even(), n)), [9, 18, 9, 6, 1]);
    for set in world.sets(&[even()], 4) {
        assert_eq!(set.iter().filter(|name| name.starts_with('a')).count(), 2);
    }
}

#[test]
fn e10_two_sites_are_granted_but_not_safe_and_strict_refuses_them() {
    let names: Vec<String> = (0..6).map(|at| format!("s{}{}", at / 3, at % 3)).collect();
    let paths: Vec<String> = (0..6).map(|at| format!("fd:/site{}", at / 3)).collect();
    let world = World::of_paths(&names, &paths);
    let axes = [Axis::Domain(0)];
    let rules = [spread(Mode::QuorumSafe, &axes)];
    let judged = world.judge(&workload(&[3], &rules));
    assert_eq!((judged.modes[0].rule.domains, judged.modes[0].limit), (2, Some(2)));
    assert_eq!(count(&world, spread(Mode::QuorumSafe, &axes), 3), 18);
    let chosen = world.place(&workload(&[3], &rules)).expect("there are 18 sets");
    let placed = world.replicas_on(&chosen.iter().map(String::as_str).collect::<Vec<_>>());
    let with_three = Workload {
        placed: &placed,
        ..workload(&[3], &rules)
    };
    assert_eq!(world.judge(&with_three).safety.is_safe, Some(false));
    assert_eq!(count(&world, strict(Mode::QuorumSafe, &axes), 3), 0);
}

#[test]
fn e11_four_on_three_domains_are_never_safe() {
    let (world, rules) = (nine_machines(), [spread(Mode::QuorumSafe, &BOTH)]);
    assert_eq!(world.judge(&workload(&[4], &rules)).modes[0].limit, Some(2));
    let sets = world.sets(&rules, 4);
    assert_eq!(sets.len(), 90);
    for set in sets {
        let placed = world.replicas_on(&set.iter().map(String::as_str).collect::<Vec<_>>());
        let judged = world.judge(&Workload {
            placed: &placed,
            ..workload(&[4], &rules)
        });
        assert_eq!(judged.safety.is_safe, Some(false));
    }
    assert_eq!(count(&world, strict(Mode::QuorumSafe, &BOTH), 4), 0);
}

#[test]
fn e13_one_each_admits_as_many_as_there_are_domains() {
    let world = nine_machines();
    assert_eq!([3, 4].map(|n| count(&world, spread(Mode::OneEach, &BOTH), n)), [6, 0]);
    let rules = [spread(Mode::OneEach, &BOTH)];
    let refusal = world
        .place(&workload(&[4], &rules))
        .expect_err("there are three domains")
        .refusal;
    let refusal = refusal.expect("a refusal has its reason");
    assert_eq!((refusal.missing, refusal.admitted, refusal.left), (4, 3, 9));
    assert_eq!(refusal.limits.len(), 6);
    assert!(
        refusal
            .limits
            .iter()
            .all(|limit| (limit.limit, limit.taken, limit.room) == (1, 0, 3))
    );
}

#[test]
fn e14_a_condition_changes_the_mode() {
    let rules = [spread(Mode::Adaptive, &BOTH)];
    let all: Vec<String> = (1..=9).map(|at| format!("vm{at}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let eight = nine_machines().only(&all[..8]);
    assert_eq!((mode(&eight, 3), eight.sets(&rules, 3).len()), (Mode::QuorumSafe, 4));
    assert_eq!(count(&eight, spread(Mode::Adaptive, &BOTH), 3), 4);
    let six = nine_machines().only(&all[..6]);
    let judged = six.judge(&workload(&[3], &rules));
    assert_eq!(
        (judged.modes[0].rule.mode, judged.modes[0].rule.domains),
        (Mode::MaxDifference, 2)
    );
    assert_eq!(count(&six, spread(Mode::Adaptive, &BOTH), 3), 6);
}
