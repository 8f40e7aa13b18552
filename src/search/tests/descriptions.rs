//! Conditions on descriptions: random small worlds against the oracle, and single cases with names.

mod declared;
mod host_domains;
mod random_worlds;

use std::sync::Arc;

use super::{VCPU, bare, build_colliding, catalog, group, rows, settings};
use crate::search::request::{Domain, HOST_DIMENSION, HostConditions, Request};
use crate::search::snapshot::{
    AggregateId, Declarations, Description, PropertyValue, ProviderId, ProviderRow, ProviderState, Snapshot,
    SnapshotChange,
};
use crate::search::{Condition, candidates, explain};

/// A change of the declarations alone.
fn declare(declarations: Declarations) -> SnapshotChange {
    SnapshotChange {
        catalog: Some(catalog().with_declarations(Arc::new(declarations))),
        ..SnapshotChange::default()
    }
}

/// A host with 8 VCPU.
fn host(id: i32) -> ProviderRow {
    bare(id).with(VCPU, 8)
}

fn property(name: &str, value: i64) -> Description {
    Description {
        properties: [(name.into(), Some(PropertyValue::Integer(value)))].into(),
        ..Description::default()
    }
}

fn in_state(state: ProviderState) -> Description {
    Description {
        state,
        ..Description::default()
    }
}

fn in_domain(dimension: &str, path: &str) -> Description {
    Description {
        domains: [(dimension.into(), path.into())].into(),
        ..Description::default()
    }
}

fn described(all: Vec<ProviderRow>, descriptions: impl IntoIterator<Item = (i32, Description)>) -> Snapshot {
    let descriptions = descriptions
        .into_iter()
        .map(|(id, description)| (ProviderId(id), description));
    build_colliding(all).with_descriptions(descriptions)
}

/// The ids of the providers with a free VCPU on a host within the conditions.
fn found(snapshot: &Snapshot, host: HostConditions) -> Vec<i32> {
    let request = Request {
        host,
        ..super::request(group(&[("VCPU", 1)]))
    };
    let found = candidates(snapshot, &request, &settings()).unwrap();
    let mut ids: Vec<i32> = found
        .map(|candidate| snapshot.id(candidate.placements[0].slot).0)
        .collect();
    ids.sort_unstable();
    ids
}

fn condition_on_hosts(condition: &str) -> HostConditions {
    HostConditions {
        condition: Arc::new(condition.parse().unwrap()),
        ..HostConditions::default()
    }
}

#[test]
fn a_plain_condition_is_for_the_root_of_the_tree() {
    let child = |id: i32, root: i32| bare(id).with(VCPU, 8).below(root, root);
    let snapshot = described(
        vec![bare(1), child(2, 1), bare(3), child(4, 3)],
        [(1, property("a", 1)), (3, property("a", 2)), (4, property("a", 1))],
    );
    assert_eq!(found(&snapshot, condition_on_hosts("a == 1")), [2]);
    assert_eq!(found(&snapshot, condition_on_hosts("a == 2")), [4]);
}

#[test]
fn a_provider_inherits_what_it_does_not_set_or_hide() {
    let hidden = Description {
        properties: [("a".into(), None)].into(),
        ..Description::default()
    };
    let snapshot = described(
        vec![
            host(1),
            host(2).below(1, 1),
            host(3).below(1, 1),
            host(4).below(3, 1),
            host(5).below(2, 1),
        ],
        [(1, property("a", 1)), (2, property("a", 2)), (3, hidden)],
    );
    let a = |id: i32| snapshot.property(snapshot.by_id(ProviderId(id)).unwrap(), "a");
    assert_eq!(
        [1, 2, 3, 4, 5].map(a),
        [Some(1), Some(2), None, None, Some(2)].map(|value| value.map(PropertyValue::Integer))
    );
}

#[test]
fn domains_of_one_dimension_are_alternatives_and_whole_segments_count() {
    let snapshot = described(
        (1..6).map(host).collect(),
        [
            (1, in_domain("fault", "fd:/dc1/r0")),
            (2, in_domain("fault", "fd:/dc10/r0")),
            (3, in_domain("fault", "fd:/dc2")),
            (4, in_domain("upgrade", "fd:/dc1")),
        ],
    );
    let domain = |path: &str| Domain {
        dimension: "fault".into(),
        path: path.into(),
    };
    let within = |paths: &[&str]| HostConditions {
        in_domains: paths.iter().map(|path| domain(path)).collect(),
        ..HostConditions::default()
    };
    assert_eq!(found(&snapshot, within(&["fd:/dc1"])), [1]);
    assert_eq!(found(&snapshot, within(&["fd:/dc1", "fd:/dc2"])), [1, 3]);
    assert_eq!(found(&snapshot, within(&["fd:"])), [1, 2, 3]);
    let outside = HostConditions {
        not_in_domains: vec![domain("fd:/dc1"), domain("fd:/dc2")],
        ..HostConditions::default()
    };
    assert_eq!(found(&snapshot, outside), [2, 4, 5]);
}

#[test]
fn a_provider_that_is_not_up_and_those_below_it_get_nothing_new() {
    let child = |id: i32, root: i32| bare(id).with(VCPU, 8).below(root, root);
    let mut all: Vec<ProviderRow> = (1..6).map(host).collect();
    all.extend([child(6, 1), child(7, 5)]);
    let states = [
        ProviderState::Draining,
        ProviderState::Off,
        ProviderState::Lost,
        ProviderState::Up,
    ];
    let snapshot = described(
        all,
        (1..)
            .zip(states.map(in_state))
            .chain([(7, in_state(ProviderState::Off))]),
    );
    let only_up = HostConditions {
        only_up: true,
        ..HostConditions::default()
    };
    assert_eq!(found(&snapshot, only_up.clone()), [4, 5]);
    assert_eq!(found(&snapshot, HostConditions::default()), [1, 2, 3, 4, 5, 6, 7]);
    let back = snapshot.apply(&SnapshotChange {
        descriptions: vec![(ProviderId(1), Description::default())],
        ..SnapshotChange::default()
    });
    assert_eq!(found(&back, only_up), [1, 4, 5, 6]);
}

#[test]
fn conditions_on_hosts_leave_out_one_host_after_the_other() {
    for child in [false, true] {
        let mut all: Vec<ProviderRow> = (1..6).map(host).collect();
        // With a tree of several providers, the search uses the strategy for trees.
        all.extend(child.then(|| bare(9).below(4, 4)));
        let descriptions = [
            (1, property("a", 1)),
            (
                3,
                Description {
                    state: ProviderState::Off,
                    ..property("a", 2)
                },
            ),
            (4, property("a", 2)),
            (5, in_domain("fault", "/d1")),
        ];
        let snapshot = described(all, descriptions);
        let mut request = super::request(group(&[("VCPU", 1)]));
        request.host = HostConditions {
            not_in_domains: vec![Domain {
                dimension: "fault".into(),
                path: "/d1".into(),
            }],
            only_up: true,
            ..condition_on_hosts("a == 2")
        };
        let explanation = explain(&snapshot, &request, None, &settings()).unwrap();
        let ids = |at| explanation.left_out(at).map(|slot| snapshot.id(slot).0).collect();
        let found = explanation.thinnings().enumerate().filter(|(_, it)| it.left_out > 0);
        let found: Vec<(Condition, Vec<i32>)> = found.map(|(at, it)| (it.condition, ids(at))).collect();
        let expected = [
            (Condition::NotInDomain { first: 0 }, vec![5]),
            (Condition::Where { group: None }, vec![1, 2]),
            (Condition::State, vec![3]),
        ];
        assert_eq!(found, expected);
    }
}

#[test]
fn a_removed_provider_takes_its_description_along() {
    let snapshot = described(
        rows([host(1), host(2)]).into_values().collect(),
        [(1, property("a", 1)), (2, property("a", 1))],
    );
    let removed = snapshot.apply(&SnapshotChange {
        removed: vec![ProviderId(1)],
        ..SnapshotChange::default()
    });
    // A new provider with the removed provider's slot and, as on SQLite, the same id.
    let again = removed.apply(&SnapshotChange {
        reloaded: vec![host(1)],
        ..SnapshotChange::default()
    });
    assert_eq!(found(&again, condition_on_hosts("a == 1")), [2]);
    let renewed = ProviderRow {
        uuid: "uuid-other".into(),
        ..host(2)
    };
    let again = again.apply(&SnapshotChange {
        reloaded: vec![renewed],
        ..SnapshotChange::default()
    });
    assert_eq!(found(&again, condition_on_hosts("a == 1")), [0i32; 0]);
    assert_eq!(found(&snapshot, condition_on_hosts("a == 1")), [1, 2]);
}
