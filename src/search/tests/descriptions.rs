//! Conditions on descriptions: random small worlds against the oracle, and single cases with names.

mod declared;
mod host_domains;

use std::sync::Arc;

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

use super::oracle::{Descriptions, World};
use super::properties::{compare_described, config};
use super::requests::request;
use super::worlds::world;
use super::{VCPU, bare, build_colliding, catalog, group, rows, settings};
use crate::search::request::{Domain, HOST_DIMENSION, HostConditions, Request};
use crate::search::snapshot::{
    AggregateId, Declarations, Description, PropertyValue, ProviderId, ProviderRow, ProviderState, Slot, Snapshot,
    SnapshotChange,
};
use crate::search::{Condition, candidates, explain};

fn value() -> impl Strategy<Value = Option<PropertyValue>> {
    prop_oneof![
        4 => (0i64..3).prop_map(|number| Some(PropertyValue::Integer(number))),
        1 => any::<bool>().prop_map(|boolean| Some(PropertyValue::Boolean(boolean))),
        1 => Just(Some(PropertyValue::Text("x".into()))),
        1 => Just(None),
    ]
}

fn path() -> impl Strategy<Value = Arc<str>> {
    prop_oneof![
        Just("/d1"),
        Just("/d1/r1"),
        Just("/d1/r2"),
        Just("/d10"),
        Just("/d2/r1")
    ]
    .prop_map(Arc::from)
}

fn description() -> impl Strategy<Value = Description> {
    let states = prop_oneof![
        9 => Just(ProviderState::Up),
        1 => Just(ProviderState::Draining),
        1 => Just(ProviderState::Off),
        1 => Just(ProviderState::Lost)
    ];
    let kind = prop_oneof![3 => Just(None), 1 => Just(Some(Arc::from("big")))];
    let domains = btree_map(
        prop_oneof![Just("fault"), Just("upgrade")].prop_map(Arc::from),
        path(),
        0..3,
    );
    let properties = btree_map("[abc]".prop_map(Arc::from), value(), 0..4);
    let unknown = prop_oneof![9 => Just(false), 1 => Just(true)];
    let parts = (kind, properties, domains, states, unknown);
    parts.prop_map(|(kind, properties, domains, state, is_unknown)| Description {
        kind,
        properties,
        domains,
        state,
        is_unknown,
    })
}

/// Properties of the type `big`, and domains of the aggregates.
fn declarations() -> impl Strategy<Value = Declarations> {
    let properties = btree_map("[abc]".prop_map(Arc::from), value(), 0..3);
    let types = btree_map(
        prop_oneof![Just("big"), Just("unheard")].prop_map(Arc::from),
        properties,
        0..3,
    );
    let dimension = prop_oneof![Just("fault"), Just("upgrade")].prop_map(Arc::from);
    let aggregate = prop_oneof![Just("a1"), Just("a2"), Just("a3"), Just("unheard")].prop_map(Arc::from);
    let domains = btree_map((dimension, path()), aggregate, 0..5);
    (types, domains).prop_map(|(types, domains)| Declarations {
        types,
        domains: Arc::new(domains),
        ..Declarations::default()
    })
}

/// A change of the declarations alone.
fn declare(declarations: Declarations) -> SnapshotChange {
    SnapshotChange {
        catalog: Some(catalog().with_declarations(Arc::new(declarations))),
        ..SnapshotChange::default()
    }
}

fn descriptions() -> impl Strategy<Value = Descriptions> {
    btree_map((1..10).prop_map(ProviderId), description(), 0..10)
}

/// Mostly true for some providers.
fn condition() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        6 => Just(""),
        1 => Just("a >= 1"),
        1 => Just("a != 1"),
        1 => Just("!(b == 0) || c == true"),
        1 => Just("ProviderType == big"),
        1 => Just("NodeName != name-1"),
        1 => Just("a == 0 || a == x"),
        1 => Just("unheard == 1"),
    ]
}

fn domains() -> impl Strategy<Value = Vec<Domain>> {
    let dimension = prop_oneof![4 => Just("fault"), 2 => Just("upgrade"), 1 => Just("unheard")];
    let domain = (dimension, path()).prop_map(|(dimension, path)| Domain {
        dimension: dimension.into(),
        path,
    });
    let host = (1..10).prop_map(|id| Domain {
        dimension: HOST_DIMENSION.into(),
        path: super::uuid(id).into(),
    });
    prop_oneof![3 => Just(Vec::new()), 2 => vec(prop_oneof![3 => domain, 1 => host], 1..3)]
}

fn asking() -> impl Strategy<Value = Request> {
    let conditions = (condition(), vec(condition(), 8));
    (request(), conditions, domains(), domains(), any::<bool>()).prop_map(
        |(mut request, (condition, of_groups), in_domains, not_in_domains, only_up)| {
            let parsed = |text: &str| Arc::new(text.parse().unwrap());
            for (group, condition) in request.groups.iter_mut().zip(of_groups) {
                if !group.suffix.is_empty() {
                    group.condition = parsed(condition);
                }
            }
            request.host = HostConditions {
                condition: parsed(condition),
                in_domains,
                not_in_domains,
                only_up,
            };
            request
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: config().cases / 4, ..config() })]

    #[test]
    fn candidates_of_described_providers_are_equal_to_those_of_the_oracle(
        world in world(),
        descriptions in descriptions(),
        declarations in declarations(),
        request in asking(),
        seed: u64,
    ) {
        let snapshot = super::properties::build(&world).with_descriptions(descriptions.clone());
        let snapshot = snapshot.apply(&declare(declarations));
        compare_described(&snapshot, &world, &descriptions, &request, seed);
        for dimension in ["fault", "upgrade"] {
            let groups = snapshot.hosts_by_domain(dimension);
            let mut listed: Vec<(Slot, Arc<str>)> = groups
                .flat_map(|(path, hosts)| hosts.map(|host| (host, Arc::clone(path))))
                .collect();
            listed.sort_unstable();
            let mut hosts: Vec<Slot> = snapshot.hosts().collect();
            hosts.sort_unstable();
            let with_path = |host: Slot| Some((host, snapshot.domain(host, dimension)?.clone()));
            prop_assert_eq!(listed, hosts.into_iter().filter_map(with_path).collect::<Vec<_>>());
        }
        for slot in snapshot.iter() {
            let effective = snapshot.effective_description(slot);
            for name in ["a", "b", "c"] {
                let value = effective.properties.get(name).cloned().flatten();
                prop_assert_eq!(value, snapshot.property(slot, name));
            }
            for dimension in ["fault", "upgrade"] {
                prop_assert_eq!(effective.domains.get(dimension), snapshot.domain(slot, dimension));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: config().cases / 40, ..config() })]

    #[test]
    fn changed_descriptions_are_those_of_a_version_built_with_them(
        world in world(),
        first in descriptions(),
        then in descriptions(),
        declared in vec(declarations(), 2),
        joined in btree_set((1..4).prop_map(AggregateId), 0..3),
        moved in 1..10i32,
        request in asking(),
    ) {
        let mut world = world;
        let mut descriptions = first.clone();
        let snapshot = super::properties::build(&world).with_descriptions(first);
        let snapshot = snapshot.apply(&declare(declared[0].clone()));
        // Cached data of a search in one version must not be found in the next.
        let _ = candidates(&snapshot, &request, &settings()).map(Iterator::count);
        // A leaf becomes a root, or the child of a leaf, and keeps the description. The aggregates change.
        let leaf = |id: &ProviderId, world: &World| !world.values().any(|row| row.parent == Some(*id));
        let mut reloaded = Vec::new();
        if let Some(row) = world.get(&ProviderId(moved)).cloned().filter(|row| leaf(&row.id, &world)) {
            let above = world.values().find(|other| other.id != row.id && row.parent.is_none()).cloned();
            let root = above.as_ref().map_or(row.id, |above| above.root);
            let row = ProviderRow { parent: above.map(|above| above.id), root, aggregates: joined.clone(), ..row };
            world.insert(row.id, row.clone());
            reloaded.push(row);
        }
        descriptions.extend(then.clone());
        // The aggregates alone of a root change.
        if let Some(row) = world.values_mut().find(|row| row.parent.is_none() && row.id.0 != moved) {
            row.aggregates = joined;
            reloaded.push(row.clone());
        }
        let snapshot = snapshot.apply(&SnapshotChange {
            reloaded,
            descriptions: then.into_iter().collect(),
            ..SnapshotChange::default()
        });
        compare_described(&snapshot, &world, &descriptions, &request, 1);
        let snapshot = snapshot.apply(&declare(declared[1].clone()));
        for slot in snapshot.iter() {
            let expected = descriptions.get(&snapshot.id(slot)).cloned().unwrap_or_default();
            prop_assert_eq!(snapshot.description(slot), expected);
        }
        compare_described(&snapshot, &world, &descriptions, &request, 1);
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
