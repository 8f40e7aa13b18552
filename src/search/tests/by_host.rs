//! The offers of each host, compared with the oracle.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::oracle::{self, Choice};
use super::properties::{build, config, scatter};
use super::ranks::{SCORINGS, choice, slow_score};
use super::requests::{packing, request as any_request};
use super::worlds::{pools, world as any_world};
use super::*;
use crate::search::candidates::candidates;
use crate::search::{HostCosts, Scoring, best_in_host, best_of_each_host, eligible_hosts};

/// The hosts of the candidates, each with its least cost. `None` if a candidate has only sharing providers, of several
/// trees: the candidate's host is undefined.
fn hosts_of(
    snapshot: &Snapshot,
    world: &World,
    choices: &BTreeSet<Choice>,
    scoring: Option<Scoring>,
) -> Option<BTreeMap<ProviderId, f64>> {
    let mut hosts: BTreeMap<ProviderId, f64> = BTreeMap::new();
    for choice in choices {
        let providers: BTreeSet<ProviderId> = choice.0.keys().map(|(id, _)| *id).collect();
        let is_own = |id: &&ProviderId| !snapshot.is_sharing(snapshot.by_id(**id).unwrap());
        let own = providers.iter().find(is_own);
        let roots: BTreeSet<ProviderId> = match own {
            Some(own) => [world[own].root].into(),
            None => providers.iter().map(|id| world[id].root).collect(),
        };
        if roots.len() != 1 {
            return None;
        }
        let cost = match scoring {
            None => 0.0,
            Some(Scoring::Fullest) => -slow_score(world, choice, Scoring::Fullest),
            Some(scoring) => slow_score(world, choice, scoring),
        };
        let least = hosts.entry(*roots.first().unwrap()).or_insert(cost);
        *least = least.min(cost);
    }
    Some(hosts)
}

/// Whether the costs are these, apart from rounding.
fn assert_costs(snapshot: &Snapshot, world: &World, found: &HostCosts, expected: &BTreeMap<ProviderId, f64>) {
    for id in world.keys() {
        let cost = found.of(snapshot.by_id(*id).unwrap());
        let is_equal = match (cost, expected.get(id)) {
            (Some(cost), Some(expected)) => (cost - expected).abs() < 1e-9,
            (cost, expected) => cost.is_none() && expected.is_none(),
        };
        assert!(is_equal, "{id:?}: {cost:?}, not {:?}", expected.get(id));
    }
}

fn compare(world: &World, request: &Request, seed: u64, strict_step: bool) {
    let snapshot = if seed % 8 < 2 { scatter(world) } else { build(world) };
    let settings = SearchSettings {
        seed,
        strict_step,
        ..settings()
    };
    let Ok(all) = oracle::candidates(&catalog(), world, request, strict_step) else {
        return;
    };
    for scoring in SCORINGS.into_iter().map(Some).chain([None]) {
        let Some(expected) = hosts_of(&snapshot, world, &all, scoring) else {
            return;
        };
        let found = best_of_each_host(&snapshot, request, scoring, &settings).unwrap();
        assert!(found.is_exact);
        assert_costs(&snapshot, world, &found, &expected);
        for (host, cost) in expected {
            let slot = snapshot.by_id(host).unwrap();
            let best = best_in_host(&snapshot, request, scoring, slot, &settings).unwrap();
            let best: BTreeSet<Choice> = best.iter().map(|best| choice(&snapshot, best)).collect();
            assert!(best.is_subset(&all), "{best:?}");
            let its_cost = hosts_of(&snapshot, world, &best, scoring).unwrap();
            assert!((its_cost[&host] - cost).abs() < 1e-9, "{scoring:?} {host:?}");
        }
    }
    // The same inventories with room for anything.
    let mut roomy = world.clone();
    for inventory in roomy.values_mut().flat_map(|row| row.inventories.values_mut()) {
        (inventory.total, inventory.reserved, inventory.allocation_ratio) = (i32::MAX, 0, 1e6);
    }
    let Ok(all) = oracle::candidates(&catalog(), &roomy, request, strict_step) else {
        return;
    };
    if let Some(expected) = hosts_of(&snapshot, &roomy, &all, None) {
        let found = eligible_hosts(&snapshot, request, &settings).unwrap();
        assert_costs(&snapshot, world, &found, &expected);
    }
}

/// Without resources no provider gives anything, so a candidate has no host.
fn asks_for_resources(request: &Request) -> bool {
    request.groups.iter().any(|group| !group.resources.is_empty())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: config().cases / 8, ..config() })]

    #[test]
    fn the_offers_of_hosts_are_those_of_the_oracle(world in any_world(), request in any_request(), seed: u64, strict: bool) {
        if asks_for_resources(&request) {
            compare(&world, &request, seed, strict);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: config().cases / 20, ..config() })]

    #[test]
    fn the_offers_of_hosts_with_many_groups_are_those_of_the_oracle((world, request) in packing(), seed: u64) {
        compare(&world, &request, seed, false);
    }
}

/// The hosts of all candidates of the plain search, each with its least cost.
fn plain_hosts(snapshot: &Snapshot, request: &Request, scoring: Option<Scoring>) -> BTreeMap<ProviderId, f64> {
    let mut hosts: BTreeMap<ProviderId, f64> = BTreeMap::new();
    for candidate in candidates(snapshot, request, &settings()).unwrap() {
        let host = snapshot.host_of(&candidate.placements).unwrap();
        let cost = scoring.map_or(0.0, |scoring| scoring.cost(snapshot, &candidate.placements));
        let least = hosts.entry(snapshot.id(host)).or_insert(cost);
        *least = least.min(cost);
    }
    hosts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: config().cases / 8, ..config() })]

    /// Hosts that need a sharing provider for a part, or for all parts.
    #[test]
    fn the_offers_of_hosts_with_shared_pools_are_those_of_the_plain_search((world, request) in pools(), seed: u64) {
        let snapshot = if seed % 8 < 2 { scatter(&world) } else { build(&world) };
        let settings = SearchSettings { seed, ..settings() };
        for scoring in SCORINGS.into_iter().map(Some).chain([None]) {
            let expected = plain_hosts(&snapshot, &request, scoring);
            let found = best_of_each_host(&snapshot, &request, scoring, &settings).unwrap();
            assert!(found.is_exact);
            assert_costs(&snapshot, &world, &found, &expected);
            for (host, cost) in expected {
                let slot = snapshot.by_id(host).unwrap();
                let best = best_in_host(&snapshot, &request, scoring, slot, &settings).unwrap().unwrap();
                assert_eq!(snapshot.host_of(&best.placements), Some(slot));
                let its_cost = scoring.map_or(0.0, |scoring| scoring.cost(&snapshot, &best.placements));
                assert!((its_cost - cost).abs() < 1e-9, "{scoring:?} {host:?}: {its_cost}, not {cost}");
            }
        }
        let roomy = build(&with_unlimited_room(&world));
        let eligible = eligible_hosts(&snapshot, &request, &settings).unwrap();
        assert_costs(&snapshot, &world, &eligible, &plain_hosts(&roomy, &request, None));
    }
}

/// The pool alone serves through the first host only, because the pool's own host is forbidden. The search left the
/// tree after the candidate of the first host itself.
#[test]
fn a_host_whose_pool_serves_through_another_host_alone_is_found() {
    let world = rows([
        bare(1).with(VCPU, 4).in_aggregates([1]),
        bare(2).traits([2]),
        bare(3).with(VCPU, 4).traits([1]).in_aggregates([1]).below(2, 2),
    ]);
    let mut ask = request(group(&[("VCPU", 1)]));
    ask.root_required.forbidden = set(&["T2"]);
    let snapshot = build(&world);
    for (seed, scoring) in (0..16).flat_map(|seed| [(seed, None), (seed, Some(Scoring::Emptiest))]) {
        let settings = SearchSettings { seed, ..settings() };
        let found = best_of_each_host(&snapshot, &ask, scoring, &settings).unwrap();
        assert_costs(&snapshot, &world, &found, &plain_hosts(&snapshot, &ask, scoring));
        let slot = snapshot.by_id(ProviderId(2)).unwrap();
        assert!(
            best_in_host(&snapshot, &ask, scoring, slot, &settings)
                .unwrap()
                .is_some()
        );
    }
}

/// The world without usage, and with more capacity than any `max_unit`.
fn with_unlimited_room(world: &World) -> World {
    let mut roomy = world.clone();
    for row in roomy.values_mut() {
        row.used.clear();
        for inventory in row.inventories.values_mut() {
            (inventory.total, inventory.reserved, inventory.allocation_ratio) = (i32::MAX, 0, 1.0);
        }
    }
    roomy
}
