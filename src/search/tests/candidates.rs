//! Candidates of a single provider each, in worlds listed in the tests.

use super::*;
use crate::error::Error;
use crate::search::snapshot::AmountRule;
use crate::search::{Condition, candidates, explain};

fn find(snapshot: &Snapshot, request: &Request) -> crate::error::Result<Found> {
    candidates(snapshot, request, &settings()).and_then(|all| all.found())
}

/// The ids of the providers of each candidate, sorted.
fn hosts(rows: impl IntoIterator<Item = ProviderRow>, request: &Request) -> Vec<i32> {
    let snapshot = Snapshot::build(catalog(), rows.into_iter().collect());
    let found = find(&snapshot, request).unwrap();
    let mut hosts: Vec<i32> = found
        .candidates
        .iter()
        .map(|candidate| snapshot.id(candidate.placements[0].slot).0)
        .collect();
    hosts.sort_unstable();
    hosts
}

#[test]
fn a_host_serves_a_group_completely_or_not_at_all() {
    let world = [
        bare(1).with(VCPU, 4).with(DISK, 10),
        bare(2).with(VCPU, 4).with(DISK, 10).using(VCPU, 3),
        bare(3).with(VCPU, 4),
        bare(4).with(VCPU, 4).with(DISK, 10).using(VCPU, -9),
    ];
    assert_eq!(
        hosts(world.clone(), &request(group(&[("VCPU", 2), ("DISK_GB", 10)]))),
        [1, 4]
    );
    assert_eq!(hosts(world, &request(group(&[("VCPU", 1)]))), [1, 2, 3, 4]);
}

#[test]
fn a_candidate_has_amounts_and_the_providers_of_each_group() {
    let snapshot = Snapshot::build(catalog(), vec![bare(5).with(VCPU, 4).with(DISK, 9)]);
    let found = find(&snapshot, &request(group(&[("VCPU", 2), ("DISK_GB", 3)]))).unwrap();
    let slot = snapshot.by_id(ProviderId(5)).unwrap();
    assert_eq!(found.candidates[0].mappings, [("".into(), slot.into())]);
    let placements = found.candidates[0]
        .placements
        .iter()
        .map(|placement| (placement.slot, placement.class, placement.amount));
    assert_eq!(placements.collect::<Vec<_>>(), [(slot, VCPU, 2), (slot, DISK, 3)]);
    assert_eq!(found.summaries, [slot]);
}

#[test]
fn every_filter_restricts_the_candidates() {
    let world = || {
        let host = |id| bare(id).with(VCPU, 4);
        [
            host(1).traits([2, 3]).in_aggregates([1]),
            host(2).traits([2]).in_aggregates([2]),
            host(3).traits([3, 4]).in_aggregates([1, 3]),
        ]
    };
    let asked = |change: fn(&mut Request)| {
        let mut request = request(group(&[("VCPU", 1)]));
        change(&mut request);
        hosts(world(), &request)
    };
    assert_eq!(asked(|request| request.groups[0].traits = required(&["T2"])), [1, 2]);
    assert_eq!(asked(|request| request.groups[0].traits = required(&["T2", "T3"])), [1]);
    assert_eq!(
        asked(|request| request.groups[0].traits.required = vec![set(&["T2", "T4"]), set(&["T3"])]),
        [1, 3]
    );
    assert_eq!(asked(|request| request.groups[0].traits.forbidden = set(&["T3"])), [2]);
    assert_eq!(
        asked(|request| request.groups[0].member_of = member_of(&["a1", "a2"])),
        [1, 2, 3]
    );
    assert_eq!(
        asked(|request| request.groups[0].member_of.any_of = vec![set(&["a1"]), set(&["a3", "unknown"])]),
        [3]
    );
    assert_eq!(
        asked(|request| request.groups[0].member_of = member_of(&["unknown"])),
        [0i32; 0]
    );
    assert_eq!(
        asked(|request| request.groups[0].member_of.forbidden = set(&["a1", "unknown"])),
        [2]
    );
    assert_eq!(asked(|request| request.root_required = required(&["T3"])), [1, 3]);
    assert_eq!(asked(|request| request.root_required.forbidden = set(&["T3"])), [2]);
    assert_eq!(asked(|request| request.groups[0].in_tree = Some(uuid(2))), [2]);
    assert_eq!(asked(|request| request.groups[0].in_tree = Some(uuid(9))), [0i32; 0]);
}

#[test]
fn unknown_names_are_refused_in_the_order_in_which_filters_are_tried() {
    let snapshot = Snapshot::build(catalog(), vec![bare(1).with(VCPU, 4)]);
    let bad = |change: fn(&mut Request)| {
        let mut request = request(group(&[("VCPU", 1)]));
        change(&mut request);
        find(&snapshot, &request).map(|found| found.candidates.len())
    };
    let class = |name: &str| Err(Error::UnknownClassInQuery { name: name.to_owned() });
    let traits = |names: &str| {
        Err(Error::UnknownTraitsInCandidates {
            names: names.to_owned(),
        })
    };
    assert_eq!(
        bad(|request| request.groups[0].resources = vec![("COWS".into(), 1)]),
        class("COWS")
    );
    assert_eq!(bad(|request| request.groups[0].traits = required(&["X"])), traits("X"));
    assert_eq!(
        bad(|request| request.groups[0].traits.forbidden = set(&["Y"])),
        traits("Y")
    );
    assert_eq!(bad(|request| request.root_required = required(&["Z"])), traits("Z"));
    // If no provider passes a filter the answer is empty, before later names are looked at.
    assert_eq!(
        bad(|request| (request.groups[0].traits, request.groups[0].member_of) = (required(&["X"]), member_of(&["a1"]))),
        Ok(0)
    );
    assert_eq!(
        bad(|request| (request.groups[0].traits, request.root_required) = (required(&["X"]), required(&["T2"]))),
        Ok(0)
    );
}

#[test]
fn unknown_names_are_refused_without_any_provider_unless_a_filter_before_them_matches_nothing() {
    let empty = Snapshot::build(catalog(), Vec::new());
    let asked = |change: fn(&mut Request)| {
        let mut request = request(group(&[("VCPU", 1)]));
        change(&mut request);
        find(&empty, &request).map(|found| found.candidates.len())
    };
    let class = |name: &str| Err(Error::UnknownClassInQuery { name: name.to_owned() });
    let traits = |names: &str| {
        Err(Error::UnknownTraitsInCandidates {
            names: names.to_owned(),
        })
    };
    assert_eq!(asked(|_| ()), Ok(0));
    assert_eq!(
        asked(|request| request.groups[0].resources = vec![("COWS".into(), 1)]),
        class("COWS")
    );
    assert_eq!(
        asked(|request| request.groups[0].traits = required(&["X"])),
        traits("X")
    );
    assert_eq!(
        asked(|request| request.groups[0].traits.forbidden = set(&["Y"])),
        traits("Y")
    );
    assert_eq!(
        asked(|request| (request.groups[0].traits, request.groups[0].in_tree) = (required(&["X"]), Some(uuid(9)))),
        traits("X")
    );
    // A forbidden aggregate excludes no provider here.
    assert_eq!(
        asked(
            |request| (request.groups[0].traits, request.groups[0].member_of.forbidden) =
                (required(&["X"]), set(&["a1"]))
        ),
        traits("X")
    );
    assert_eq!(
        asked(
            |request| (request.groups[0].traits, request.groups[0].member_of) = (required(&["X"]), member_of(&["a1"]))
        ),
        Ok(0)
    );
    let with = |root_required: Traits, groups: Vec<Group>| {
        let request = Request {
            groups,
            root_required,
            ..request(Group::default())
        };
        find(&empty, &request).map(|found| found.candidates.len())
    };
    let unknown = Group {
        suffix: "1".to_owned(),
        resources: vec![("COWS".to_owned(), 1)],
        ..Group::default()
    };
    assert_eq!(with(required(&["T2"]), vec![unknown.clone()]), Ok(0));
    assert_eq!(with(Traits::default(), vec![unknown.clone()]), class("COWS"));
    assert_eq!(
        with(Traits::default(), vec![group(&[("VCPU", 1)]), unknown]),
        Ok(0),
        "a group that no provider serves ends the request before the groups after it"
    );
}

#[test]
fn strict_steps_refuse_a_min_unit_that_is_no_multiple() {
    let mut host = bare(1);
    host.inventories.insert(
        VCPU,
        Inventory {
            min_unit: 5,
            step_size: 10,
            ..stock(100)
        },
    );
    let snapshot = Snapshot::build(catalog(), vec![host]);
    let count = |amount, strict_step| {
        let ask = request(group(&[("VCPU", amount)]));
        candidates(
            &snapshot,
            &ask,
            &SearchSettings {
                strict_step,
                ..settings()
            },
        )
        .unwrap()
        .count()
    };
    assert_eq!([count(5, false), count(15, false), count(20, false)], [1, 0, 1]);
    assert_eq!([count(5, true), count(20, true)], [0, 1]);
}

#[test]
fn aggregates_of_a_root_count_for_its_tree() {
    let world = || {
        [
            bare(1).in_aggregates([1]),
            bare(2).with(VCPU, 4).below(1, 1),
            bare(3).with(VCPU, 4).in_aggregates([1, 2]),
        ]
    };
    let mut ask = request(group(&[("VCPU", 1)]));
    ask.groups[0].member_of = member_of(&["a1"]);
    assert_eq!(hosts(world(), &ask), [2, 3]);
    ask.groups[0].member_of = MemberOf {
        any_of: Vec::new(),
        forbidden: set(&["a1"]),
    };
    assert_eq!(hosts(world(), &ask), [0i32; 0]);
    ask.groups[0].member_of = MemberOf::default();
    ask.groups[0].in_tree = Some(uuid(2));
    assert_eq!(hosts(world(), &ask), [2]);
}

#[test]
fn each_host_is_left_out_by_the_first_condition_that_the_host_fails() {
    let host = |id| bare(id).with(VCPU, 4).traits([2]).in_aggregates([1]);
    let world = vec![
        host(1),
        host(2).traits([]),
        host(3).traits([2, 3]),
        host(4).in_aggregates([2]),
        host(5).in_aggregates([1, 3]),
        host(6).using(VCPU, 4),
        bare(7).traits([2]).in_aggregates([1]).with(VCPU, 1),
        bare(8).traits([2]).in_aggregates([1]),
        host(9).traits([2, 4]),
    ];
    let snapshot = Snapshot::build(catalog(), world);
    let mut ask = request(group(&[("VCPU", 2)]));
    ask.groups[0].traits = Traits {
        required: vec![set(&["T2"])],
        forbidden: set(&["T3"]),
    };
    ask.groups[0].member_of = MemberOf {
        any_of: vec![set(&["a1"])],
        forbidden: set(&["a3"]),
    };
    ask.root_required.forbidden = set(&["T4"]);
    let explanation = explain(&snapshot, &ask, None, &settings()).unwrap();
    let amount = |rule| Condition::Amount { rule, class: 0 };
    let expected = [
        (Condition::Inventory { group: 0, index: 0 }, vec![8]),
        (Condition::MemberOf { group: 0, index: 0 }, vec![4]),
        (Condition::NotMemberOf { group: 0 }, vec![5]),
        (Condition::Trait { group: 0, index: 0 }, vec![2]),
        (Condition::NoRootTrait, vec![9]),
        (Condition::NoTrait { group: 0 }, vec![3]),
        (amount(AmountRule::Capacity), vec![7]),
        (amount(AmountRule::Units), vec![]),
        (amount(AmountRule::Room), vec![6]),
        (amount(AmountRule::NormalRoom), vec![]),
    ];
    let ids = |at| explanation.left_out(at).map(|slot| snapshot.id(slot).0).collect();
    let found = explanation.thinnings().enumerate();
    let found: Vec<(Condition, Vec<i32>)> = found.map(|(at, it)| (it.condition, ids(at))).collect();
    assert_eq!(found, expected);
    assert_eq!(explanation.thinnings().last().map(|it| it.left), Some(1));
}

/// The pool may be in a block of its own, in which cores are looked for first. Either no host in the rest of the blocks
/// has a free core, or the pool's block is the first.
#[test]
fn hosts_whose_pool_is_full_lack_room_wherever_the_pool_is() {
    let host = |id| bare(id).with(VCPU, 4).in_aggregates([1]);
    for hosts in [1, 64] {
        let mut world: Vec<ProviderRow> = (1..=hosts).map(host).collect();
        world.push(
            bare(hosts + 1)
                .with(DISK, 9)
                .using(DISK, 9)
                .traits([1])
                .in_aggregates([1]),
        );
        let snapshot = Snapshot::build(catalog(), world);
        let ask = request(group(&[("VCPU", 1), ("DISK_GB", 1)]));
        for seed in 0..8 {
            let settings = SearchSettings { seed, ..settings() };
            let explanation = explain(&snapshot, &ask, None, &settings).unwrap();
            let mut thinnings = explanation.thinnings().filter(|it| it.left_out > 0);
            let room = thinnings.next().unwrap();
            assert_eq!(
                room.condition,
                Condition::Amount {
                    rule: AmountRule::Room,
                    class: 1
                }
            );
            assert_eq!(
                (room.left_out, room.left),
                (hosts as usize, 0),
                "{hosts} hosts, seed {seed}"
            );
            let providers = explanation.providers(&snapshot, 1, &Default::default()).unwrap();
            let room = providers.room(explanation.suitable_hosts()).unwrap();
            assert_eq!(room.free.amount, 0);
        }
    }
}
