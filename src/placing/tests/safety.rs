//! Safe placements, refusals of strict rules, and hosts without a domain.

use super::figures::{count, names, nine_machines};
use super::worlds::{BOTH, World, atomic, spread, strict, workload};
use crate::placing::{Axis, Broken, Effort, Level, Mode, Removed, Rule, Safety, Spread, Workload};

#[test]
fn where_nothing_is_compared_safe_is_not_said_and_one_domain_is_not_safe() {
    let site = nine_machines().only(&["vm1", "vm2", "vm3"]);
    let placed = site.replicas_on(&["vm1", "vm2", "vm3"]);
    let safe = |rules: &[Rule]| {
        let judged = site.judge(&Workload {
            placed: &placed,
            ..workload(&[3], rules)
        });
        judged.safety.is_safe
    };
    assert_eq!(safe(&[]), None);
    let axes = [Axis::Domain(0)];
    assert_eq!(safe(&[spread(Mode::QuorumSafe, &axes)]), Some(false));
    assert_eq!(safe(&[spread(Mode::Adaptive, &BOTH)]), Some(false));
    assert_eq!(safe(&[spread(Mode::Adaptive, &[Axis::Domain(1)])]), Some(true));
    let rules = [strict(Mode::QuorumSafe, &axes)];
    let refused = site
        .place(&workload(&[3], &rules))
        .expect_err("all hosts are in one site");
    let limits = refused.refusal.expect("a refusal has its reason").limits;
    assert_eq!(
        limits.iter().map(|it| (it.limit, it.room)).collect::<Vec<_>>(),
        [(1, 3)]
    );
    assert_eq!(count(&site, spread(Mode::QuorumSafe, &axes), 3), 1);
}

#[test]
fn a_domain_that_is_above_two_limits_is_one_violation() {
    let world = nine_machines();
    let placed = world.replicas_on(&["vm1", "vm2", "vm3"]);
    let rules = [strict(Mode::MaxDifference, &[Axis::Domain(0)])];
    let judged = world.judge(&Workload {
        placed: &placed,
        ..workload(&[4], &rules)
    });
    let broken: Vec<_> = judged.violations.iter().map(|it| (it.count, it.limit)).collect();
    assert_eq!(broken, [(3, 1)]);
}

#[test]
fn a_majority_on_hosts_that_are_not_up_or_in_a_domain_without_eligible_hosts_is_not_safe() {
    let rules = [spread(Mode::Adaptive, &BOTH)];
    let world = nine_machines();
    let placed = world.replicas_on(&["vm1", "vm5", "vm9"]);
    let three = Workload {
        placed: &placed,
        ..workload(&[3], &rules)
    };
    let safe = [0, 1, 2].map(|down| {
        let alive = [down < 1, down < 2, true];
        let Safety {
            is_safe,
            is_quorum_lost,
            ..
        } = world.judge_alive(&three, &alive).safety;
        (is_safe, is_quorum_lost)
    });
    let expected = [(true, false), (false, false), (false, true)];
    assert_eq!(safe, expected.map(|(safe, lost)| (Some(safe), Some(lost))));
    let placed = world.replicas_on(&["vm1", "vm5", "vm4"]);
    let two_in_the_second_site = Workload {
        placed: &placed,
        ..workload(&[3], &rules)
    };
    let without = world.only(&["vm1", "vm7", "vm8", "vm9"]);
    assert_eq!(without.judge(&two_in_the_second_site).safety.is_safe, Some(false));
}

/// Two described hosts, and five without a domain.
pub fn mostly_undescribed() -> World {
    World::of(&[
        ("d1", &["fd:/a"]),
        ("d2", &["fd:/b"]),
        ("u1", &[""]),
        ("u2", &[""]),
        ("u3", &[""]),
        ("u4", &[""]),
        ("u5", &[""]),
    ])
}

#[test]
fn a_host_without_a_domain_does_not_escape_a_hard_rule() {
    let (world, axes) = (mostly_undescribed(), [Axis::Domain(0)]);
    for rule in [strict(Mode::OneEach, &axes), spread(Mode::Adaptive, &axes)] {
        let rules = [rule];
        let refused = world
            .place(&workload(&[5], &rules))
            .expect_err("two hosts have a domain");
        let removed = refused.refusal.expect("a refusal has its reason").removed;
        assert!(removed.contains(&(Removed::NoDomain(0), 5)), "{removed:?}");
        let placed = world.replicas_on(&["d1", "d2", "u1"]);
        let judged = world.judge(&Workload {
            placed: &placed,
            ..workload(&[3], &rules)
        });
        let out = judged.violations.iter().filter(|it| it.rule == Broken::NotEligible);
        assert_eq!(out.map(|it| it.replicas.clone()).collect::<Vec<_>>(), [[2]]);
        assert_eq!(judged.safety.is_safe, Some(false));
    }
    let rules = [spread(Mode::OneEach, &axes)];
    assert_eq!(world.place(&workload(&[2], &rules)), Ok(names(&["d1", "d2"])));
}

/// A single replica is not spread, so nothing is required of its host.
#[test]
fn found_p15_a_workload_of_one_needs_no_domain() {
    let (world, axes) = (mostly_undescribed().only(&["u1", "u2"]), [Axis::Domain(0)]);
    for rule in [
        spread(Mode::Adaptive, &axes),
        spread(Mode::OneEach, &axes),
        strict(Mode::QuorumSafe, &axes),
    ] {
        let rules = [rule];
        let chosen = world.place(&workload(&[1], &rules)).expect("no domain is needed");
        let placed = world.replicas_on(&chosen.iter().map(String::as_str).collect::<Vec<_>>());
        let judged = world.judge(&Workload {
            placed: &placed,
            ..workload(&[1], &rules)
        });
        assert_eq!((judged.violations, judged.safety.is_safe), (Vec::new(), None));
        assert!(world.place(&workload(&[2], &rules)).is_err());
    }
}

/// Beside a replica on a host without a domain a second replica would break the rule.
#[test]
fn found_p15_a_workload_of_one_is_placed_where_a_second_replica_has_a_place_too() {
    let (world, rules) = (mostly_undescribed(), [spread(Mode::Adaptive, &[Axis::Domain(0)])]);
    for seed in 0..20 {
        let effort = Effort { seed, ..atomic() };
        let first = world.placed(&workload(&[1], &rules), &effort).replicas;
        assert!(first[0].host < 2, "seed {seed}: {first:?}");
        let second = world.placed(
            &Workload {
                placed: &first,
                ..workload(&[2], &rules)
            },
            &effort,
        );
        assert_eq!(second.refusal, None, "seed {seed}");
    }
}

#[test]
fn under_a_rule_that_may_be_broken_a_host_without_a_domain_is_used_and_not_safe() {
    let world = mostly_undescribed();
    let Rule::Spread(one_each) = spread(Mode::OneEach, &[Axis::Domain(0)]) else {
        unreachable!()
    };
    let rules = [Rule::Spread(Spread {
        level: Level::Soft,
        ..one_each
    })];
    let chosen = world.place(&workload(&[5], &rules)).expect("a soft rule");
    let placed = world.replicas_on(&chosen.iter().map(String::as_str).collect::<Vec<_>>());
    let judged = world.judge(&Workload {
        placed: &placed,
        ..workload(&[5], &rules)
    });
    assert_eq!(judged.safety.is_safe, Some(false));
}

/// Three racks of a site, and an ineligible host of a second site.
fn racks_beside_another_site() -> World {
    let hosts: [(&str, &[&str]); 4] = [
        ("h1", &["fd:/dc1/r0"]),
        ("h2", &["fd:/dc1/r1"]),
        ("h3", &["fd:/dc1/r2"]),
        ("h4", &["fd:/dc2/r0"]),
    ];
    World::of(&hosts).only(&["h1", "h2", "h3"])
}

/// `safe` compares the sites, because a replica is in the second site. Its racks alone would do for `strict`.
#[test]
fn strict_refuses_a_majority_in_a_site_beside_replicas_on_hosts_that_are_not_eligible() {
    let (world, rules) = (
        racks_beside_another_site(),
        [strict(Mode::QuorumSafe, &[Axis::Domain(0)])],
    );
    let mut placed = world.replicas_on(&["h4"]);
    let refused = world.place(&Workload {
        placed: &placed,
        ..workload(&[3], &rules)
    });
    let refusal = refused.expect_err("two of three in one site").refusal;
    let limits = refusal.expect("a refusal has its reason").limits;
    let tree = &world.cluster.dimensions[0].tree;
    let limits: Vec<_> = limits
        .iter()
        .map(|it| (tree.path(it.domain), it.limit, it.room))
        .collect();
    assert!(limits.contains(&("fd:/dc1", 1, 3)), "{limits:?}");
    // Of five replicas two may be in the same site.
    placed.extend(world.replicas_on(&["h4", "h4"]));
    let granted = world.place(&Workload {
        placed: &placed,
        ..workload(&[5], &rules)
    });
    assert_eq!(granted.map(|hosts| hosts.len()), Ok(2));
}

/// A host beside racks is a domain of its own for `safe`.
#[test]
fn strict_refuses_a_majority_on_a_host_beside_the_domains() {
    let mut world = World::of(&[("h1", &["fd:/a"]), ("h2", &["fd:/a/r0"]), ("h3", &["fd:/a/r1"])]);
    world.offers[1][0].0 = 0;
    world.offers[2][0].0 = 0;
    let Rule::Spread(on_hosts) = spread(Mode::QuorumSafe, &[Axis::Host]) else {
        unreachable!()
    };
    let on_hosts = Rule::Spread(Spread {
        level: Level::Prefer,
        ..on_hosts
    });
    let rules = [strict(Mode::QuorumSafe, &[Axis::Domain(0)]), on_hosts];
    assert!(world.place(&workload(&[3], &rules)).is_err());
    world.offers[1][0].0 = 1;
    world.offers[2][0].0 = 1;
    assert_eq!(world.place(&workload(&[3], &rules)), Ok(names(&["h1", "h2", "h3"])));
}

/// Places A11: the limit depends on the number of domains, and not on their room.
#[test]
fn found_p11_room_does_not_raise_the_limit_of_quorum_safe() {
    let names: Vec<String> = (0..12).map(|at| format!("h{at}")).collect();
    let zones = (0..12).map(|at: usize| format!("fd:/z{}", at.saturating_sub(9)));
    let world = World::of_paths(&names, &zones.collect::<Vec<_>>());
    let rules = [spread(Mode::QuorumSafe, &[Axis::Domain(0)])];
    for (n, limit, is_granted) in [(4, 2, true), (5, 2, false), (6, 2, false), (7, 3, false)] {
        let judged = world.judge(&workload(&[n], &rules));
        assert_eq!(
            (judged.modes[0].rule.domains, judged.modes[0].limit),
            (3, Some(limit)),
            "n = {n}"
        );
        assert_eq!(world.place(&workload(&[n], &rules)).is_ok(), is_granted, "n = {n}");
    }
}
