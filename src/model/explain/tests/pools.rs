//! Sharing providers that fail a condition, and providers that are not up.

use super::causes::{DISK, catalog, for_disk, pool};
use super::*;
use crate::search::PropertyValue;

/// Hosts without disks. The first two are in the aggregate of the pool; the first is in `a2` too.
fn rows() -> Vec<ProviderRow> {
    let mut rows = hosts();
    rows[0].aggregates = [AggregateId(1), AggregateId(2)].into();
    rows[1].aggregates = [AggregateId(1)].into();
    rows.truncate(2);
    rows.push(pool(11, 1, 90));
    rows
}

fn disk_of(change: impl FnOnce(&mut Group)) -> Request {
    let mut request = for_disk(20);
    change(&mut request.groups[0]);
    request
}

fn in_state(state: ProviderState) -> Description {
    Description {
        state,
        ..Description::default()
    }
}

/// The host meets the condition, and its pool does not. A host that does not meet the condition is counted apart.
#[test]
fn a_pool_that_fails_a_condition_is_named_apart_from_hosts_that_fail_the_condition() {
    let snapshot = Snapshot::build(catalog(), rows());
    let member = disk_of(|group| group.member_of.any_of = vec![set(&["a2"])]);
    let aggregates = [
        "1 host is not in the aggregates of member_of: a2.",
        "1 host shares providers that are not in the aggregates of member_of: a2; in reach for DISK_GB: nfs-11.",
    ];
    let mut found = sentences(&snapshot, &member);
    found.sort();
    assert_eq!(found, aggregates);
    let tree = disk_of(|group| group.in_tree = Some("uuid-1".into()));
    let mut found = sentences(&snapshot, &tree);
    found.sort();
    let trees = [
        "1 host is outside of the tree of in_tree: uuid-1.",
        "1 host shares providers that are outside of the tree of in_tree: uuid-1; in reach for DISK_GB: nfs-11.",
    ];
    assert_eq!(found, trees);
    let forbidden = disk_of(|group| group.traits.forbidden = set(&["MISC_SHARES_VIA_AGGREGATE"]));
    let traits = "2 hosts share providers that have a trait that required forbids: MISC_SHARES_VIA_AGGREGATE; in reach \
                  for DISK_GB: nfs-11.";
    assert_eq!(sentences(&snapshot, &forbidden), [traits]);
}

#[test]
fn a_pool_alone_fails_the_conditions_of_its_own_group() {
    let snapshot = Snapshot::build(catalog(), rows());
    let mut granular = asking(vec![request("", 1), request("_D", 20)]);
    granular.groups[1].resources[0].0 = "DISK_GB".to_owned();
    granular.groups[1].traits.required = vec![set(&["FAST"])];
    let lacking = "2 hosts share providers that lack trait FAST of required_D; in reach for DISK_GB: nfs-11.";
    assert_eq!(sentences(&snapshot, &granular), [lacking]);
    granular.groups[1].traits.required.clear();
    granular.groups[1].condition = std::sync::Arc::new("kind == ssd".parse().unwrap());
    let kind = Description {
        properties: [("kind".into(), Some(PropertyValue::Text("hdd".into())))].into(),
        ..Description::default()
    };
    let snapshot = snapshot.with_descriptions([(ProviderId(11), kind)]);
    let property = "2 hosts share providers that do not meet where_D: kind == ssd; in reach for DISK_GB: nfs-11.";
    assert_eq!(sentences(&snapshot, &granular), [property]);
}

/// Four pools of each host are draining: three are named.
#[test]
fn pools_that_are_not_up_are_named_with_their_states() {
    let draining = (11..=14).map(|id| (ProviderId(id), in_state(ProviderState::Draining)));
    let mut rows = rows();
    rows.extend((12..=14).map(|id| pool(id, 1, 90)));
    let off = [(ProviderId(2), in_state(ProviderState::Off))];
    let snapshot = Snapshot::build(catalog(), rows).with_descriptions(draining.chain(off));
    let mut request = for_disk(20);
    request.host.only_up = true;
    let mut found = sentences(&snapshot, &request);
    found.sort();
    let pools = "1 host shares providers that are not up; in reach for DISK_GB: nfs-11 (draining), nfs-12 (draining), \
                 nfs-13 (draining), ….";
    assert_eq!(found, ["1 host is off.", pools]);
}

/// A host with two classes of pools, of which one fails: the failing pool is named.
#[test]
fn of_two_classes_of_pools_the_failing_class_is_named() {
    let mut rows = rows();
    rows.truncate(2);
    rows.iter_mut().for_each(|row| row.inventories.clear());
    rows.push(pool(11, 1, 90));
    rows[2].aggregates = [AggregateId(1), AggregateId(2)].into();
    let mut cpus = pool(12, 1, 90);
    let inventory = cpus.inventories.remove(&DISK).unwrap();
    cpus.used.clear();
    cpus.inventories.insert(ClassId(0), inventory);
    rows.push(cpus);
    let snapshot = Snapshot::build(catalog(), rows);
    let member = disk_of(|group| group.member_of.any_of = vec![set(&["a2"])]);
    let expected =
        "2 hosts share providers that are not in the aggregates of member_of: a2; in reach for VCPU: nfs-12.";
    assert_eq!(sentences(&snapshot, &member), [expected]);
}

/// A tree of a host without VCPU and two children with 4 each.
fn tree() -> Vec<ProviderRow> {
    let root = ProviderRow::bare(ProviderId(1), "uuid-1", "gpu");
    let child = |id: i32| {
        let mut row = ProviderRow::bare(ProviderId(id), format!("uuid-{id}"), format!("gpu_{id}"));
        row.inventories.insert(ClassId(0), Inventory::whole(4));
        (row.parent, row.root) = (Some(ProviderId(1)), ProviderId(1));
        row
    };
    vec![root, child(2), child(3)]
}

#[test]
fn a_provider_that_is_off_has_no_room_and_is_named() {
    let mut rows = tree();
    rows[1].used.insert(ClassId(0), 1);
    let off = [(ProviderId(3), in_state(ProviderState::Off))];
    let snapshot = Snapshot::build(catalog(), rows).with_descriptions(off);
    let mut one = asking(vec![request("", 4)]);
    one.host.only_up = true;
    let room = "1 host has too little room for VCPU: 4 requested, at most 3 free, on gpu_2; not up: gpu_3 (off).";
    assert_eq!(sentences(&snapshot, &one), [room]);
    let mut isolated = asking(vec![request("_A", 1), request("_B", 1)]);
    isolated.group_policy = Some(GroupPolicy::Isolate);
    isolated.host.only_up = true;
    let apart = "1 host has too few providers for groups that group_policy=isolate keeps apart; not up: gpu_3 (off).";
    assert_eq!(sentences(&snapshot, &isolated), [apart]);
    // Without regard to states the child is there, and enough.
    isolated.host.only_up = false;
    assert_eq!(sentences(&snapshot, &isolated), [""; 0]);
}

#[test]
fn a_host_without_a_provider_that_is_up_names_the_providers() {
    let states = [2, 3].map(|id| (ProviderId(id), in_state(ProviderState::Off)));
    let snapshot = Snapshot::build(catalog(), tree()).with_descriptions(states);
    let mut one = asking(vec![request("", 4)]);
    one.host.only_up = true;
    let needs = "1 host needs providers that are not up; not up: gpu_2 (off), gpu_3 (off).";
    assert_eq!(sentences(&snapshot, &one), [needs]);
}
