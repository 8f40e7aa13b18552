//! Random small clusters: the layer and the oracle must agree.
//!
//! [`CASES`] cases of each property, and [`FULL_CASES`] of the full size.

use proptest::collection::vec;
use proptest::prelude::*;

use super::naive::{Key, Question};
use super::random_cases::{Case, any_case, any_case_with_further_hosts, any_crowd, any_strict_case};
use super::worlds::{atomic, subsets};
use crate::placing::release::Released;
use crate::placing::{Broken, Effort, FurtherHost, PlacedReplica, Releasable, Rule, Workload};
use crate::tests::proptest_config;

/// Of each property.
const CASES: u32 = 500;
const FULL_CASES: u32 = 20_000;

fn config() -> ProptestConfig {
    proptest_config(CASES, FULL_CASES)
}

/// The placement is one of the oracle's placements, and the best.
fn agrees(case: &Case, new: &[PlacedReplica], number: u32) -> Result<(), TestCaseError> {
    let (workload, free) = (case.workload(), case.free(number));
    let question = Question {
        world: &case.world,
        workload: &workload,
        free: &free,
    };
    let all = question.placements(&case.missing(), number);
    prop_assert!(
        question.admits(new),
        "{new:?} is not admitted; {} placements are",
        all.len()
    );
    let best: Option<(Key, &Vec<PlacedReplica>)> = all
        .iter()
        .map(|new| (question.key(new), new))
        .min_by(|one, other| one.0.cmp(&other.0));
    let Some((key, other)) = best else {
        return Err(TestCaseError::fail("the oracle has no placement"));
    };
    prop_assert_eq!(question.key(new), key, "{:?} is worse than {:?}", new, other);
    Ok(())
}

fn none_is_better(case: &Case, number: u32) -> Result<(), TestCaseError> {
    let (workload, free) = (case.workload(), case.free(number));
    let question = Question {
        world: &case.world,
        workload: &workload,
        free: &free,
    };
    let all = question.placements(&case.missing(), number);
    prop_assert!(all.is_empty(), "refused {number}, but {:?} is admitted", all[0]);
    Ok(())
}

pub fn atomic_equals_the_oracle(case: &Case) -> Result<(), TestCaseError> {
    let placed = case.world.placed(&case.workload(), &atomic());
    prop_assert!(placed.is_exact);
    let missing: u32 = case.missing().iter().sum();
    match placed.refusal {
        None => agrees(case, &placed.replicas, missing),
        Some(_) => {
            prop_assert!(placed.replicas.is_empty());
            none_is_better(case, missing)
        }
    }
}

fn partial_equals_the_oracle(case: &Case) -> Result<(), TestCaseError> {
    let effort = Effort {
        atomic: false,
        ..atomic()
    };
    let placed = case.world.placed(&case.workload(), &effort);
    prop_assert!(placed.is_exact);
    let missing: u32 = case.missing().iter().sum();
    let number = placed.replicas.len() as u32;
    prop_assert_eq!(placed.unplaced.iter().sum::<u32>() + number, missing);
    for more in number + 1..=missing {
        none_is_better(case, more)?;
    }
    if number > 0 {
        agrees(case, &placed.replicas, number)
    } else {
        Ok(())
    }
}

/// A rule is reported as broken if and only if the oracle says so of the placed replicas.
pub fn judgement_equals_the_oracle(case: &Case) -> Result<(), TestCaseError> {
    let workload = case.workload();
    let mut alive = vec![false; case.placed.len()];
    for (replica, host) in workload.standing().hosts() {
        alive[replica] |= case.world.eligible[host as usize].iter().any(|any| *any);
    }
    let judged = case.world.judge_alive(&workload, &alive);
    let with_all = Question {
        world: &case.world,
        workload: &workload,
        free: &[],
    };
    let mut expected = with_all.safety(&alive);
    if !case.further.is_empty() {
        // Domains may share replicas then, and the layer adds the replicas of each.
        let pairs = judged.safety.survives.iter().zip(&expected.survives);
        for (found, fewest) in pairs {
            prop_assert!(found.failures <= fewest.failures, "{:?}, not {:?}", found, fewest);
        }
        expected.survives.clone_from(&judged.safety.survives);
    }
    prop_assert_eq!(&judged.safety, &expected, "alive are {:?}", alive);
    let none_stands = Workload {
        placed: &[],
        ..case.workload()
    };
    let question = Question {
        world: &case.world,
        workload: &none_stands,
        free: &[],
    };
    for (at, rule) in case.rules.iter().enumerate() {
        let is_broken = judged
            .violations
            .iter()
            .any(|violation| violation.rule == Broken::Rule(at));
        prop_assert_eq!(is_broken, !question.keeps(rule, &case.placed), "{:?}", rule);
    }
    let modes = case.rules.iter().enumerate().filter_map(|(at, rule)| match rule {
        Rule::Spread(spread) => Some((at, question.mode(spread))),
        Rule::Affinity(_) | Rule::Within(_) => None,
    });
    for (at, mode) in modes {
        prop_assert!(
            judged
                .modes
                .iter()
                .filter(|judged| judged.rule.rule == at)
                .all(|judged| judged.rule.mode == mode)
        );
    }
    Ok(())
}

/// The kept replicas keep all hard rules, if a choice of replicas does.
pub fn release_equals_the_oracle(case: &Case, fewer: &[u32]) -> Result<(), TestCaseError> {
    let replicas: Vec<Releasable> = case
        .placed
        .iter()
        .map(|placed| Releasable {
            role: placed.role,
            hosts: vec![placed.host],
            lost: false,
        })
        .collect();
    let stand = |role: usize| case.placed.iter().filter(|replica| replica.role == role).count() as u32;
    let wanted: Vec<u32> = fewer
        .iter()
        .enumerate()
        .map(|(role, fewer)| stand(role).saturating_sub(*fewer))
        .collect();
    let workload = Workload {
        wanted: &wanted,
        placed: &[],
        ..case.workload()
    };
    let Released { gone, is_exact } = case.world.released(&workload, &replicas);
    prop_assert!(is_exact);
    let kept_of = |bits: &[usize]| bits.iter().map(|&at| case.placed[at]).collect::<Vec<PlacedReplica>>();
    let counts_fit = |kept: &[PlacedReplica]| {
        wanted
            .iter()
            .enumerate()
            .all(|(role, number)| kept.iter().filter(|kept| kept.role == role).count() as u32 == *number)
    };
    let mut roomy = case.world.clone();
    roomy.offers.iter_mut().flatten().for_each(|offer| offer.0 = 1000);
    roomy.together = 1000;
    let hosts = 0..case.world.cluster.hosts;
    let free: Vec<bool> = hosts
        .map(|host| case.placed.iter().any(|replica| replica.host == host))
        .collect();
    let question = Question {
        world: &roomy,
        workload: &workload,
        free: &free,
    };
    let stays: Vec<usize> = (0..replicas.len()).filter(|at| !gone.contains(at)).collect();
    prop_assert!(
        counts_fit(&kept_of(&stays)),
        "{gone:?} go, and of each role {wanted:?} have to stay"
    );
    let all = (0..=replicas.len()).flat_map(|number| subsets(replicas.len(), number));
    let key = |kept: &[PlacedReplica]| {
        let key = question.key(kept);
        (key.soft, key.prefer, key.squares, key.is_stuck)
    };
    let valid = all
        .map(|bits| kept_of(&bits))
        .filter(|kept| counts_fit(kept) && question.admits(kept));
    if let Some(kept) = valid.min_by_key(|kept| key(kept)) {
        let stay = kept_of(&stays);
        prop_assert!(question.admits(&stay), "{gone:?} go, but {kept:?} can stay");
        prop_assert_eq!(key(&stay), key(&kept), "{:?} stay, and {:?} are better", stay, kept);
    }
    Ok(())
}

/// As [`release_equals_the_oracle`], for replicas on several hosts: the replicas that stay break the fewest hard rules.
fn release_on_several_hosts_keeps_rules(case: &Case, fewer: u32) -> Result<(), TestCaseError> {
    let hosts_of = |at: usize| {
        let further = case.further.iter().filter(move |further| further.replica == at);
        let first = std::iter::once(case.placed[at].host);
        first.chain(further.map(|further| further.host)).collect::<Vec<u32>>()
    };
    let replicas = case.placed.iter().enumerate().map(|(at, placed)| Releasable {
        role: placed.role,
        hosts: hosts_of(at),
        lost: false,
    });
    let replicas: Vec<Releasable> = replicas.collect();
    let wanted = [(replicas.len() as u32).saturating_sub(fewer)];
    let judged = |stay: &[usize]| {
        let placed: Vec<PlacedReplica> = stay.iter().map(|at| case.placed[*at]).collect();
        let further = stay.iter().enumerate().flat_map(|(replica, at)| {
            let further = hosts_of(*at).into_iter().skip(1);
            further.map(move |host| FurtherHost { replica, host })
        });
        let workload = Workload {
            wanted: &wanted,
            placed: &placed,
            further: &further.collect::<Vec<_>>(),
            ..case.workload()
        };
        case.world.judge(&workload).violations.len()
    };
    let Released { gone, .. } = case.world.released(
        &Workload {
            wanted: &wanted,
            ..case.workload()
        },
        &replicas,
    );
    let stay: Vec<usize> = (0..replicas.len()).filter(|at| !gone.contains(at)).collect();
    prop_assert_eq!(stay.len() as u32, wanted[0]);
    let valid = subsets(replicas.len(), stay.len())
        .into_iter()
        .find(|stay| judged(stay) == 0);
    if let Some(valid) = valid {
        prop_assert_eq!(judged(&stay), 0, "{:?} stay, and {:?} break no rule", stay, valid);
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_placement_is_granted_if_and_only_if_there_is_one_and_is_the_best(case in any_case(1, 2, false)) {
        atomic_equals_the_oracle(&case)?;
    }

    #[test]
    fn rules_on_hosts_and_in_three_dimensions_are_exact_too(case in any_case(1, 3, true)) {
        atomic_equals_the_oracle(&case)?;
    }

    #[test]
    fn a_strict_rule_is_exact_beside_replicas_in_domains_without_eligible_hosts(case in any_strict_case()) {
        atomic_equals_the_oracle(&case)?;
    }

    #[test]
    fn roles_are_placed_together(case in any_case(2, 2, false)) {
        atomic_equals_the_oracle(&case)?;
    }

    #[test]
    fn without_atomic_the_most_replicas_are_placed(case in any_case(1, 2, false)) {
        partial_equals_the_oracle(&case)?;
    }

    #[test]
    fn without_atomic_the_most_replicas_of_all_roles_are_placed(case in any_case(2, 1, true)) {
        partial_equals_the_oracle(&case)?;
    }

    #[test]
    fn a_judgement_equals_the_oracles(case in any_case(2, 3, true)) {
        judgement_equals_the_oracle(&case)?;
    }

    #[test]
    fn found_p4_a_judgement_of_replicas_on_several_hosts_equals_the_oracles(
        case in any_case_with_further_hosts(2, 3)
    ) {
        judgement_equals_the_oracle(&case)?;
    }

    #[test]
    fn found_p4_replicas_beside_replicas_on_several_hosts_equal_the_oracles(
        case in any_case_with_further_hosts(1, 2)
    ) {
        atomic_equals_the_oracle(&case)?;
    }

    #[test]
    fn found_p4_what_stays_of_replicas_on_several_hosts_is_valid_if_anything_is(
        case in any_case_with_further_hosts(1, 2), fewer in 1..3_u32
    ) {
        release_on_several_hosts_keeps_rules(&case, fewer)?;
    }

    #[test]
    fn what_stays_is_valid_if_anything_is(case in any_crowd(1, 2), fewer in vec(0..4_u32, 1)) {
        release_equals_the_oracle(&case, &fewer)?;
    }

    #[test]
    fn what_stays_of_two_roles_is_valid_if_anything_is(case in any_crowd(2, 2), fewer in vec(0..3_u32, 2)) {
        release_equals_the_oracle(&case, &fewer)?;
    }
}
