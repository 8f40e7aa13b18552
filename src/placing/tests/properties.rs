//! Random small clusters: the layer and the oracle must agree.
//!
//! [`CASES`] cases of each property with a fixed seed, and [`FULL_CASES`] with `PLACET_TEST_SIZE=full`. `PLACET_CASES` sets
//! another number, `PLACET_SEED` another seed. A case that ever differed becomes a named test in another file.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::naive::{Key, Question};
use super::worlds::{ATOMIC, World, subsets};
use crate::placing::{
    Axis, Broken, DomainId, Effort, Level, Members, Mode, Near, NearKind, Proof, Replica, Rule, Spread, Standing,
    Workload, judge, place, release,
};

/// Of each property.
const CASES: u32 = 500;
const FULL_CASES: u32 = 20_000;
const MAX_HOSTS: usize = 10;
const MAX_REPLICAS: u32 = 6;

fn config() -> ProptestConfig {
    let asked = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let is_full = std::env::var("PLACET_TEST_SIZE").is_ok_and(|size| size == "full");
    let usual = if is_full { FULL_CASES } else { CASES };
    ProptestConfig {
        cases: asked("PLACET_CASES").map_or(usual, |cases| cases as u32),
        rng_seed: RngSeed::Fixed(asked("PLACET_SEED").unwrap_or(5)),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A world with a workload.
#[derive(Clone, Debug)]
struct Case {
    world: World,
    wanted: Vec<u32>,
    rules: Vec<Rule>,
    standing: Vec<Standing>,
}

impl Case {
    fn workload(&self) -> Workload<'_> {
        Workload {
            wanted: &self.wanted,
            rules: &self.rules,
            quorum: true,
            standing: &self.standing,
        }
    }

    fn missing(&self) -> Vec<u32> {
        let mut missing = self.wanted.clone();
        for replica in &self.standing {
            missing[replica.role] = missing[replica.role].saturating_sub(1);
        }
        missing
    }

    /// Hosts that can take a new replica, if nothing but the host itself is judged.
    fn free(&self) -> Vec<bool> {
        let missing = self.missing();
        let is_about_hosts = |rule: &&Rule| match rule {
            Rule::Near(_) => true,
            Rule::Spread(spread) => spread.axes.contains(&Axis::Host),
        };
        let about_hosts = self
            .rules
            .iter()
            .filter(is_about_hosts)
            .cloned()
            .map(|rule| match rule {
                Rule::Spread(spread) => Rule::Spread(Spread {
                    level: Level::Soft,
                    ..spread
                }),
                near => near,
            });
        let about_hosts: Vec<Rule> = about_hosts.collect();
        let alone = Workload {
            rules: &about_hosts,
            ..self.workload()
        };
        let question = Question {
            world: &self.world,
            workload: &alone,
            free: &[],
        };
        let takes = |role: usize, host: u32| missing[role] > 0 && question.admits(&[Standing { role, host }]);
        let hosts = 0..self.world.names.len() as u32;
        hosts
            .map(|host| (0..missing.len()).any(|role| takes(role, host)))
            .collect()
    }
}

fn any_level() -> impl Strategy<Value = Level> {
    prop_oneof![4 => Just(Level::Hard), 1 => Just(Level::Soft), 1 => Just(Level::Prefer)]
}

fn any_mode() -> impl Strategy<Value = Mode> {
    prop_oneof![
        3 => Just(Mode::MaxDifference),
        2 => Just(Mode::QuorumSafe),
        3 => Just(Mode::Adaptive),
        1 => Just(Mode::OneEach),
    ]
}

/// A path of up to `levels` levels with four domains in each; sometimes none, or one that ends early.
fn any_path(levels: usize, domains: u8) -> impl Strategy<Value = Option<String>> {
    let path = vec(0..domains, levels).prop_map(|segments| {
        let segments: Vec<String> = segments.into_iter().map(|segment| segment.to_string()).collect();
        segments.join("/")
    });
    let path = (path, 1..=levels, 0..12_u8).prop_map(move |(path, kept, ends_early)| {
        let kept = if ends_early == 0 { kept } else { levels };
        path.split('/').take(kept).collect::<Vec<_>>().join("/")
    });
    prop_oneof![15 => path.prop_map(Some), 1 => Just(None)]
}

fn any_world(roles: usize, dimensions: usize) -> impl Strategy<Value = World> {
    let host = (
        any_path(3, 3),
        any_path(1, 4),
        any_path(2, 3),
        vec(0..8_u8, roles),
        vec((0..6_u32, 0..4_i64, -3..6_i64), roles),
    );
    (vec(host, 1..=MAX_HOSTS), 1..=3_usize, 1..=4_u32).prop_map(move |(hosts, levels, together)| {
        let mut world = World {
            together,
            paths: vec![Vec::new(); dimensions],
            ..World::default()
        };
        for (at, (fault, upgrade, zone, eligible, offers)) in hosts.into_iter().enumerate() {
            world.names.push(format!("h{at}"));
            let cut =
                |path: Option<String>| path.map(|path| path.split('/').take(levels).collect::<Vec<_>>().join("/"));
            let paths = [cut(fault), upgrade, zone];
            for (dimension, path) in world.paths.iter_mut().zip(paths) {
                dimension.push(path);
            }
            world
                .eligible
                .push(eligible.into_iter().map(|eligible| eligible > 0).collect());
            let offers = offers
                .into_iter()
                .map(|(room, over, score)| (room.min(2), (over - 2).max(0), score));
            world.offers.push(offers.collect());
        }
        world.build();
        world
    })
}

fn any_rule(dimensions: usize, on_hosts: bool) -> impl Strategy<Value = Rule> {
    let all: Vec<Axis> = (0..dimensions)
        .map(Axis::Domain)
        .chain(on_hosts.then_some(Axis::Host))
        .collect();
    let count = all.len();
    let axes = proptest::sample::subsequence(all, 1..=count);
    let spread = (any_level(), any_mode(), axes, 0..6_u8).prop_map(|(level, mode, axes, strict)| {
        Rule::Spread(Spread {
            level,
            mode,
            axes,
            strict: strict == 0,
        })
    });
    let kind = || prop_oneof![Just(NearKind::Apart), Just(NearKind::Together)];
    let members = (0..dimensions, vec(1..6_u32, 1..4)).prop_map(|(dimension, domains)| Members::Domains {
        dimension,
        domains: domains.into_iter().map(DomainId).collect(),
    });
    let hosts = vec(0..MAX_HOSTS as u32, 0..5).prop_map(Members::Hosts);
    let near = (any_level(), kind(), prop_oneof![members, hosts])
        .prop_map(|(level, kind, members)| Rule::Near(Near { level, kind, members }));
    prop_oneof![4 => spread, 1 => near]
}

/// Removes what does not exist in a world from a rule.
fn fitting(mut rule: Rule, world: &World) -> Rule {
    if let Rule::Near(Near {
        members: Members::Domains { dimension, domains },
        ..
    }) = &mut rule
    {
        domains.retain(|domain| (domain.0 as usize) < world.cluster.dimensions[*dimension].tree.count());
    }
    rule
}

fn any_case(roles: usize, dimensions: usize, on_hosts: bool) -> impl Strategy<Value = Case> {
    let standing = vec((0..roles, 0..MAX_HOSTS as u32), 0..4);
    let rules = vec(any_rule(dimensions, on_hosts), 0..3);
    let wanted = vec(0..=MAX_REPLICAS / roles as u32, roles);
    (any_world(roles, dimensions), rules, standing, wanted).prop_map(|(world, rules, standing, mut wanted)| {
        let hosts = world.names.len() as u32;
        let standing = standing.into_iter().filter(|(_, host)| *host < hosts);
        let standing: Vec<Standing> = standing.map(|(role, host)| Standing { role, host }).collect();
        for (role, wanted) in wanted.iter_mut().enumerate() {
            let stands = standing.iter().filter(|replica| replica.role == role).count() as u32;
            *wanted = (*wanted).max(stands);
        }
        Case {
            rules: rules.into_iter().map(|rule| fitting(rule, &world)).collect(),
            world,
            wanted,
            standing,
        }
    })
}

/// Up to six replicas stand on hosts of their own.
fn any_crowd(roles: usize, dimensions: usize) -> impl Strategy<Value = Case> {
    let standing = vec((0..roles, 0..MAX_HOSTS as u32), 1..=MAX_REPLICAS as usize);
    (any_case(roles, dimensions, false), standing).prop_map(|(mut case, standing)| {
        case.standing.clear();
        for (role, host) in standing {
            let is_new = case.standing.iter().all(|other| other.host != host);
            if is_new && host < case.world.cluster.hosts {
                case.standing.push(Standing { role, host });
            }
        }
        case
    })
}

/// The placement is one of the oracle's, and the best of them.
fn agrees(case: &Case, new: &[Standing], number: u32) -> Result<(), TestCaseError> {
    let (workload, free) = (case.workload(), case.free());
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
    let best: Option<(Key, &Vec<Standing>)> = all
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
    let (workload, free) = (case.workload(), case.free());
    let question = Question {
        world: &case.world,
        workload: &workload,
        free: &free,
    };
    let all = question.placements(&case.missing(), number);
    prop_assert!(all.is_empty(), "refused {number}, but {:?} is admitted", all[0]);
    Ok(())
}

fn atomic_equals_the_oracle(case: &Case) -> Result<(), TestCaseError> {
    let placed = place(&case.world.cluster, &case.world, &case.workload(), &ATOMIC);
    prop_assert_eq!(placed.proof, Proof::Exact);
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
        ..ATOMIC
    };
    let placed = place(&case.world.cluster, &case.world, &case.workload(), &effort);
    prop_assert_eq!(placed.proof, Proof::Exact);
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

/// A rule is reported as broken if and only if the oracle says so of the standing replicas.
fn judgement_equals_the_oracle(case: &Case) -> Result<(), TestCaseError> {
    let judged = judge(&case.world.cluster, &case.world, &case.workload());
    let none_stands = Workload {
        standing: &[],
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
        prop_assert_eq!(is_broken, !question.keeps(rule, &case.standing), "{:?}", rule);
    }
    let modes = case.rules.iter().enumerate().filter_map(|(at, rule)| match rule {
        Rule::Spread(spread) => Some((at, question.mode(spread))),
        Rule::Near(_) => None,
    });
    for (at, mode) in modes {
        prop_assert!(
            judged
                .modes
                .iter()
                .filter(|judged| judged.rule == at)
                .all(|judged| judged.mode == mode)
        );
    }
    Ok(())
}

/// What stays keeps all hard rules, if there is a choice that does.
fn release_equals_the_oracle(case: &Case, fewer: &[u32]) -> Result<(), TestCaseError> {
    let replicas: Vec<Replica> = case
        .standing
        .iter()
        .map(|standing| Replica {
            role: standing.role,
            host: Some(standing.host),
            lost: false,
        })
        .collect();
    let stand = |role: usize| case.standing.iter().filter(|replica| replica.role == role).count() as u32;
    let wanted: Vec<u32> = fewer
        .iter()
        .enumerate()
        .map(|(role, fewer)| stand(role).saturating_sub(*fewer))
        .collect();
    let workload = Workload {
        wanted: &wanted,
        standing: &[],
        ..case.workload()
    };
    let gone = release(&case.world.cluster, &case.world, &workload, &replicas, &|_| false);
    let kept_of = |bits: &[usize]| bits.iter().map(|&at| case.standing[at]).collect::<Vec<Standing>>();
    let counts_fit = |kept: &[Standing]| {
        wanted
            .iter()
            .enumerate()
            .all(|(role, number)| kept.iter().filter(|kept| kept.role == role).count() as u32 == *number)
    };
    let mut roomy = case.world.clone();
    roomy.offers.iter_mut().flatten().for_each(|offer| offer.0 = 1000);
    roomy.together = 1000;
    let question = Question {
        world: &roomy,
        workload: &workload,
        free: &[],
    };
    let stays: Vec<usize> = (0..replicas.len()).filter(|at| !gone.contains(at)).collect();
    prop_assert!(
        counts_fit(&kept_of(&stays)),
        "{gone:?} go, and of each role {wanted:?} have to stay"
    );
    let all = (0..=replicas.len()).flat_map(|number| subsets(replicas.len(), number));
    let mut valid = all
        .map(|bits| kept_of(&bits))
        .filter(|kept| counts_fit(kept) && question.admits(kept));
    if let Some(kept) = valid.next() {
        prop_assert!(question.admits(&kept_of(&stays)), "{gone:?} go, but {kept:?} can stay");
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
    fn what_stays_is_valid_if_anything_is(case in any_crowd(1, 2), fewer in vec(0..4_u32, 1)) {
        release_equals_the_oracle(&case, &fewer)?;
    }

    #[test]
    fn what_stays_of_two_roles_is_valid_if_anything_is(case in any_crowd(2, 2), fewer in vec(0..3_u32, 2)) {
        release_equals_the_oracle(&case, &fewer)?;
    }
}
