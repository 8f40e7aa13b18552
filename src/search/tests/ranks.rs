//! Ranked searches: the best of all candidates, compared with the oracle.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::oracle::{self, Choice};
use super::properties::{build, config, scatter};
use super::requests::{packing, request as any_request};
use super::trees::{asking, granular, snapshot};
use super::wide::cut_up;
use super::worlds::world as any_world;
use super::*;
use crate::error::Error;
use crate::search::request::GroupPolicy;
use crate::search::{Interrupt, Ranked, Scored, Scoring, best};

pub(super) const SCORINGS: [Scoring; 3] = [Scoring::Fullest, Scoring::Emptiest, Scoring::Tightest];

/// The score of a candidate, by the definition and from rows.
pub(super) fn slow_score(world: &World, choice: &Choice, scoring: Scoring) -> f64 {
    let shares = choice.0.iter().map(|(&(id, class), &amount)| {
        let row = &world[&id];
        let inventory = row.inventories[&class];
        let capacity = (f64::from(inventory.total - inventory.reserved) * inventory.allocation_ratio).floor();
        let used = (row.used.get(&class).copied().unwrap_or(0) + amount) as f64;
        if capacity > 0.0 { used / capacity } else { 1.0 }
    });
    match scoring {
        Scoring::Tightest => shares.map(|share| 1.0 - share).sum(),
        Scoring::Fullest | Scoring::Emptiest => shares.fold(f64::MIN, f64::max),
    }
}

/// The scores of all candidates, best first.
pub(super) fn slow_scores(world: &World, all: &BTreeSet<Choice>, scoring: Scoring) -> Vec<f64> {
    let mut scores: Vec<f64> = all.iter().map(|choice| slow_score(world, choice, scoring)).collect();
    scores.sort_unstable_by(f64::total_cmp);
    if scoring == Scoring::Fullest {
        scores.reverse();
    }
    scores
}

/// The amounts and mappings of a candidate, in the oracle's form.
pub(super) fn choice(snapshot: &Snapshot, candidate: &Candidate) -> Choice {
    let amounts = candidate.placements.iter();
    let amounts = amounts.map(|placement| ((snapshot.id(placement.slot), placement.class), placement.amount));
    let mappings = candidate.mappings.iter().map(|(suffix, slots)| {
        let ids = slots.iter().map(|&slot| snapshot.id(slot));
        (suffix.to_string(), ids.collect())
    });
    (amounts.collect(), mappings.collect())
}

fn compare_ranked(world: &World, request: &Request, seed: u64, strict_step: bool) {
    let snapshot = if seed % 8 < 2 { scatter(world) } else { build(world) };
    let settings = SearchSettings {
        seed,
        strict_step,
        ..settings()
    };
    let all = oracle::candidates(&catalog(), world, request, strict_step);
    for scoring in SCORINGS {
        for count in [1, 2, 1 + seed as usize % 7, usize::MAX] {
            let found = best(&snapshot, request, scoring, count, &settings);
            let all = match &all {
                Ok(all) => all,
                Err(error) => {
                    assert_eq!(Some(error), found.as_ref().err());
                    continue;
                }
            };
            let Ranked { best, is_exact } = found.unwrap();
            let expected = slow_scores(world, all, scoring);
            assert!(is_exact);
            assert_eq!(best.len(), count.min(expected.len()), "{scoring:?}");
            for (scored, expected) in best.iter().zip(expected) {
                let choice = choice(&snapshot, &scored.candidate);
                assert!(all.contains(&choice), "{choice:?}");
                for score in [scored.score, slow_score(world, &choice, scoring)] {
                    assert!(
                        (score - expected).abs() < 1e-9,
                        "{scoring:?} {count}: {score}, not {expected}"
                    );
                }
            }
            let different: BTreeSet<Choice> = best.iter().map(|scored| choice(&snapshot, &scored.candidate)).collect();
            assert_eq!(different.len(), best.len(), "a candidate occurs twice");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: config().cases / 2, ..config() })]

    #[test]
    fn the_best_candidates_are_those_of_the_oracle(world in any_world(), request in any_request(), seed: u64, strict: bool) {
        compare_ranked(&world, &request, seed, strict);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: config().cases / 20, ..config() })]

    #[test]
    fn the_best_packings_are_those_of_the_oracle((world, request) in packing(), seed: u64) {
        compare_ranked(&world, &request, seed, false);
    }
}

fn best_ids(snapshot: &Snapshot, request: &Request, scoring: Scoring, seed: u64) -> Vec<i32> {
    let settings = SearchSettings { seed, ..settings() };
    let best = best(snapshot, request, scoring, 1, &settings).unwrap().best;
    let placements = best.iter().flat_map(|scored| &scored.candidate.placements);
    placements.map(|placement| snapshot.id(placement.slot).0).collect()
}

#[test]
fn the_seed_chooses_among_equal_candidates() {
    // Of two blocks, ten hosts have the most room; with and without children.
    let flat = (1..=128).map(|id| bare(id).with(VCPU, 8).using(VCPU, i64::from(id % 13 != 0)));
    let nested = |id: i32| bare(200 + id).with(DISK, 8).below(id, id);
    let trees = flat.clone().flat_map(|row| {
        let child = nested(row.id.0);
        [row, child]
    });
    let worlds = [snapshot(flat.clone()), snapshot(trees)];
    let asks = [group(&[("VCPU", 1)]), group(&[("VCPU", 1), ("DISK_GB", 1)])];
    for (world, ask) in worlds.iter().zip(asks) {
        let ask = request(ask);
        let mut chosen = std::collections::BTreeMap::new();
        for seed in 0..900 {
            let first = best_ids(world, &ask, Scoring::Emptiest, seed);
            assert_eq!(
                first,
                best_ids(world, &ask, Scoring::Emptiest, seed),
                "a seed gives one answer"
            );
            *chosen.entry(first[0]).or_insert(0) += 1;
        }
        assert!(chosen.keys().all(|id| id % 13 == 0), "{chosen:?}");
        assert!(
            chosen.len() == 9 && chosen.values().all(|times| *times > 40),
            "{chosen:?}"
        );
    }
}

/// A host with eight devices of different usages.
fn devices() -> Snapshot {
    let device = |id: i32| bare(id).with(VCPU, 32).using(VCPU, i64::from(id)).below(1, 1);
    snapshot(std::iter::once(bare(1)).chain((2..10).map(device)))
}

#[test]
fn a_tree_with_too_many_combinations_gives_the_best_of_some() {
    let groups = ["_A", "_B", "_C"].map(|suffix| granular(suffix, &[("VCPU", 1)]));
    let ask = asking(&groups, GroupPolicy::Isolate);
    let ranked = |max_combinations, scoring| {
        let settings = SearchSettings {
            max_combinations,
            ..settings()
        };
        best(&devices(), &ask, scoring, 1, &settings).unwrap()
    };
    // 8 * 7 * 6
    let exact = ranked(336, Scoring::Tightest);
    assert!(exact.is_exact);
    let score = |ranked: &Ranked| ranked.best[0].score;
    // The three devices with the highest usages have 24, 23 and 22 units left.
    assert_eq!(score(&exact), 69.0 / 32.0);
    for max in [1, 2, 100, 335] {
        let some = ranked(max, Scoring::Tightest);
        assert!(
            !some.is_exact && some.best.len() == 1 && score(&some) >= score(&exact),
            "{max}"
        );
    }
}

#[test]
fn loads_are_what_the_score_comes_from() {
    let world = snapshot([bare(1).with(VCPU, 16).using(VCPU, 4).with(DISK, 10)]);
    let ask = request(group(&[("VCPU", 2), ("DISK_GB", 3)]));
    let scored = |scoring| best(&world, &ask, scoring, 1, &settings()).unwrap().best.remove(0);
    let Scored { loads, score, .. } = scored(Scoring::Tightest);
    let loads: Vec<_> = loads.iter().map(|load| (load.class, load.used, load.limit)).collect();
    assert_eq!(loads, [(VCPU, 6, 16), (DISK, 3, 10)]);
    assert_eq!(score, 10.0 / 16.0 + 7.0 / 10.0);
    assert_eq!(scored(Scoring::Emptiest).score, 6.0 / 16.0);
    assert_eq!(scored(Scoring::Fullest).score, 6.0 / 16.0);
}

/// Foreign writers may leave any sums in the tables, and inventories without capacity.
#[test]
fn capacities_and_usages_that_make_no_sense_are_ranked_too() {
    let odd = |id, total, reserved, ratio, used| {
        let inventory = Inventory {
            reserved,
            max_unit: i32::MAX,
            allocation_ratio: ratio,
            ..stock(total)
        };
        let mut row = bare(id).using(VCPU, used);
        row.inventories.insert(VCPU, inventory);
        row
    };
    let world = snapshot([
        odd(1, 0, 0, 1.0, -5),
        odd(2, 3, 8, 1.0, -100),
        odd(3, 8, 0, 1.0, i64::MIN + 1),
        odd(4, i32::MAX, 0, f64::INFINITY, i64::MAX >> 2),
        odd(5, i32::MAX, 0, 3.4e38, 0),
        odd(6, 8, 0, 1.0, 4),
        odd(7, 8, 0, f64::NAN, 0),
        odd(8, 8, 0, 1.0, i64::MAX),
        odd(9, 8, 0, 1.0, -1),
    ]);
    let ids = |scoring| {
        let ranked = best(&world, &request(group(&[("VCPU", 2)])), scoring, 9, &settings()).unwrap();
        let scores = ranked.best.iter().map(|scored| scored.score);
        assert!(
            scores.clone().all(f64::is_finite),
            "{scoring:?} {:?}",
            scores.collect::<Vec<_>>()
        );
        ranked
            .best
            .iter()
            .map(|scored| world.id(scored.candidate.placements[0].slot).0)
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(Scoring::Emptiest)[..2], [3, 5]);
    assert_eq!(ids(Scoring::Fullest)[2..4], [6, 4]);
    assert_eq!(ids(Scoring::Tightest)[2..4], [6, 4]);
}

#[test]
fn an_interrupted_ranking_is_an_error() {
    let ask = asking(
        &[granular("_A", &[("VCPU", 1)]), granular("_B", &[("VCPU", 1)])],
        GroupPolicy::None,
    );
    for request in [ask, request(group(&[("VCPU", 1)]))] {
        let settings = settings();
        settings.interrupt.set();
        let ranked = best(&devices(), &request, Scoring::Emptiest, 1, &settings);
        assert!(matches!(ranked, Err(Error::BadRequest { detail }) if detail.contains("cancelled")));
    }
}

/// The search gave up a tree, and a second tree has a candidate: an answer, although more candidates may exist.
#[test]
fn candidates_that_were_found_are_an_answer_although_a_tree_was_given_up() {
    let (mut rows, ask) = cut_up(30);
    rows.push(bare(1000).with(VCPU, 1_000_000).with(ClassId(1), 1_000_000));
    let world = snapshot(rows.clone());
    let found = |count| best(&world, &ask, Scoring::Emptiest, count, &settings()).unwrap();
    let two = found(2);
    assert_eq!((two.best.len(), two.is_exact), (1, false));
    // By its bound the second tree cannot be better.
    let one = found(1);
    assert_eq!((one.best.len(), one.is_exact), (1, true));
    rows.pop();
    let nothing = best(&snapshot(rows), &ask, Scoring::Emptiest, 2, &settings());
    assert!(matches!(nothing, Err(Error::BadRequest { detail }) if detail.contains("Too many ways")));
}

/// Hosts with four devices each. The hosts differ in usage, and the devices of a host differ a little.
pub(super) fn hosts_with_devices(hosts: i32) -> Snapshot {
    let host = |host: i32| {
        let root = 1 + host * 5;
        let device = move |id: i32| {
            bare(id)
                .with(VCPU, 1000)
                .using(VCPU, i64::from(host * 37 % 500 + id % 5))
                .below(root, root)
        };
        std::iter::once(bare(root)).chain((root + 1..root + 5).map(device))
    };
    snapshot((0..hosts).flat_map(host))
}

pub(super) fn pair() -> Request {
    let groups = ["_A", "_B"].map(|suffix| granular(suffix, &[("VCPU", 1)]));
    asking(&groups, GroupPolicy::Isolate)
}

/// The settings of a search with this many steps at most.
pub(super) fn within(steps: u64) -> SearchSettings {
    SearchSettings {
        interrupt: Interrupt::after(steps),
        ..settings()
    }
}

#[test]
fn few_trees_are_searched_for_the_best() {
    let world = hosts_with_devices(3000);
    for scoring in SCORINGS {
        let ranked = best(&world, &pair(), scoring, 5, &within(20_000)).unwrap();
        assert_eq!(ranked.best.len(), 5, "{scoring:?}");
    }
}
