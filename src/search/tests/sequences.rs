//! Candidates for several consumers in sequence: each gets the best after all earlier consumers, as in the oracle.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::oracle;
use super::properties::{build, config, scatter};
use super::ranks::{SCORINGS, choice, hosts_with_devices, pair, slow_score, slow_scores, within};
use super::requests::{packing, request as any_request};
use super::trees::snapshot;
use super::worlds::world as any_world;
use super::*;
use crate::search::best::ranked;
use crate::search::block_walk::mix;
use crate::search::candidates::candidates;
use crate::search::rank::Ranking;
use crate::search::{CandidateSequence, Placement, PlannedUsage};

/// Adds amounts to the usage of providers.
fn take(world: &mut World, snapshot: &Snapshot, placements: &[Placement]) {
    for placement in placements {
        let row = world.get_mut(&snapshot.id(placement.slot)).unwrap();
        *row.used.entry(placement.class).or_default() += placement.amount;
        row.used.retain(|_, used| *used != 0);
    }
}

/// A small change of the usage of any inventory.
fn any_change(world: &World, snapshot: &Snapshot, random: u64) -> Vec<Placement> {
    let inventories = world
        .values()
        .flat_map(|row| row.inventories.keys().map(|class| (row.id, *class)));
    let all: Vec<_> = inventories.collect();
    let change = all
        .get(random as usize % all.len().max(1))
        .map(|&(id, class)| Placement {
            slot: snapshot.by_id(id).unwrap(),
            class,
            amount: [-2, -1, 1, 2][(random >> 32) as usize % 4],
        });
    change.into_iter().collect()
}

/// Each consumer gets the best candidate of the current world. The world has the placements of earlier consumers, and
/// concurrent changes of usage.
fn compare_sequence(world: &World, request: &Request, seed: u64, strict_step: bool) {
    let snapshot = Arc::new(if seed % 8 < 2 { scatter(world) } else { build(world) });
    let (consumers, spare) = (1 + seed as usize % 6, (seed >> 8) as usize % 3);
    for scoring in SCORINGS.into_iter().map(Some).chain([None]) {
        let settings = SearchSettings {
            seed,
            strict_step,
            ..settings()
        };
        let mut world = world.clone();
        let mut usage = PlannedUsage::new(Arc::clone(&snapshot));
        let mut sequence = CandidateSequence::new(request, scoring, settings, consumers, spare);
        for consumer in 0..consumers as u64 + 1 {
            let random = mix(seed ^ consumer);
            if random.is_multiple_of(3) {
                let change = any_change(&world, &snapshot, random);
                take(&mut world, &snapshot, &change);
                sequence.note(&usage.add(&change));
            }
            let found = sequence.next(&mut usage);
            let all = match oracle::candidates(&catalog(), &world, request, strict_step) {
                Ok(all) => all,
                Err(error) => {
                    assert_eq!(Some(&error), found.as_ref().err());
                    break;
                }
            };
            let Some((_, candidate)) = found.unwrap() else {
                assert!(all.is_empty(), "{scoring:?} {consumer}: {all:?}");
                continue;
            };
            let choice = choice(&snapshot, candidate);
            assert!(all.contains(&choice), "{scoring:?} {consumer}: {choice:?}");
            if let Some(scoring) = scoring {
                let best = slow_scores(&world, &all, scoring)[0];
                let score = slow_score(&world, &choice, scoring);
                assert!(
                    (score - best).abs() < 1e-9,
                    "{scoring:?} {consumer}: {score}, not {best}"
                );
            }
            let taken = candidate.placements.clone();
            take(&mut world, &snapshot, &taken);
            sequence.note(&usage.add(&taken));
        }
        assert!(sequence.is_exact());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: config().cases / 20, ..config() })]

    #[test]
    fn each_consumer_gets_the_best_after_those_before_it(world in any_world(), request in any_request(), seed: u64, strict: bool) {
        compare_sequence(&world, &request, seed, strict);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: config().cases / 100, ..config() })]

    #[test]
    fn each_consumer_gets_the_best_packing_after_those_before_it((world, request) in packing(), seed: u64) {
        compare_sequence(&world, &request, seed, false);
    }
}

/// Each host has twelve candidates. All candidates of the best host are better than the candidates of the next.
#[test]
fn one_tree_does_not_fill_the_list_of_several_consumers() {
    let world = Arc::new(hosts_with_devices(30));
    for scoring in SCORINGS {
        let ranking = Ranking {
            scoring,
            count: 10,
            one_per_tree: true,
        };
        let all = ranked(&world, &pair(), &settings(), &ranking).unwrap().all;
        let root = |candidate: &Candidate| world.root(candidate.placements[0].slot);
        let roots: BTreeSet<Slot> = all.iter().map(|(_, candidate)| root(candidate)).collect();
        assert_eq!((all.len(), roots.len()), (10, 10), "{scoring:?}");
        // The best of each tree, of which the best ten.
        let of_tree = |root: Slot| {
            let mut candidates = candidates(&*world, &pair(), &settings()).unwrap().in_tree(root);
            candidates.best(&Ranking { count: 1, ..ranking }).unwrap().all[0].0
        };
        let mut expected: Vec<f64> = world
            .iter()
            .filter(|slot| world.parent(*slot).is_none())
            .map(of_tree)
            .collect();
        expected.sort_unstable_by(f64::total_cmp);
        assert!(all.iter().map(|(cost, _)| *cost).eq(expected.into_iter().take(10)));
        let ask = pair();
        let mut sequence = CandidateSequence::new(&ask, Some(scoring), settings(), 4, 6);
        sequence.next(&mut PlannedUsage::new(Arc::clone(&world))).unwrap();
        let found: BTreeSet<Slot> = sequence.into_found().map(|(_, candidate)| root(&candidate)).collect();
        assert_eq!(found, roots, "{scoring:?}");
    }
}

/// A thousand consumers are served by one search. A search for each consumer would exceed the budget: each search
/// visits 32 blocks, or a thousand trees.
#[test]
fn one_search_serves_a_large_gang() {
    let worlds = [
        (
            snapshot((1..2001).map(|id| bare(id).with(VCPU, 8).using(VCPU, i64::from(id % 7)))),
            request(group(&[("VCPU", 1)])),
            30_000,
        ),
        (hosts_with_devices(1000), pair(), 1_000_000),
    ];
    for (world, ask, steps) in worlds {
        let world = Arc::new(world);
        for scoring in SCORINGS.into_iter().map(Some).chain([None]) {
            let mut usage = PlannedUsage::new(Arc::clone(&world));
            let settings = within(steps);
            let mut sequence = CandidateSequence::new(&ask, scoring, settings, 1000, 15);
            for consumer in 0..1000 {
                let (_, candidate) = sequence
                    .next(&mut usage)
                    .unwrap()
                    .unwrap_or_else(|| panic!("{scoring:?} {consumer}"));
                let taken = candidate.placements.clone();
                sequence.note(&usage.add(&taken));
            }
        }
    }
}
