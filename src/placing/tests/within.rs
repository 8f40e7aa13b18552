//! The rule `within`: figures, and random clusters against the oracle in each domain by itself.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::naive::{Key, Question};
use super::random_cases::{Case, any_case, any_crowd};
use super::worlds::{BOTH, World, atomic, spread, workload};
use crate::placing::{
    Affinity, AffinityKind, Axis, Broken, DomainId, Effort, Level, Members, Mode, PlacedReplica, Removed, Replica,
    Rule, Within, Workload,
};
use crate::tests::proptest_config;

/// Of each property.
const CASES: u32 = 500;
const FULL_CASES: u32 = 20_000;

fn config() -> ProptestConfig {
    proptest_config(CASES, FULL_CASES)
}

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
        let replicas: Vec<Replica> = placed
            .iter()
            .map(|replica| Replica {
                role: 0,
                host: Some(replica.host),
                lost: false,
            })
            .collect();
        let released = world.released(&workload(&[2], &rules), &replicas);
        assert_eq!(released.gone, [2, 3]);
    }
}

/// The domains of the rule: the paths of hosts, or each host, each with its hosts.
fn domains(world: &World, axis: Axis) -> Vec<BTreeSet<u32>> {
    let hosts = 0..world.names.len() as u32;
    let Axis::Domain(dimension) = axis else {
        return hosts.map(|host| [host].into()).collect();
    };
    let paths = &world.paths[dimension];
    let all: BTreeSet<&String> = paths.iter().flatten().collect();
    let inside = |domain: &String| {
        let is_inside = |host: &u32| {
            let path = paths[*host as usize].as_ref();
            path.is_some_and(|path| path == domain || path.starts_with(&format!("{domain}/")))
        };
        hosts.clone().filter(is_inside).collect()
    };
    all.into_iter().map(inside).collect()
}

fn count_in(domain: &BTreeSet<u32>, replicas: &[PlacedReplica]) -> usize {
    replicas.iter().filter(|replica| domain.contains(&replica.host)).count()
}

/// The case with only the hosts of a domain eligible.
fn only_in(case: &Case, domain: &BTreeSet<u32>) -> Case {
    let mut case = case.clone();
    for (host, eligible) in (0..).zip(&mut case.world.eligible) {
        eligible
            .iter_mut()
            .for_each(|is_eligible| *is_eligible &= domain.contains(&host));
    }
    case
}

/// The placements that the rule admits, each with its key. A workload of one needs no domain.
fn placements(case: &Case, rule: Within, number: u32) -> Vec<(Key, Vec<PlacedReplica>)> {
    let found = placements_in_domains(case, rule, number);
    let is_single = case.placed.is_empty() && case.workload().wanted.iter().sum::<u32>() <= 1;
    if !found.is_empty() || !is_single {
        return found;
    }
    let (workload, free) = (case.workload(), case.free());
    let question = Question {
        world: &case.world,
        workload: &workload,
        free: &free,
    };
    let all = question.placements(&case.missing(), number);
    all.into_iter().map(|new| (question.key(&new), new)).collect()
}

/// The placements of all domains that the rule admits, each with its key.
fn placements_in_domains(case: &Case, rule: Within, number: u32) -> Vec<(Key, Vec<PlacedReplica>)> {
    let all = domains(&case.world, rule.axis);
    let most = all
        .iter()
        .map(|domain| count_in(domain, &case.placed))
        .max()
        .unwrap_or(0);
    let is_hard = rule.level == Level::Hard;
    let mut found = Vec::new();
    for domain in all
        .iter()
        .filter(|domain| !is_hard || count_in(domain, &case.placed) == most)
    {
        let restricted = if is_hard { only_in(case, domain) } else { case.clone() };
        let (workload, free) = (restricted.workload(), restricted.free());
        let question = Question {
            world: &restricted.world,
            workload: &workload,
            free: &free,
        };
        for new in question.placements(&restricted.missing(), number) {
            let mut key = question.key(&new);
            let all_replicas = [restricted.placed.as_slice(), &new].concat();
            let outside = (all_replicas.len() - count_in(domain, &all_replicas)) as i64;
            match rule.level {
                Level::Hard => {}
                Level::Soft => key.soft += outside,
                Level::Prefer => key.prefer += outside,
            }
            found.push((key, new));
        }
    }
    found
}

fn equals_the_oracle(case: &Case, rule: Within, is_atomic: bool) -> Result<(), TestCaseError> {
    let effort = Effort {
        atomic: is_atomic,
        ..atomic()
    };
    let missing: u32 = case.missing().iter().sum();
    // Without a domain the rule is about no host.
    if missing == 0 || domains(&case.world, rule.axis).is_empty() {
        return Ok(());
    }
    let placed = case.world.placed(&case.workload(), &effort);
    prop_assert!(placed.is_exact);
    let number = placed.replicas.len() as u32;
    prop_assert!(!is_atomic || number == 0 || number == missing);
    let more = if is_atomic { missing } else { number + 1 };
    for more in more.max(number + 1)..=missing {
        let all = placements(case, rule, more);
        prop_assert!(
            all.is_empty(),
            "placed {number} of {missing}, but {:?} is admitted",
            all[0]
        );
    }
    if number == 0 {
        return Ok(());
    }
    let all = placements(case, rule, number);
    let best = all.iter().map(|(key, _)| key).min();
    let ours = all.iter().filter(|(_, new)| *new == placed.replicas);
    let ours = ours.map(|(key, _)| key).min();
    prop_assert!(ours.is_some(), "{:?} is not admitted", placed.replicas);
    prop_assert_eq!(ours, best, "{:?} is not the best of {}", placed.replicas, all.len());
    Ok(())
}

/// A judgement names the rule if the replicas are in several domains, and the spreads as broken inside the domain.
fn judgement_equals_the_oracle(case: &Case, rule: Within) -> Result<(), TestCaseError> {
    let workload = case.workload();
    let judged = case.world.judge(&workload);
    let all = domains(&case.world, rule.axis);
    let most = all
        .iter()
        .map(|domain| count_in(domain, &case.placed))
        .max()
        .unwrap_or(0);
    let is_broken = |at: usize| judged.violations.iter().any(|it| it.rule == Broken::Rule(at));
    let last = case.rules.len() - 1;
    let is_apart = case.placed.len() > 1 && most < case.placed.len();
    prop_assert_eq!(is_broken(last), is_apart, "{:?}", judged.violations);
    let fullest: Vec<&BTreeSet<u32>> = all
        .iter()
        .filter(|domain| count_in(domain, &case.placed) == most)
        .collect();
    // Of several domains the layer chooses one.
    if rule.level == Level::Hard && (most == 0 || fullest.len() > 1) {
        return Ok(());
    }
    let restricted = match rule.level {
        Level::Hard => only_in(case, fullest[0]),
        Level::Soft | Level::Prefer => case.clone(),
    };
    let none_stands = Workload {
        placed: &[],
        ..restricted.workload()
    };
    let question = Question {
        world: &restricted.world,
        workload: &none_stands,
        free: &[],
    };
    for (at, rule) in case.rules[..last].iter().enumerate() {
        prop_assert_eq!(is_broken(at), !question.keeps(rule, &case.placed), "{:?}", rule);
    }
    Ok(())
}

/// A case with a rule `within` at the end of the rules.
fn any_within(roles: usize, on_hosts: bool) -> impl Strategy<Value = (Case, Within)> {
    let level = prop_oneof![3 => Just(Level::Hard), 1 => Just(Level::Soft), 1 => Just(Level::Prefer)];
    let axis = prop_oneof![3 => Just(BOTH[0]), 2 => Just(BOTH[1]), 1 => Just(Axis::Host)];
    let few = any_case(roles, 2, on_hosts);
    let case = prop_oneof![3 => few, 1 => any_crowd(roles, 2)];
    (case, level, axis).prop_map(|(mut case, level, axis)| {
        let rule = Within { level, axis };
        case.rules.push(Rule::Within(rule));
        (case, rule)
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn found_p14_the_best_domain_is_chosen((case, rule) in any_within(1, false)) {
        equals_the_oracle(&case, rule, true)?;
    }

    #[test]
    fn found_p14_the_best_domain_of_several_roles_is_chosen((case, rule) in any_within(2, true)) {
        equals_the_oracle(&case, rule, true)?;
    }

    #[test]
    fn found_p14_without_atomic_the_domain_with_the_most_replicas_is_chosen((case, rule) in any_within(1, false)) {
        equals_the_oracle(&case, rule, false)?;
    }

    #[test]
    fn found_p14_a_judgement_equals_the_oracles((case, rule) in any_within(2, true)) {
        judgement_equals_the_oracle(&case, rule)?;
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
    let spread_too = [within(Level::Hard, ZONE), spread(Mode::MaxDifference, &[Axis::Host])];
    let effort = Effort {
        budget: 1_000_000,
        ..atomic()
    };
    let placed = world.placed(&workload(&[4], &spread_too), &effort);
    assert_eq!(placed.replicas.len(), 4);
    assert!(!placed.is_exact, "not all of 10,000 racks are compared");
}
