//! Random small worlds with descriptions and declarations, against the oracle.

use std::sync::Arc;

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;

use super::super::oracle::{Descriptions, World};
use super::super::properties::{self, compare_described, config};
use super::super::requests::request;
use super::super::worlds::world;
use super::super::{settings, uuid};
use super::declare;
use crate::search::candidates;
use crate::search::request::{Domain, HOST_DIMENSION, HostConditions, Request};
use crate::search::snapshot::{
    AggregateId, Declarations, Description, PropertyValue, ProviderId, ProviderRow, ProviderState, Slot, SnapshotChange,
};

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
        path: uuid(id).into(),
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
        let snapshot = properties::build(&world).with_descriptions(descriptions.clone());
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
        let snapshot = properties::build(&world).with_descriptions(first);
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
