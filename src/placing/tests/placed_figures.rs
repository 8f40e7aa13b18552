//! Tables of published systems with present replicas: placing one by one, lost domains, scaling down.

use std::collections::BTreeSet;

use super::figures::{configuration, nine_machines};
use super::worlds::{BOTH, World, atomic, spread, workload};
use crate::placing::{
    Affinity, AffinityKind, Axis, Broken, DomainId, Effort, Level, Members, Mode, PlacedReplica, Releasable, Removed,
    Rule, Spread, Workload,
};

fn with<'a>(placed: &'a [PlacedReplica], wanted: &'a [u32], rules: &'a [Rule]) -> Workload<'a> {
    Workload {
        placed,
        ..workload(wanted, rules)
    }
}

#[test]
fn e4_seven_hosts_dealt_to_five_domains_use_the_heavy_ones_no_more_than_others() {
    let paths: Vec<String> = (0..7).map(|at| format!("fd:/{}", at % 5)).collect();
    let names: Vec<String> = (0..7).map(|at| format!("h{at}")).collect();
    let world = World::of_paths(&names, &paths);
    let rules = [spread(Mode::MaxDifference, &[Axis::Domain(0)])];
    assert_eq!(world.sets(&rules, 5).len(), 4);
    let chosen = world.place(&workload(&[5], &rules)).expect("one in each domain");
    assert!(!(chosen.contains("h0") && chosen.contains("h5")));
}

#[test]
fn e8_there_is_no_fifth_place_beside_a_mix_and_one_by_one_never_mixes() {
    let (world, rules) = (configuration(5), [spread(Mode::MaxDifference, &BOTH)]);
    let mixed = world.replicas_on(&["N1", "N7", "N8", "N9"]);
    assert!(world.judge(&with(&mixed, &[4], &rules)).violations.is_empty());
    assert!(world.place(&with(&mixed, &[5], &rules)).is_err());
    for seed in 0..50 {
        let mut placed: Vec<PlacedReplica> = Vec::new();
        while placed.len() < 5 {
            let answer = world.placed(&with(&placed, &[5], &rules), &Effort { seed, ..atomic() });
            let first = answer.replicas[(seed as usize) % answer.replicas.len()];
            placed.push(first);
        }
        let new = placed.iter().filter(|replica| replica.host >= 5).count();
        assert!(new == 0 || new == 5, "seed {seed}: {placed:?}");
    }
}

#[test]
fn e12_when_two_sites_are_lost_the_third_takes_all_and_is_too_full_when_they_return() {
    let rules = [spread(Mode::Adaptive, &BOTH)];
    let lost = nine_machines().only(&["vm1", "vm2", "vm3"]);
    let placed = lost.replicas_on(&["vm1"]);
    let one = with(&placed, &[3], &rules);
    assert_eq!(
        lost.judge(&one)
            .modes
            .iter()
            .map(|mode| mode.rule.domains)
            .collect::<Vec<_>>(),
        [0, 3]
    );
    let two = BTreeSet::from(["vm2".to_owned(), "vm3".to_owned()]);
    assert_eq!(lost.place(&one), Ok(two));
    let back = nine_machines();
    let placed = back.replicas_on(&["vm1", "vm2", "vm3"]);
    let judged = back.judge(&with(&placed, &[3], &rules));
    let [violation] = &judged.violations[..] else {
        panic!("one violation, not {:?}", judged.violations);
    };
    assert_eq!((violation.rule, violation.axis), (Broken::Rule(0), Axis::Domain(0)));
    assert_eq!(
        (violation.count, violation.limit, &violation.replicas[..]),
        (3, 1, &[0, 1, 2][..])
    );
    assert_eq!(back.cluster.dimensions[0].tree.path(violation.domain), "fd:/dc1");
    assert_eq!(judged.safety.is_safe, Some(false));
}

#[test]
fn a_domain_above_its_limit_keeps_what_it_has_and_gets_nothing_new() {
    let world = nine_machines();
    let rules = [spread(Mode::MaxDifference, &[Axis::Domain(0)])];
    let placed = world.replicas_on(&["vm1", "vm2", "vm3"]);
    for (n, expected) in [(4, vec![0, 1]), (5, vec![1, 1]), (6, vec![1, 2]), (7, vec![2, 2])] {
        let answer = world.placed(&with(&placed, &[n], &rules), &atomic());
        let mut counts = [0, 0, 0];
        answer
            .replicas
            .iter()
            .for_each(|replica| counts[replica.host as usize / 3] += 1);
        counts.sort_unstable();
        assert_eq!((counts[0], &counts[1..]), (0, &expected[..]), "n = {n}");
    }
}

#[test]
fn from_the_layout_of_five_no_four_are_valid_and_the_best_ones_stay() {
    let (world, rules) = (configuration(3), [spread(Mode::Adaptive, &BOTH)]);
    let replicas = ["N1", "N6", "N7", "N3", "N5"].map(|name| Releasable {
        role: 0,
        hosts: vec![world.host(name)],
        lost: false,
    });
    let gone = world.released(&workload(&[4], &rules), &replicas).gone;
    assert_eq!(gone.len(), 1);
    let rest: Vec<PlacedReplica> = (0..5)
        .filter(|at| !gone.contains(at))
        .map(|at| PlacedReplica {
            role: 0,
            host: replicas[at].hosts[0],
        })
        .collect();
    let amount = |placed: &[PlacedReplica]| world.judge(&with(placed, &[4], &rules)).violations.len();
    let least = (0..5).map(|without| {
        let rest = (0..5).filter(|at| *at != without).map(|at| replicas[at].hosts[0]);
        amount(&rest.map(|host| PlacedReplica { role: 0, host }).collect::<Vec<_>>())
    });
    assert_eq!(Some(amount(&rest)), least.min());
}

#[test]
fn the_order_in_which_replicas_go() {
    let world = nine_machines().only(&["vm1", "vm2", "vm3", "vm4", "vm5", "vm6", "vm7", "vm9"]);
    let at = |name: &str, lost: bool| Releasable {
        role: 0,
        hosts: vec![world.host(name)],
        lost,
    };
    let nowhere = Releasable {
        role: 0,
        hosts: Vec::new(),
        lost: false,
    };
    // vm8 is not eligible; vm4 is lost; vm2 shares its site with vm1.
    let replicas = [
        at("vm1", false),
        nowhere,
        at("vm8", false),
        at("vm4", true),
        at("vm2", false),
        at("vm6", false),
    ];
    let rules = [spread(Mode::OneEach, &[Axis::Domain(0)])];
    let gone = |n: u32| world.released(&workload(&[n], &rules), &replicas).gone;
    assert_eq!(gone(6), Vec::<usize>::new());
    assert_eq!(gone(5), [1]);
    assert_eq!(gone(4), [1, 3]);
    assert_eq!(gone(3), [1, 2, 3]);
    assert_eq!(gone(2), [1, 2, 3, 4]);
    assert_eq!(gone(1), [1, 2, 3, 4, 5]);
    assert_eq!(gone(0), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn without_atomic_as_many_as_fit_are_placed_and_the_rest_is_explained() {
    let mut world = nine_machines();
    for host in 3..9 {
        world.offers[host][0].0 = 0;
    }
    let rules = [spread(Mode::MaxDifference, &[Axis::Domain(0)])];
    let effort = Effort {
        atomic: false,
        ..atomic()
    };
    let placed = world.placed(&workload(&[5], &rules), &effort);
    assert_eq!((placed.replicas.len(), &placed.unplaced[..]), (1, &[4][..]));
    let refusal = placed.refusal.expect("four have no place");
    assert_eq!(refusal.removed, [(Removed::NoRoom, 6)]);
    assert_eq!(refusal.named, [(Removed::NoRoom, (3..9).collect())]);
    assert_eq!((refusal.left, refusal.missing, refusal.admitted), (3, 5, 2));
}

#[test]
fn affinity_rules_keep_away_from_members_and_bring_together() {
    let world = nine_machines();
    let site = |name: &str| world.cluster.dimensions[0].tree.find(name).expect("a site");
    let affinity = |level, kind, domains: Vec<DomainId>| {
        Rule::Affinity(Affinity {
            level,
            kind,
            members: Members::Domains { dimension: 0, domains },
        })
    };
    let sites = vec![site("fd:/dc1"), site("fd:/dc2")];
    let apart = [affinity(Level::Hard, AffinityKind::AntiAffinity, sites.clone())];
    let dc3 = || (7..=9).map(|at| format!("vm{at}")).collect();
    assert_eq!(world.place(&workload(&[3], &apart)), Ok(dc3()));
    let refusal = world
        .place(&workload(&[4], &apart))
        .expect_err("three hosts are left")
        .refusal;
    let refusal = refusal.expect("a refusal has its reason");
    assert_eq!(refusal.removed, [(Removed::Affinity(0), 6)]);
    let together = [affinity(Level::Hard, AffinityKind::Affinity, vec![site("fd:/dc3")])];
    assert_eq!(world.place(&workload(&[3], &together)), Ok(dc3()));
    let soft = [affinity(Level::Soft, AffinityKind::AntiAffinity, sites)];
    let four = world.place(&workload(&[4], &soft)).expect("a soft rule gives way");
    assert!(dc3().is_subset(&four));
    let placed = world.replicas_on(&["vm1", "vm4", "vm7"]);
    let judged = world.judge(&with(&placed, &[3], &soft));
    let at: Vec<(DomainId, u32)> = judged
        .violations
        .iter()
        .map(|broken| (broken.domain, broken.count))
        .collect();
    assert_eq!(at, [(site("fd:/dc1"), 1), (site("fd:/dc2"), 1)]);
}

#[test]
fn a_soft_spread_gives_way_as_little_as_it_can() {
    let mut world = nine_machines();
    for host in 6..9 {
        world.offers[host][0].0 = 0;
    }
    let rule = |level| {
        [Rule::Spread(Spread {
            level,
            mode: Mode::MaxDifference,
            axes: vec![Axis::Domain(0)],
            strict: false,
        })]
    };
    assert!(world.place(&workload(&[4], &rule(Level::Hard))).is_err());
    for level in [Level::Soft, Level::Prefer] {
        let chosen = world
            .place(&workload(&[4], &rule(level)))
            .expect("the rule may be broken");
        let first = chosen
            .iter()
            .filter(|name| ["vm1", "vm2", "vm3"].contains(&name.as_str()))
            .count();
        assert_eq!(first, 2, "{chosen:?}");
    }
}

#[test]
fn without_a_rule_on_hosts_a_host_takes_one_replica_and_with_one_as_many_as_it_says() {
    let world = World::of(&[("h1", &[]), ("h2", &[])]);
    assert!(world.place(&workload(&[3], &[])).is_err());
    let even = [spread(Mode::MaxDifference, &[Axis::Host])];
    let placed = world.placed(&workload(&[5], &even), &atomic());
    let on_first = placed.replicas.iter().filter(|replica| replica.host == 0).count();
    assert!(placed.replicas.len() == 5 && (2..=3).contains(&on_first), "{placed:?}");
    let one_each = [spread(Mode::OneEach, &[Axis::Host])];
    assert!(world.place(&workload(&[2], &one_each)).is_ok());
    assert!(world.place(&workload(&[3], &one_each)).is_err());
    let placed = world.replicas_on(&["h1", "h1"]);
    let judged = world.judge(&with(&placed, &[2], &[]));
    assert_eq!(
        judged.violations.iter().map(|broken| broken.rule).collect::<Vec<_>>(),
        [Broken::OneAHost]
    );
}

#[test]
fn e6_while_one_of_ten_domains_is_down_the_others_need_room_for_twelve_each() {
    for (room, granted) in [(11, false), (12, true)] {
        let names: Vec<String> = (0..9).map(|at| format!("UD{at}")).collect();
        let paths: Vec<[&str; 1]> = names.iter().map(|name| [name.as_str()]).collect();
        let hosts: Vec<(&str, &[&str])> = names
            .iter()
            .zip(&paths)
            .map(|(name, path)| (name.as_str(), &path[..]))
            .collect();
        let mut world = World::of(&hosts);
        world.offers.iter_mut().for_each(|offers| offers[0].0 = room);
        let rules = [spread(Mode::QuorumSafe, &[Axis::Host])];
        let placed = world.placed(&workload(&[100], &rules), &atomic());
        assert_eq!(placed.refusal.is_none(), granted);
    }
}

#[test]
fn a_spent_budget_is_said_and_is_no_proof() {
    // Each two hosts share a domain. Neither a single dimension nor two dimensions show this fact.
    let world = World::of(&[
        ("000", &["0", "0", "0"]),
        ("110", &["1", "1", "0"]),
        ("011", &["0", "1", "1"]),
        ("101", &["1", "0", "1"]),
    ]);
    let rules = [spread(
        Mode::OneEach,
        &[Axis::Domain(0), Axis::Domain(1), Axis::Domain(2)],
    )];
    let is_exact = |budget| {
        let placed = world.placed(&workload(&[2], &rules), &Effort { budget, ..atomic() });
        assert!(placed.replicas.is_empty() && placed.refusal.is_some());
        placed.is_exact
    };
    assert!(is_exact(Effort::BUDGET));
    assert!(!is_exact(0));
}

#[test]
fn without_atomic_a_spent_budget_places_no_fewer_replicas() {
    // The first role has no host. The flow over cells sends all twelve replicas, and six to eight are tried.
    let names: Vec<String> = (0..20).map(|at| at.to_string()).collect();
    let hosts: Vec<(&str, &[&str])> = names.iter().map(|name| (name.as_str(), &[][..])).collect();
    let mut world = World::of(&hosts);
    world.eligible.fill(vec![false, true]);
    world.offers.fill(vec![(0, 0, 0), (1, 0, 0)]);
    for budget in [0, Effort::BUDGET] {
        let effort = Effort {
            atomic: false,
            budget,
            ..atomic()
        };
        let placed = world.placed(&workload(&[5, 7], &[]), &effort);
        assert_eq!(
            (placed.replicas.len(), placed.unplaced),
            (7, vec![5, 0]),
            "budget {budget}"
        );
    }
}

#[test]
fn more_places_than_can_be_listed_are_said_if_they_matter() {
    // 2,200 hosts with 499 places each are more than a million. All replicas go to the cheapest hosts.
    let names: Vec<String> = (0..2200).map(|at| at.to_string()).collect();
    let hosts: Vec<(&str, &[&str])> = names.iter().map(|name| (name.as_str(), &[][..])).collect();
    let mut world = World::of(&hosts);
    (0..)
        .zip(&mut world.offers)
        .for_each(|(score, offers)| offers[0].2 = score);
    let rules = [spread(Mode::QuorumSafe, &[Axis::Host])];
    let most_and_is_exact = |world: &World| {
        let placed = world.placed(&workload(&[1000], &rules), &atomic());
        let most = placed
            .replicas
            .chunk_by(|one, other| one.host == other.host)
            .map(<[PlacedReplica]>::len)
            .max();
        (placed.replicas.len(), most, placed.is_exact)
    };
    let (number, most, is_exact) = most_and_is_exact(&world);
    assert_eq!((number, is_exact), (1000, false));
    assert!(most <= Some(499), "{most:?}");
    world.offers.iter_mut().for_each(|offers| offers[0].0 = 400);
    assert_eq!(most_and_is_exact(&world), (1000, Some(400), true));
}
