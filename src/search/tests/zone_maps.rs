//! Clouds of several regions: a search skips the regions whose zone maps rule out a result.

use super::trees::{given, none};
use super::*;
use crate::search::snapshot::{Delta, SnapshotChange};

/// More than two regions of 4,096 providers each; all of them full.
const HOSTS: i32 = 9_000;

fn full(ids: impl Iterator<Item = i32>) -> Vec<ProviderRow> {
    ids.map(|id| bare(id).with(VCPU, 4).using(VCPU, 4)).collect()
}

/// The next version, in which `amount` more of a provider is used.
fn used(snapshot: &Snapshot, id: i32, amount: i64) -> Snapshot {
    let delta = Delta {
        provider: ProviderId(id),
        moves: 1,
        generation: 0,
        modified: None,
        used: vec![(VCPU, amount)],
    };
    snapshot.apply(&SnapshotChange {
        deltas: vec![delta],
        ..SnapshotChange::default()
    })
}

#[test]
fn a_region_is_searched_again_once_a_provider_in_it_has_room() {
    let ask = request(group(&[("VCPU", 1)]));
    let before = Snapshot::build(catalog(), full(1..=HOSTS));
    assert_eq!(given(&before, &ask), none());
    let mut after = used(&before, 5_000, -1);
    assert_eq!(given(&after, &ask), ["5000:VCPU=1"]);
    after = used(&after, HOSTS, -2);
    assert_eq!(given(&after, &ask), ["5000:VCPU=1", "9000:VCPU=1"]);
    after = used(&after, 5_000, 1);
    assert_eq!(given(&after, &ask), ["9000:VCPU=1"]);
    assert_eq!(given(&before, &ask), none());
}

#[test]
fn a_tree_is_found_if_its_only_provider_with_room_is_in_another_region() {
    let ask = request(group(&[("VCPU", 1), ("DISK_GB", 1)]));
    let near = |id| bare(id).with(DISK, 1).below(1, 1);
    let mut rows = full(1..=HOSTS);
    rows.push(near(HOSTS + 1));
    let mut snapshot = Snapshot::build(catalog(), rows);
    assert_eq!(given(&snapshot, &ask), none());
    // The only free slot is in the last region, and no slot near the root is free.
    let far = bare(HOSTS + 2).with(VCPU, 4).below(1, 1);
    snapshot = snapshot.apply(&SnapshotChange {
        reloaded: vec![far],
        ..SnapshotChange::default()
    });
    assert_eq!(given(&snapshot, &ask), ["9001:DISK_GB=1 9002:VCPU=1"]);
    assert_eq!(given(&used(&snapshot, HOSTS + 2, 4), &ask), none());
    assert_eq!(
        given(&snapshot, &request(group(&[("VCPU", 4), ("DISK_GB", 2)]))),
        none()
    );
}
