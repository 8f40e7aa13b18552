//! Explanations of random requests in random worlds, compared with the oracle: what a condition leaves out, what a host
//! lacks, and which conditions a host fails.

use proptest::prelude::*;

use super::oracle::{self, World};
use super::properties::{build, config};
use super::requests::{packing, request};
use super::worlds::{pools, world};
use super::*;
use crate::search::snapshot::AmountRule;
use crate::search::{Condition, Conditions, Lack, explain, lacks_in_host};

const SHARES: TraitId = TraitId(1);

fn is_sharing(row: &ProviderRow) -> bool {
    row.traits.contains(&SHARES)
}

fn hosts(world: &World) -> impl Iterator<Item = ProviderId> {
    let hosts = world.values().filter(|row| row.parent.is_none() && !is_sharing(row));
    hosts.map(|row| row.id)
}

/// The ids of the hosts whose tree has a candidate, by the oracle.
fn serving_by_oracle(world: &World, request: &Request) -> BTreeSet<i32> {
    let serves = |host: &ProviderId| {
        let described = (world, &oracle::Descriptions::new());
        let found = oracle::candidates_in(&catalog(), described, request, false, |id| id == *host);
        found.is_ok_and(|found| !found.is_empty())
    };
    hosts(world).filter(serves).map(|id| id.0).collect()
}

/// The world in which only some rules about the amounts of each class hold.
fn relaxed_world(world: &World, conditions: &Conditions, held: &[Condition]) -> World {
    let mut relaxed = world.clone();
    for (class, name) in conditions.classes.iter().enumerate() {
        let Some(id) = catalog().class_id(name) else { continue };
        let holds = |rule| held.contains(&Condition::Amount { rule, class });
        for row in relaxed.values_mut() {
            let Some(inventory) = row.inventories.get_mut(&id) else {
                continue;
            };
            if !holds(AmountRule::Units) {
                (inventory.min_unit, inventory.max_unit, inventory.step_size) = (1, i32::MAX, 1);
            }
            if !holds(AmountRule::Room) || !holds(AmountRule::Capacity) {
                let used = row.used.entry(id).or_default();
                *used = (*used).min(0);
            }
            if !holds(AmountRule::Capacity) {
                (inventory.total, inventory.reserved, inventory.allocation_ratio) = (i32::MAX, 0, 1.0);
            }
        }
    }
    relaxed
}

/// The hosts with a candidate for some of the conditions, by the oracle.
fn left_by_oracle(world: &World, conditions: &Conditions, held: &[Condition]) -> BTreeSet<i32> {
    let is_impossible = |condition: &Condition| {
        matches!(condition, Condition::Requirement { .. }) || conditions.unknown_name(&catalog(), *condition).is_some()
    };
    if held.iter().any(is_impossible) {
        return BTreeSet::new();
    }
    let request = conditions.relaxed(|condition| held.contains(&condition));
    if request.groups.is_empty() {
        return hosts(world).map(|id| id.0).collect();
    }
    serving_by_oracle(&relaxed_world(world, conditions, held), &request)
}

fn check_thinnings(world: &World, request: &Request) -> std::result::Result<(), TestCaseError> {
    let snapshot = build(world);
    let explanation = explain(&snapshot, request, &settings()).unwrap();
    prop_assert!(explanation.is_exact);
    let all = &explanation.conditions.all;
    let mut before = left_by_oracle(world, &explanation.conditions, &[]);
    prop_assert_eq!(explanation.all().len(), before.len());
    for (at, thinning) in explanation.thinnings().enumerate() {
        let left = left_by_oracle(world, &explanation.conditions, &all[..=at]);
        prop_assert!(left.is_subset(&before));
        prop_assert_eq!(thinning.left, left.len(), "{:?}", thinning);
        prop_assert_eq!(thinning.left_out, before.len() - left.len());
        let left_out: BTreeSet<i32> = explanation.left_out(at).map(|slot| snapshot.id(slot).0).collect();
        prop_assert_eq!(left_out, before.difference(&left).copied().collect());
        before = left;
    }
    // The last condition makes the whole request.
    prop_assert_eq!(before, serving_by_oracle(world, request));
    Ok(())
}

/// The world in which a host has what the host lacks.
fn given(world: &World, snapshot: &Snapshot, lacks: &[Lack]) -> World {
    let mut given = world.clone();
    for lack in lacks {
        let row = given.get_mut(&snapshot.id(lack.provider)).unwrap();
        let inventory = row.inventories.get_mut(&lack.class).unwrap();
        if lack.free < lack.requested {
            let used = row.used.entry(lack.class).or_default();
            *used -= lack.requested - lack.free;
        }
        if !lack.is_allowed {
            (inventory.min_unit, inventory.step_size) = (1, 1);
            inventory.max_unit = inventory.max_unit.max(lack.requested as i32);
        }
    }
    given
}

fn check_lacks(world: &World, request: &Request) -> std::result::Result<(), TestCaseError> {
    let snapshot = build(world);
    let serving = serving_by_oracle(world, request);
    for host in snapshot.hosts() {
        let id = snapshot.id(host).0;
        if serving.contains(&id) {
            continue;
        }
        // An unknown name is an error.
        let Ok(lacks) = lacks_in_host(&snapshot, request, host, &settings()) else {
            return Ok(());
        };
        let given = serving_by_oracle(&given(world, &snapshot, &lacks), request);
        prop_assert!(lacks.is_empty() || given.contains(&id), "{}: {:?}", id, lacks);
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_condition_leaves_out_what_the_oracle_says(world in world(), request in request()) {
        check_thinnings(&world, &request)?;
    }

    #[test]
    fn a_condition_of_pools_leaves_out_what_the_oracle_says((world, request) in pools()) {
        check_thinnings(&world, &request)?;
    }

    #[test]
    fn a_host_with_what_it_lacks_has_a_candidate(world in world(), request in request()) {
        check_lacks(&world, &request)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: config().cases / 10, ..config() })]

    #[test]
    fn packings_leave_out_what_the_oracle_says((world, request) in packing()) {
        check_thinnings(&world, &request)?;
        check_lacks(&world, &request)?;
    }
}
