//! Random small worlds and requests: the search and the oracle must give the same answers.
//!
//! [`CASES`] cases of each property, and [`FULL_CASES`] of the full size.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::oracle::{self, Choice, Descriptions, World};
use super::requests::{packing, query, request};
use super::worlds::{row, world};
use super::{Found, bare, build_colliding, catalog};
use crate::error::Result;
use crate::interrupt::Interrupt;
use crate::search::candidate::GroupProviders;
use crate::search::request::Request;
use crate::search::snapshot::{ClassId, Delta, ProviderId, ProviderRow, Snapshot, SnapshotChange};
use crate::search::{self, SearchSettings, candidates, providers};
use crate::tests::proptest_config;

const CASES: u32 = 4_000;
const FULL_CASES: u32 = 20_000;

pub(super) fn config() -> ProptestConfig {
    proptest_config(CASES, FULL_CASES)
}

/// For properties of small things.
pub(in crate::search) fn few_cases() -> ProptestConfig {
    ProptestConfig {
        cases: config().cases / 4,
        ..config()
    }
}

pub(super) fn build(world: &World) -> Snapshot {
    build_colliding(world.values().cloned().collect())
}

/// The candidates as a set. Asserts that no candidate occurs twice.
fn choices(snapshot: &Snapshot, found: &Found) -> BTreeSet<Choice> {
    let all = found.candidates.iter().map(|candidate| {
        let amounts: Vec<_> = candidate
            .placements
            .iter()
            .map(|placement| ((snapshot.id(placement.slot), placement.class), placement.amount))
            .collect();
        let named = |(suffix, slots): &(Arc<str>, GroupProviders)| {
            let ids: BTreeSet<ProviderId> = slots.iter().map(|&slot| snapshot.id(slot)).collect();
            assert_eq!(ids.len(), slots.len(), "a provider serves a group twice");
            (suffix.to_string(), ids)
        };
        let choice: Choice = (
            amounts.iter().copied().collect(),
            candidate.mappings.iter().map(named).collect(),
        );
        assert_eq!(choice.0.len(), amounts.len(), "a provider gives a class twice");
        choice
    });
    let set: BTreeSet<Choice> = all.collect();
    assert_eq!(set.len(), found.candidates.len(), "a candidate occurs twice");
    set
}

fn settings(seed: u64, strict_step: bool) -> SearchSettings {
    SearchSettings {
        seed,
        strict_step,
        tree_order: if seed.is_multiple_of(2) {
            search::TreeOrder::DepthFirst
        } else {
            search::TreeOrder::BreadthFirst
        },
        ..super::settings()
    }
}

/// As `build`, but providers and trees are spread over several blocks, because providers in between were removed.
pub(super) fn scatter(world: &World) -> Snapshot {
    let mut snapshot = build_colliding(Vec::new());
    let mut removed = Vec::new();
    for (at, row) in world.values().enumerate() {
        let between = (0..if at % 3 == 2 { 62 } else { 0 }).map(|n| bare(1000 + at as i32 * 100 + n));
        let reloaded: Vec<ProviderRow> = std::iter::once(row.clone()).chain(between).collect();
        removed.extend(reloaded[1..].iter().map(|row| row.id));
        snapshot = snapshot.apply(&SnapshotChange {
            reloaded,
            ..SnapshotChange::default()
        });
    }
    snapshot.apply(&SnapshotChange {
        removed,
        ..SnapshotChange::default()
    })
}

fn compare_candidates(world: &World, request: &Request, seed: u64, strict: bool) {
    let snapshot = if seed % 8 < 2 { scatter(world) } else { build(world) };
    compare(&snapshot, world, request, seed, strict);
}

fn compare(snapshot: &Snapshot, world: &World, request: &Request, seed: u64, strict: bool) {
    let expected = oracle::candidates(&catalog(), world, request, strict);
    compare_with(expected, snapshot, world, request, (seed, strict));
}

pub(super) fn compare_described(
    snapshot: &Snapshot,
    world: &World,
    descriptions: &Descriptions,
    request: &Request,
    seed: u64,
) {
    let expected = oracle::described_candidates(snapshot.catalog(), world, descriptions, request, false);
    compare_with(expected, snapshot, world, request, (seed, false));
}

fn compare_with(
    expected: Result<BTreeSet<Choice>>,
    snapshot: &Snapshot,
    world: &World,
    request: &Request,
    (seed, strict): (u64, bool),
) {
    let found = candidates(snapshot, request, &settings(seed, strict)).and_then(|all| all.found());
    match (&expected, &found) {
        (Ok(expected), Ok(found)) => {
            assert_eq!(*expected, choices(snapshot, found));
            let shown: BTreeSet<_> = found.summaries.iter().map(|&slot| snapshot.id(slot)).collect();
            assert_eq!(shown.len(), found.summaries.len(), "a summary occurs twice");
            assert_eq!(shown, oracle::summaries(world, expected, request.nested));
            compare_limited(snapshot, expected, request, seed, strict);
        }
        (expected, found) => assert_eq!(expected.as_ref().err(), found.as_ref().err()),
    }
}

/// With a limit, the candidates are a subset of all candidates, as many as the limit allows.
fn compare_limited(snapshot: &Snapshot, all: &BTreeSet<Choice>, request: &Request, seed: u64, strict: bool) {
    let limit = 1 + seed as usize % 6;
    let request = Request {
        limit: Some(limit),
        ..request.clone()
    };
    let found = candidates(snapshot, &request, &settings(seed, strict)).and_then(|all| all.found());
    let found = choices(snapshot, &found.unwrap());
    assert_eq!(found.len(), limit.min(all.len()));
    assert!(found.is_subset(all), "a limit adds no candidates");
}

/// Edits a world, and returns the same edit as a change of the snapshot.
fn edit(world: &mut World, row: ProviderRow, what: u8, amount: i64) -> SnapshotChange {
    let id = ProviderId(row.generation as i32 % 12 + 1);
    let leaf = !world.values().any(|other| other.parent == Some(id));
    match (world.get(&id).cloned(), what) {
        (Some(_), 0) if leaf => {
            world.remove(&id);
            SnapshotChange {
                removed: vec![id],
                ..SnapshotChange::default()
            }
        }
        (Some(mut old), 1..=4) => {
            let delta = Delta {
                provider: id,
                moves: 1,
                generation: 0,
                modified: Some(amount),
                used: vec![(ClassId(1), amount)],
            };
            old.generation += 1;
            old.modified = old.modified.max(amount);
            *old.used.entry(ClassId(1)).or_default() += amount;
            old.used.retain(|_, used| *used != 0);
            world.insert(id, old);
            SnapshotChange {
                deltas: vec![delta],
                ..SnapshotChange::default()
            }
        }
        (old, _) => {
            let mut identity = old.unwrap_or_else(|| bare(id.0));
            if leaf && what > 5 {
                // The provider moves below a second provider, or is created there.
                let parent = world
                    .values()
                    .filter(|other| other.id != id)
                    .nth(amount.unsigned_abs() as usize);
                let root = parent.map_or(id, |parent| parent.root);
                (identity.parent, identity.root) = (parent.map(|parent| parent.id), root);
            }
            let new = ProviderRow {
                id,
                uuid: identity.uuid,
                name: identity.name,
                parent: identity.parent,
                root: identity.root,
                ..row
            };
            world.insert(id, new.clone());
            SnapshotChange {
                reloaded: vec![new],
                ..SnapshotChange::default()
            }
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn candidates_are_equal_to_those_of_the_oracle(world in world(), request in request(), seed: u64, strict: bool) {
        compare_candidates(&world, &request, seed, strict);
    }

    #[test]
    fn providers_are_equal_to_those_of_the_oracle(world in world(), query in query(), strict: bool) {
        let snapshot = build(&world);
        let found = providers(&snapshot, &query, strict, &Interrupt::default());
        let found = found.map(|slots| slots.into_iter().map(|slot| snapshot.id(slot)).collect());
        prop_assert_eq!(oracle::providers(&catalog(), &world, &query, strict), found);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: config().cases / 10, ..config() })]

    #[test]
    fn packings_are_equal_to_those_of_the_oracle((world, request) in packing(), seed: u64) {
        compare_candidates(&world, &request, seed, false);
    }

    #[test]
    fn a_changed_version_is_equal_to_one_built_from_tables(
        world in world(),
        edits in vec((row(), 0i64..12, 0u8..8, -2i64..4), 1..12),
        query in query(),
        request in request(),
        scattered: bool,
    ) {
        let mut now = world.clone();
        let first = if scattered { scatter(&world) } else { build(&world) };
        let mut snapshot = first.clone();
        for (row, id, what, amount) in edits {
            // Cached data of a search in one version must not be found in the next.
            let _ = candidates(&snapshot, &request, &settings(1, false)).map(Iterator::count);
            let change = edit(&mut now, ProviderRow { generation: id, ..row }, what, amount);
            snapshot = snapshot.apply(&change);
        }
        for (snapshot, world) in [(&snapshot, &now), (&first, &world)] {
            let actual: Vec<ProviderRow> = snapshot.iter().map(|slot| snapshot.row(slot)).collect();
            prop_assert_eq!(&actual, &world.values().cloned().collect::<Vec<_>>());
            let found = providers(snapshot, &query, false, &Interrupt::default());
            let found = found.map(|slots| slots.into_iter().map(|slot| snapshot.id(slot)).collect());
            prop_assert_eq!(oracle::providers(&catalog(), world, &query, false), found);
            compare(snapshot, world, &request, 1, false);
            for row in world.values() {
                let slot = snapshot.by_uuid(&row.uuid).unwrap();
                prop_assert_eq!(snapshot.by_name(&row.name), Some(slot));
                let children: Vec<_> = snapshot.children(slot).iter().map(|&child| snapshot.id(child)).collect();
                let expected: Vec<_> = world.values().filter(|child| child.parent == Some(row.id)).map(|child| child.id).collect();
                prop_assert_eq!(children, expected);
            }
        }
    }
}
