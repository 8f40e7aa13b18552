//! Sharing providers: a sharing provider serves all trees with a common aggregate.

use super::trees::{asking, given, granular, mapped, none, snapshot};
use super::*;
use crate::search::candidates::candidates;
use crate::search::request::GroupPolicy;

#[test]
fn a_sharing_provider_serves_the_trees_of_its_aggregates() {
    let pool = |id| bare(id).with(DISK, 9).traits([1]);
    let world = snapshot([
        bare(1).with(VCPU, 4).in_aggregates([1]),
        bare(2).with(VCPU, 4).in_aggregates([1, 2]),
        bare(3).with(VCPU, 4).in_aggregates([3]),
        pool(4).in_aggregates([1]),
        pool(5).in_aggregates([2]),
    ]);
    let ask = request(group(&[("VCPU", 1), ("DISK_GB", 1)]));
    assert_eq!(
        given(&world, &ask),
        ["1:VCPU=1 4:DISK_GB=1", "2:VCPU=1 4:DISK_GB=1", "2:VCPU=1 5:DISK_GB=1"]
    );
    let mut here = ask.clone();
    here.groups[0].in_tree = Some(uuid(1));
    assert_eq!(given(&world, &here), none());
    // A sharing provider alone is a single candidate, whichever tree the provider serves.
    assert_eq!(
        given(&world, &request(group(&[("DISK_GB", 1)]))),
        ["4:DISK_GB=1", "5:DISK_GB=1"]
    );
}

/// Found by the property test: the sharing provider is below a forbidden root, and serves the tree of a second root.
#[test]
fn a_sharing_provider_serves_another_tree_although_its_own_root_is_forbidden() {
    let world = || {
        [
            bare(1).in_aggregates([3]),
            bare(2).with(VCPU, 4).traits([1]).in_aggregates([1]).below(1, 1),
            bare(3).in_aggregates([1]),
        ]
    };
    let mut ask = request(group(&[("VCPU", 1)]));
    assert_eq!(given(&snapshot(world()), &ask), ["2:VCPU=1"]);
    ask.groups[0].member_of.forbidden = set(&["a3"]);
    assert_eq!(given(&snapshot(world()), &ask), ["2:VCPU=1"]);
    ask.groups[0].member_of = MemberOf::default();
    ask.root_required.forbidden = set(&["T2"]);
    let [first, pool, last] = world();
    let marked = snapshot([first.traits([2]), pool.clone(), last]);
    assert_eq!(given(&marked, &ask), ["2:VCPU=1"]);
    let alone = snapshot([bare(1).traits([2]), pool.in_aggregates([])]);
    assert_eq!(given(&alone, &ask), none());
}

/// A defect of OpenStack Placement 16.0.0, which returns one of these three.
#[test]
fn a_group_that_only_sharing_providers_serve_has_a_candidate_for_every_tree() {
    let host = |id| bare(id).with(VCPU, 4).in_aggregates([1]);
    let world = snapshot([
        host(1),
        host(2),
        host(3),
        bare(4).with(DISK, 9).traits([1]).in_aggregates([1]),
    ]);
    let ask = asking(
        &[group(&[("DISK_GB", 1)]), granular("1", &[("VCPU", 1)])],
        GroupPolicy::None,
    );
    assert_eq!(mapped(&world, &ask), [":4 1:1", ":4 1:2", ":4 1:3"]);
}

/// A defect of OpenStack Placement 16.0.0, which answers 500.
#[test]
fn a_sharing_provider_may_be_a_child() {
    let world = snapshot([
        bare(1).with(VCPU, 4).in_aggregates([1]),
        bare(2),
        bare(3).with(DISK, 9).traits([1]).in_aggregates([1]).below(2, 2),
    ]);
    let ask = request(group(&[("VCPU", 1), ("DISK_GB", 1)]));
    assert_eq!(given(&world, &ask), ["1:VCPU=1 3:DISK_GB=1"]);
    let found = candidates(&world, &ask, &settings()).unwrap().found().unwrap();
    assert_eq!(found.summaries.len(), 3);
    let groups = [granular("_A", &[("VCPU", 1)]), granular("_B", &[("DISK_GB", 1)])];
    assert_eq!(mapped(&world, &asking(&groups, GroupPolicy::Isolate)), ["_A:1 _B:3"]);
}
