//! Explanations of random requests in random worlds, compared with the oracle: what a condition leaves out, what a host
//! lacks, and which conditions a host fails.

use proptest::prelude::*;

use super::oracle::{self, World};
use super::properties::{build, config, scatter};
use super::request as request_of;
use super::requests::{packing, request};
use super::worlds::{pools, world};
use super::*;
use crate::interrupt::Interrupt;
use crate::search::snapshot::AmountRule;
use crate::search::{
    Condition, Conditions, Edit, ExplainedRequest, Lack, RequestChange, explain, failed_conditions, lacks_in_host,
    nearest, single_changes,
};

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
    let explanation = explain(&snapshot, request, None, &settings()).unwrap();
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

/// Without the failed conditions the host has a candidate; with any of them at the end of the list, the host has none.
fn check_failed(world: &World, request: &Request) -> std::result::Result<(), TestCaseError> {
    let snapshot = build(world);
    let conditions = Conditions::of(request);
    for host in snapshot.hosts() {
        let (failed, is_exact) = failed_conditions(&snapshot, request, host, &settings()).unwrap();
        prop_assert!(is_exact);
        prop_assert!(failed.is_sorted_by(|one, next| one < next), "{:?}", failed);
        for count in 0..=failed.len() {
            let all = conditions.all.iter().copied();
            let held: Vec<Condition> = all.filter(|it| !failed[..count].contains(it)).collect();
            let has_candidate = left_by_oracle(world, &conditions, &held).contains(&snapshot.id(host).0);
            prop_assert_eq!(has_candidate, count == failed.len(), "{} of {:?}", count, failed);
        }
    }
    Ok(())
}

/// The nearest hosts have the least missing shares of all hosts without a candidate.
fn check_nearest(world: &World, request: &Request) -> std::result::Result<(), TestCaseError> {
    // The providers of a tree lie apart in memory.
    let snapshot = scatter(world);
    let serving = serving_by_oracle(world, request);
    let mut shares = Vec::new();
    for host in snapshot.hosts().filter(|host| !serving.contains(&snapshot.id(*host).0)) {
        let Ok(lacks) = lacks_in_host(&snapshot, request, host, &settings()) else {
            break;
        };
        shares.extend(lacks.iter().map(|lack| lack.share).reduce(f64::max));
    }
    shares.sort_by(f64::total_cmp);
    let explanation = explain(&snapshot, request, None, &settings()).unwrap();
    for count in [1, 100] {
        let (found, _) = nearest(&snapshot, &explanation, count, &settings(), &Interrupt::default()).unwrap();
        let hosts: BTreeSet<Slot> = found.iter().map(|nearest| nearest.host).collect();
        prop_assert_eq!(hosts.len(), found.len());
        let found: Vec<f64> = found.iter().map(|nearest| nearest.share).collect();
        prop_assert_eq!(&found[..], &shares[..count.min(shares.len())]);
    }
    Ok(())
}

/// Each condition whose removal gives a host a candidate is a change. So are the next amounts with a candidate.
fn check_changes(world: &World, request: &Request) -> std::result::Result<(), TestCaseError> {
    let snapshot = build(world);
    // Before trees were searched, each group requested resources.
    let request = Request {
        nested: true,
        ..request.clone()
    };
    let explanation = explain(&snapshot, &request, None, &settings()).unwrap();
    if !explanation.with_candidate().is_empty() {
        return Ok(());
    }
    let (changes, is_exact) = single_changes(&snapshot, &explanation, &settings(), &Interrupt::default()).unwrap();
    prop_assert!(is_exact);
    let ids = |change: &RequestChange| change.hosts.iter().map(|host| snapshot.id(host).0).collect();
    let changes: Vec<EditedHosts> = changes.iter().map(|change| (change.edit, ids(change))).collect();
    prop_assert_eq!(changes, changes_by_oracle(world, &explanation));
    Ok(())
}

/// An edit with the ids of the hosts that have a candidate for the edited request.
type EditedHosts = (Edit, BTreeSet<i32>);

fn changes_by_oracle(world: &World, explanation: &ExplainedRequest) -> Vec<EditedHosts> {
    let conditions = &explanation.conditions;
    let mut changes = Vec::new();
    for &removed in &conditions.all {
        let is_removable = match removed {
            Condition::Inventory { group, .. } => conditions.request.groups[group].resources.len() > 1,
            Condition::Requirement { .. } | Condition::State | Condition::Amount { .. } => false,
            _ => true,
        };
        let held: Vec<Condition> = conditions.all.iter().copied().filter(|it| *it != removed).collect();
        let hosts = left_by_oracle(world, conditions, &held);
        changes.extend((is_removable && !hosts.is_empty()).then_some((Edit::Without(removed), hosts)));
    }
    for group in lasts_of_repeated(conditions) {
        let hosts = serving_by_oracle(world, &without_group(conditions.request, group));
        changes.extend((!hosts.is_empty()).then_some((Edit::WithoutGroup { group }, hosts)));
    }
    for &condition in &conditions.all {
        let Condition::Inventory { group, index } = condition else {
            continue;
        };
        let requested = conditions.request.groups[group].resources[index].1;
        let with = |amount: i64| {
            let mut changed = conditions.request.clone();
            for alike in conditions.alike(group) {
                changed.groups[alike].resources[index].1 = amount;
            }
            let hosts = serving_by_oracle(world, &changed);
            let edit = Edit::Amount { group, index, amount };
            (!hosts.is_empty()).then_some((edit, hosts))
        };
        changes.extend((1..requested).rev().find_map(with));
        changes.extend((requested + 1..=GREATEST_STEP + requested).find_map(with));
    }
    changes
}

/// The granular groups that share a class with a further group; of groups with the same request the last.
fn lasts_of_repeated(conditions: &Conditions) -> Vec<usize> {
    let groups = &conditions.request.groups;
    let lasts = (0..groups.len()).filter_map(|group| conditions.alike(group).last());
    let classes = |at: usize| groups[at].resources.iter().map(|(class, _)| class);
    let shares = |at: &usize| {
        let others = (0..groups.len()).filter(|other| other != at);
        !groups[*at].suffix.is_empty()
            && others
                .flat_map(classes)
                .any(|class| classes(*at).any(|own| own == class))
    };
    lasts.filter(shares).collect()
}

/// The request without a group; the rules of `same_subtrees` do not name the group.
fn without_group(request: &Request, group: usize) -> Request {
    let suffix = &request.groups[group].suffix;
    let groups = request.groups.iter().filter(|kept| kept.suffix != *suffix);
    let of_kept = |rule: &Vec<String>| {
        let kept = rule.iter().filter(|name| *name != suffix);
        kept.cloned().collect::<Vec<String>>()
    };
    let rules = request.same_subtrees.iter().map(of_kept);
    Request {
        groups: groups.cloned().collect(),
        same_subtrees: rules.filter(|rule| !rule.is_empty()).collect(),
        ..request.clone()
    }
}

/// No allowed amount of these worlds is further from the next one.
const GREATEST_STEP: i64 = 64;

/// A hundred hosts, of which each lacks another one of a hundred traits; and the traits as a request.
fn without_a_trait_each() -> (Snapshot, Request) {
    let traits = 1_000..1_100;
    let names = traits.clone().map(|id| (TraitId(id), format!("T{id}").into()));
    let classes = vec![(VCPU, "VCPU".into())];
    let hosts = traits.clone().map(|lacking| {
        let mut host = bare(lacking).with(VCPU, 1);
        host.traits = traits.clone().filter(|id| *id != lacking).map(TraitId).collect();
        host
    });
    let snapshot = Snapshot::build(Catalog::new(classes, names.collect(), Vec::new()), hosts.collect());
    let mut group = group(&[("VCPU", 1)]);
    group.traits.required = traits.map(|id| [format!("T{id}")].into()).collect();
    (snapshot, request_of(group))
}

#[test]
fn conditions_beyond_the_budget_are_counted_together() {
    let (snapshot, request) = without_a_trait_each();
    let with_budget = |explanation_searches| SearchSettings {
        limits: SearchLimits {
            explanation_searches,
            ..settings().limits
        },
        ..settings()
    };
    for (searches, least_merged) in [(usize::MAX, 1), (50, 2), (0, 100)] {
        let explanation = explain(&snapshot, &request, None, &with_budget(searches)).unwrap();
        let thinnings: Vec<_> = explanation.thinnings().filter(|it| it.left_out > 0).collect();
        assert_eq!(thinnings.iter().map(|it| it.left_out).sum::<usize>(), 100);
        assert!(thinnings.iter().all(|it| it.left_out <= it.conditions), "{thinnings:?}");
        assert!(
            thinnings.iter().any(|it| it.conditions >= least_merged),
            "{thinnings:?}"
        );
        assert_eq!(explanation.is_exact, searches == usize::MAX);
    }
    let host = snapshot.hosts().next().unwrap();
    let (failed, is_exact) = failed_conditions(&snapshot, &request, host, &with_budget(0)).unwrap();
    assert_eq!((failed.len(), is_exact), (1, false));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn without_the_failed_conditions_a_host_has_a_candidate(world in world(), request in request()) {
        check_failed(&world, &request)?;
    }

    #[test]
    fn the_nearest_hosts_lack_least(world in world(), request in request()) {
        check_nearest(&world, &request)?;
    }

    #[test]
    fn single_changes_are_those_of_the_oracle(world in world(), request in request()) {
        check_changes(&world, &request)?;
    }

    #[test]
    fn single_changes_with_pools_are_those_of_the_oracle((world, request) in pools()) {
        check_changes(&world, &request)?;
    }

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
