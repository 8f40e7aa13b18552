//! The rule `within` on random clusters, against the oracle in each domain by itself.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::naive::{Key, Question};
use super::random_cases::{Case, any_case, any_crowd};
use super::worlds::{BOTH, World, atomic};
use crate::placing::{Axis, Broken, Effort, Level, PlacedReplica, Rule, Within, Workload};
use crate::tests::proptest_config;

/// Of each property.
const CASES: u32 = 500;
const FULL_CASES: u32 = 20_000;
/// A search for several roles may spend its budget on one case in this number.
const CASES_OF_INEXACT: u32 = 10_000;

fn config() -> ProptestConfig {
    let config = proptest_config(CASES, FULL_CASES);
    ProptestConfig {
        max_global_rejects: config.cases / CASES_OF_INEXACT,
        ..config
    }
}

/// The domains of the rule, each as the set of its hosts: the paths of hosts, or each host.
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

/// The greatest number of placed replicas in a domain.
fn most_placed(case: &Case, domains: &[BTreeSet<u32>]) -> usize {
    let counts = domains.iter().map(|domain| count_in(domain, &case.placed));
    counts.max().unwrap_or(0)
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

/// The admitted placements, each with its key. A workload with a single replica needs no domain.
fn placements(case: &Case, rule: Within, number: u32) -> Vec<(Key, Vec<PlacedReplica>)> {
    let found = placements_in_domains(case, rule, number);
    let is_single = case.placed.is_empty() && case.workload().wanted.iter().sum::<u32>() <= 1;
    if !found.is_empty() || !is_single {
        return found;
    }
    let (workload, free) = (case.workload(), case.free(number));
    let question = Question {
        world: &case.world,
        workload: &workload,
        free: &free,
    };
    let all = question.placements(&case.missing(), number);
    all.into_iter().map(|new| (question.key(&new), new)).collect()
}

/// The admitted placements in all domains of the rule, each with its key.
fn placements_in_domains(case: &Case, rule: Within, number: u32) -> Vec<(Key, Vec<PlacedReplica>)> {
    let all = domains(&case.world, rule.axis);
    let most = most_placed(case, &all);
    let is_hard = rule.level == Level::Hard;
    let mut found = Vec::new();
    for domain in all
        .iter()
        .filter(|domain| !is_hard || count_in(domain, &case.placed) == most)
    {
        let restricted = if is_hard { only_in(case, domain) } else { case.clone() };
        let (workload, free) = (restricted.workload(), restricted.free(number));
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
    let number = placed.replicas.len() as u32;
    prop_assert!(!is_atomic || number == 0 || number == missing);
    if !placed.is_exact {
        prop_assert!(case.wanted.len() > 1);
        let is_admitted = || {
            placements(case, rule, number)
                .iter()
                .any(|(_, new)| *new == placed.replicas)
        };
        prop_assert!(number == 0 || is_admitted(), "{:?} is not admitted", placed.replicas);
        return Err(TestCaseError::reject("the search spent its budget"));
    }
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
    let most = most_placed(case, &all);
    let is_broken = |at: usize| judged.violations.iter().any(|it| it.rule == Broken::Rule(at));
    let last = case.rules.len() - 1;
    let is_apart = case.placed.len() > 1 && most < case.placed.len();
    prop_assert_eq!(is_broken(last), is_apart, "{:?}", judged.violations);
    let fullest: Vec<&BTreeSet<u32>> = all
        .iter()
        .filter(|domain| count_in(domain, &case.placed) == most)
        .collect();
    // Of several fullest domains the layer chooses a domain.
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
