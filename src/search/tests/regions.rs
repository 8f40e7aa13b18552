//! Clouds of several regions, of which a search passes over those where nobody can serve.

use super::trees::{given, none};
use super::*;
use crate::search::snapshot::{Change, Delta};

/// More than two regions of 4,096 providers each; all of them full.
const HOSTS: i32 = 9_000;

fn full(ids: impl Iterator<Item = i32>) -> Vec<ProviderRow> {
    ids.map(|id| bare(id).with(VCPU, 4).using(VCPU, 4)).collect()
}

/// The next version, in which so much more of a provider is used.
fn used(snapshot: &Snapshot, id: i32, amount: i64) -> Snapshot {
    let delta = Delta {
        provider: ProviderId(id),
        moves: 1,
        generation: 0,
        modified: None,
        used: vec![(VCPU, amount)],
    };
    snapshot.apply(&Change {
        deltas: vec![delta],
        ..Change::default()
    })
}

#[test]
fn a_region_is_looked_at_again_when_somebody_there_has_room() {
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
fn a_tree_is_found_whose_root_has_nobody_near_with_room() {
    let ask = request(group(&[("VCPU", 1), ("DISK_GB", 1)]));
    let near = |id| bare(id).with(DISK, 1).below(1, 1);
    let mut rows = full(1..=HOSTS);
    rows.push(near(HOSTS + 1));
    let mut snapshot = Snapshot::build(catalog(), rows);
    assert_eq!(given(&snapshot, &ask), none());
    // It finds no vacancy beside its root, but in the last region.
    let far = bare(HOSTS + 2).with(VCPU, 4).below(1, 1);
    snapshot = snapshot.apply(&Change {
        reloaded: vec![far],
        ..Change::default()
    });
    assert_eq!(given(&snapshot, &ask), ["9001:DISK_GB=1 9002:VCPU=1"]);
    assert_eq!(given(&used(&snapshot, HOSTS + 2, 4), &ask), none());
    assert_eq!(
        given(&snapshot, &request(group(&[("VCPU", 4), ("DISK_GB", 2)]))),
        none()
    );
}
