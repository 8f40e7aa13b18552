//! The failures that take the majority of a workload, and workloads without a majority.

use super::figures::nine_machines;
use super::safety::mostly_undescribed;
use super::worlds::{BOTH, World, spread, strict, workload};
use crate::placing::safety::Survives;
use crate::placing::{Axis, Mode, Safety, Workload};

/// Two hosts in each of five racks.
fn five_racks() -> World {
    let names: Vec<String> = (0..10).map(|at| format!("h{}{}", at / 2, at % 2)).collect();
    let paths: Vec<String> = (0..10).map(|at| format!("r{}", at / 2)).collect();
    World::of_paths(&names, &paths)
}

fn safety_of(world: &World, hosts: &[&str], alive: &[bool]) -> Safety {
    let placed = world.replicas_on(hosts);
    let rules = [spread(Mode::QuorumSafe, &[Axis::Domain(0)])];
    let five = Workload {
        placed: &placed,
        ..workload(&[5], &rules)
    };
    world.judge_alive(&five, alive).safety
}

#[test]
fn found_p9_lost_hosts_and_a_domain_add_up() {
    let world = five_racks();
    let hosts = ["h00", "h01", "h10", "h11", "h20"];
    let lost = safety_of(&world, &hosts, &[false, false, true, true, true]);
    assert_eq!((lost.is_safe, lost.is_quorum_lost), (Some(false), Some(false)));
    let one_each = ["h00", "h10", "h20", "h30", "h40"];
    for (down, expected) in [
        (0, (true, false)),
        (1, (true, false)),
        (2, (false, false)),
        (3, (false, true)),
    ] {
        let alive: Vec<bool> = (0..5).map(|at| at >= down).collect();
        let found = safety_of(&world, &one_each, &alive);
        let expected = (Some(expected.0), Some(expected.1));
        assert_eq!((found.is_safe, found.is_quorum_lost), expected, "{down} are down");
    }
}

#[test]
fn found_p9_a_replica_without_a_place_is_not_alive() {
    let world = five_racks();
    for (hosts, expected) in [
        (&["h00", "h10", "h20", "h30"][..], (true, false)),
        (&["h00", "h10", "h20"][..], (false, false)),
        (&["h00", "h10"][..], (false, true)),
        (&[][..], (false, true)),
    ] {
        let found = safety_of(&world, hosts, &vec![true; hosts.len()]);
        let expected = (Some(expected.0), Some(expected.1));
        assert_eq!((found.is_safe, found.is_quorum_lost), expected, "{hosts:?}");
    }
}

#[test]
fn found_p9_without_a_quorum_or_a_rule_nothing_is_said_of_domains() {
    let world = five_racks();
    let placed = world.replicas_on(&["h00"]);
    let rules = [spread(Mode::QuorumSafe, &[Axis::Domain(0)])];
    let none = Workload {
        quorum: false,
        placed: &placed,
        ..workload(&[3], &rules)
    };
    assert_eq!(world.judge(&none).safety, Safety::default());
    let expected = |is_quorum_lost| Safety {
        is_quorum_lost: Some(is_quorum_lost),
        ..Safety::default()
    };
    let without_rules = Workload {
        placed: &placed,
        ..workload(&[3], &[])
    };
    assert_eq!(world.judge(&without_rules).safety, expected(true));
    let single = Workload {
        placed: &placed,
        ..workload(&[1], &rules)
    };
    assert_eq!(world.judge(&single).safety, expected(false));
}

/// Places A12: two failures against three.
#[test]
fn found_p18_the_fewest_failures_that_take_the_majority() {
    let world = five_racks();
    let survives = |hosts: &[&str], alive: &[bool]| {
        let survives = safety_of(&world, hosts, alive).survives;
        assert_eq!(survives.len(), 1);
        (survives[0].domains, survives[0].failures)
    };
    let all = [true; 5];
    assert_eq!(survives(&["h00", "h01", "h10", "h20", "h30"], &all), (Some(2), 2));
    assert_eq!(survives(&["h00", "h10", "h20", "h30", "h40"], &all), (Some(3), 3));
    let one_down = [true, true, true, true, false];
    assert_eq!(survives(&["h00", "h10", "h20", "h30", "h40"], &one_down), (Some(2), 2));
    assert_eq!(survives(&["h00", "h10"], &[true; 2]), (Some(0), 0));
    assert_eq!(survives(&["h00", "h01", "h10"], &[true; 3]), (Some(1), 1));
}

/// Without a domain a replica fails alone, or with any domain.
#[test]
fn found_p18_domains_alone_may_not_take_the_majority() {
    let (world, axes) = (mostly_undescribed(), [Axis::Domain(0)]);
    let placed = world.replicas_on(&["d1", "d2", "u1", "u2", "u3", "u4", "u5"]);
    let rules = [spread(Mode::QuorumSafe, &axes)];
    let judged = world.judge(&Workload {
        placed: &placed,
        ..workload(&[7], &rules)
    });
    let expected = Survives {
        axis: axes[0],
        domains: None,
        failures: 4,
    };
    assert_eq!(judged.safety.survives, [expected]);
    assert_eq!(judged.safety.is_safe, Some(false));
}

/// Places A13: a workload without a quorum, such as a stateless one, has no majority to lose.
#[test]
fn found_p17_a13_without_a_quorum_adaptive_is_alike_safe_is_null_and_strict_refuses_nothing() {
    let world = nine_machines();
    for n in 1..=9 {
        let (wanted, rules) = ([n], [spread(Mode::Adaptive, &BOTH)]);
        let with = workload(&wanted, &rules);
        let without = Workload { quorum: false, ..with };
        let [alike, other] = [with, without].map(|workload| world.judge(&workload).modes);
        assert_eq!(alike, other, "n = {n}");
        assert_eq!(world.place(&with), world.place(&without), "n = {n}");
    }
    let two_sites = nine_machines().only(&["vm1", "vm2", "vm4", "vm5"]);
    let axes = [Axis::Domain(0)];
    for mode in [Mode::QuorumSafe, Mode::MaxDifference, Mode::Adaptive] {
        let (plain, strict) = ([spread(mode, &axes)], [strict(mode, &axes)]);
        let without = |rules| Workload {
            quorum: false,
            ..workload(&[3], rules)
        };
        assert!(two_sites.place(&workload(&[3], &strict)).is_err(), "{mode:?}");
        let chosen = two_sites.place(&without(&strict)).expect("strict refuses nothing");
        assert_eq!(two_sites.place(&without(&plain)), Ok(chosen.clone()), "{mode:?}");
        let placed = two_sites.replicas_on(&chosen.iter().map(String::as_str).collect::<Vec<_>>());
        for rules in [&plain, &strict] {
            let lost = Workload {
                placed: &placed,
                ..without(rules)
            };
            let judged = two_sites.judge_alive(&lost, &[false; 3]);
            assert_eq!(
                (judged.safety.is_safe, judged.violations),
                (None, Vec::new()),
                "{mode:?}"
            );
        }
    }
}
