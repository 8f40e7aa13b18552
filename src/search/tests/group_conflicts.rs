//! The reason for no candidate, although trees could serve each group alone.

use super::trees::{asking, granular, snapshot};
use super::*;
use crate::search::candidates::candidates;
use crate::search::explain::Rejection;
use crate::search::request::GroupPolicy;
use crate::search::{GroupConflict, Relation, group_conflict};

const T2: &str = "T2";

/// A root with two nodes: the first with a device below, the second with the trait.
fn host() -> Snapshot {
    snapshot([
        bare(1),
        bare(2).with(VCPU, 4).below(1, 1),
        bare(3).with(VCPU, 4).traits([2]).below(1, 1),
        bare(4).with(DISK, 4).below(2, 1),
    ])
}

fn conflict(snapshot: &Snapshot, request: &Request) -> Option<GroupConflict> {
    assert_eq!(candidates(snapshot, request, &settings(), ()).unwrap().count(), 0);
    group_conflict(snapshot, request, &settings()).unwrap()
}

fn groups(amounts: &[i64]) -> Vec<Group> {
    let suffixes = ["_A", "_B", "_C"].into_iter().zip(amounts);
    suffixes
        .map(|(suffix, &amount)| granular(suffix, &[("VCPU", amount)]))
        .collect()
}

/// A node with the trait, and a device, by a rule of `same_subtree`.
fn node_and_device() -> Request {
    let mut node = granular("_A", &[("VCPU", 1)]);
    node.traits = required(&[T2]);
    Request {
        same_subtrees: vec![vec!["_A".into(), "_B".into()]],
        ..asking(&[node, granular("_B", &[("DISK_GB", 1)])], GroupPolicy::None)
    }
}

fn found(trees: usize, decisive: &[Relation]) -> Option<GroupConflict> {
    let decisive = decisive.to_vec();
    Some(GroupConflict { trees, decisive })
}

#[test]
fn the_only_condition_without_which_there_is_a_candidate_is_found() {
    let flat = snapshot([bare(1).with(VCPU, 8), bare(2).with(VCPU, 8), bare(3)]);
    let isolated = asking(&groups(&[1, 1]), GroupPolicy::Isolate);
    assert_eq!(conflict(&flat, &isolated), found(2, &[Relation::Isolate]));
    let too_much = asking(&groups(&[5, 5]), GroupPolicy::None);
    assert_eq!(conflict(&flat, &too_much), found(2, &[Relation::Sum]));
    assert_eq!(
        conflict(&host(), &asking(&groups(&[3, 3, 3]), GroupPolicy::None)),
        found(1, &[Relation::Sum])
    );
    assert_eq!(
        conflict(&host(), &node_and_device()),
        found(1, &[Relation::SameSubtree])
    );
}

#[test]
fn two_conditions_of_which_one_is_not_enough_are_found_together() {
    let mut both = node_and_device();
    let mut second = granular("_C", &[("VCPU", 1)]);
    second.traits = required(&[T2]);
    both.groups.push(second);
    both.group_policy = Some(GroupPolicy::Isolate);
    assert_eq!(conflict(&host(), &both), found(1, &[Relation::IsolateAndSameSubtree]));
    // Three groups of three need a third node, and more room.
    let more = asking(&groups(&[3, 3, 3]), GroupPolicy::Isolate);
    assert_eq!(conflict(&host(), &more), found(1, &[Relation::Sum]));
    // If no serving provider has the traits, neither of two conditions is in the way alone.
    let mut ask = asking(&groups(&[1, 1, 1]), GroupPolicy::Isolate);
    let world = snapshot([
        bare(1).with(DISK, 4),
        bare(2).with(VCPU, 4).below(1, 1),
        bare(3).traits([2]).below(1, 1),
    ]);
    ask.groups.push(Group {
        traits: required(&[T2]),
        ..group(&[("DISK_GB", 1)])
    });
    assert_eq!(conflict(&world, &ask), found(1, &[]));
}

#[test]
fn traits_that_no_serving_provider_has_are_found() {
    let world = snapshot([
        bare(1).with(VCPU, 4),
        bare(2).with(DISK, 4).below(1, 1),
        bare(3).traits([2]).below(1, 1),
    ]);
    let mut ask = request(group(&[("VCPU", 1), ("DISK_GB", 1)]));
    ask.groups[0].traits = required(&[T2]);
    assert_eq!(conflict(&world, &ask), found(1, &[Relation::Traits]));
}

#[test]
fn a_group_that_no_provider_serves_is_no_conflict() {
    let unserved = asking(&groups(&[1, 5]), GroupPolicy::Isolate);
    assert_eq!(conflict(&host(), &unserved), None);
    assert_eq!(conflict(&host(), &request(group(&[("VCPU", 9)]))), None);
}

struct Listed<'a>(&'a mut Vec<(Slot, Rejection)>);

impl Explain for Listed<'_> {
    fn rejected(&mut self, slot: Slot, reason: Rejection) {
        self.0.push((slot, reason));
    }
}

#[test]
fn a_tree_is_rejected_for_its_root_and_for_a_trait_that_none_of_its_providers_has() {
    let reasons_of_root = |change: fn(&mut Request)| {
        let mut ask = request(group(&[("VCPU", 1), ("DISK_GB", 1)]));
        change(&mut ask);
        let mut world = rows([
            bare(1).in_aggregates([1]),
            bare(2).with(VCPU, 4).below(1, 1),
            bare(4).with(DISK, 4).below(2, 1),
        ]);
        world.insert(ProviderId(9), bare(9).traits([3]));
        let world = snapshot(world.into_values());
        let mut reasons = Vec::new();
        let all = candidates(&world, &ask, &settings(), Listed(&mut reasons)).unwrap();
        assert_eq!(all.count(), 0);
        let of_root = reasons.into_iter().filter(|(slot, _)| world.id(*slot).0 == 1);
        let of_root = of_root.map(|(_, reason)| reason);
        let of_root: BTreeSet<Rejection> = of_root
            .filter(|reason| !matches!(reason, Rejection::NoInventory { .. }))
            .collect();
        of_root
    };
    assert_eq!(
        reasons_of_root(|ask| ask.groups[0].traits = required(&["T3"])),
        [Rejection::MissingTraitInTree { group: 0, index: 0 }].into()
    );
    assert_eq!(
        reasons_of_root(|ask| ask.root_required = required(&["T3"])),
        [Rejection::Root].into()
    );
    assert_eq!(
        reasons_of_root(|ask| ask.groups[0].member_of.forbidden = set(&["a1"])),
        [Rejection::ForbiddenMember { group: 0 }].into()
    );
}
