//! Random walks: workloads grow and shrink, hosts go and come back, and foreign programs move consumers. After each
//! step the layer and the oracle agree.

use proptest::collection::vec;
use proptest::prelude::*;

use super::properties::{atomic_equals_the_oracle, judgement_equals_the_oracle, release_equals_the_oracle};
use super::random_cases::{Case, any_case};
use super::worlds::{BOTH, World, atomic, spread, workload};
use crate::placing::{Effort, Mode, PlacedReplica, Releasable, Workload};
use crate::tests::proptest_config;

/// Of the property. A case has up to [`STEPS`] steps.
const CASES: u32 = 150;
const FULL_CASES: u32 = 5_000;
const STEPS: usize = 10;

#[derive(Clone, Copy, Debug)]
enum Step {
    Grow,
    Shrink(u32),
    /// The host is not eligible from now on. After its last eligible host a domain is dead.
    Lose(usize),
    Return(usize),
    Move {
        replica: usize,
        host: usize,
    },
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Grow),
        1 => (1..3_u32).prop_map(Step::Shrink),
        1 => (0..10_usize).prop_map(Step::Lose),
        1 => (0..10_usize).prop_map(Step::Return),
        1 => (0..6_usize, 0..10_usize).prop_map(|(replica, host)| Step::Move { replica, host }),
    ]
}

/// Adds a replica, if the layer grants the replica.
fn grow(case: &mut Case) -> Result<(), TestCaseError> {
    case.wanted[0] += 1;
    atomic_equals_the_oracle(case)?;
    let placed = case.world.placed(&case.workload(), &atomic());
    match placed.replicas[..] {
        [] => case.wanted[0] -= 1,
        _ => {
            for replica in &placed.replicas {
                case.world.offers[replica.host as usize][0].0 -= 1;
            }
            case.placed.extend(placed.replicas);
        }
    }
    Ok(())
}

fn shrink(case: &mut Case, fewer: u32) -> Result<(), TestCaseError> {
    release_equals_the_oracle(case, &[fewer])?;
    let wanted = [(case.placed.len() as u32).saturating_sub(fewer)];
    let replicas = case.placed.iter().map(|placed| Releasable {
        role: 0,
        hosts: vec![placed.host],
        lost: false,
    });
    let replicas: Vec<Releasable> = replicas.collect();
    let fewer = Workload {
        wanted: &wanted,
        placed: &[],
        ..case.workload()
    };
    let released = case.world.released(&fewer, &replicas);
    for at in released.gone.into_iter().rev() {
        let replica = case.placed.remove(at);
        case.world.offers[replica.host as usize][0].0 += 1;
    }
    case.wanted[0] = case.placed.len() as u32;
    Ok(())
}

fn take(case: &mut Case, step: Step) -> Result<(), TestCaseError> {
    let hosts = case.world.names.len();
    match step {
        Step::Grow if case.placed.len() < 6 => grow(case)?,
        Step::Grow => {}
        Step::Shrink(fewer) => shrink(case, fewer)?,
        Step::Lose(host) => case.world.eligible[host % hosts].fill(false),
        Step::Return(host) => case.world.eligible[host % hosts].fill(true),
        Step::Move { replica, host } => {
            if let Some(moved) = case.placed.get_mut(replica) {
                moved.host = (host % hosts) as u32;
            }
        }
    }
    judgement_equals_the_oracle(case)
}

proptest! {
    #![proptest_config(proptest_config(CASES, FULL_CASES))]

    #[test]
    fn on_a_walk_each_step_equals_the_oracle(case in any_case(1, 2, false), steps in vec(any_step(), 1..=STEPS)) {
        let mut case = Case { placed: Vec::new(), wanted: vec![0], ..case };
        for offers in &mut case.world.offers {
            offers[0].0 += 1;
        }
        for step in steps {
            take(&mut case, step)?;
        }
    }
}

/// Counts the sizes refused to a workload that grows by single replicas, and the sizes with a placement at once.
fn refused_sizes(world: &World, seed: u64) -> (u32, u32) {
    let rules = [spread(Mode::Adaptive, &BOTH)];
    let mut placed: Vec<PlacedReplica> = Vec::new();
    let (mut refused, mut granted) = (0, 0);
    for n in 1..=world.names.len() as u32 {
        let wanted = [n];
        if world.place(&workload(&wanted, &rules)).is_err() {
            continue;
        }
        granted += 1;
        let grown = Workload {
            placed: &placed,
            ..workload(&wanted, &rules)
        };
        let new = world.placed(&grown, &Effort { seed, ..atomic() });
        refused += u32::from(new.refusal.is_some());
        placed.extend(new.replicas);
    }
    (refused, granted)
}

/// With `rank` the emptiest hosts come before evenness, so a workload may end at a set that cannot grow. The room for a
/// further replica comes before `rank`.
#[test]
fn found_p2_with_random_loads_at_most_one_size_in_a_hundred_is_refused() {
    let (mut refused, mut granted) = (0, 0);
    for (rows, columns) in (2..=5).flat_map(|rows| (2..=5).map(move |columns| (rows, columns))) {
        for seed in 0..6 {
            let mut world = super::over_time::grid(rows, columns);
            for (host, offers) in (0_u64..).zip(&mut world.offers) {
                let load = (seed * 1_000 + host + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54;
                offers[0].2 = load as i64;
            }
            let (more, all) = refused_sizes(&world, seed);
            (refused, granted) = (refused + more, granted + all);
        }
    }
    assert!(refused * 100 <= granted, "{refused} of {granted} sizes are refused");
}
