//! The properties of types and the domains of aggregates: single cases with names.

use super::*;
use crate::search::hosts_within;

fn of_type(kind: &str) -> Description {
    Description {
        kind: Some(kind.into()),
        ..Description::default()
    }
}

fn types(all: &[(&str, &str, Option<i64>)]) -> Declarations {
    let mut declarations = Declarations::default();
    for (kind, name, value) in all {
        let properties = declarations.types.entry(Arc::from(*kind)).or_default();
        properties.insert(Arc::from(*name), value.map(PropertyValue::Integer));
    }
    declarations
}

fn domains(all: &[(&str, &str)]) -> Declarations {
    let domains = all.iter();
    let domains = domains.map(|(path, aggregate)| (("fault".into(), Arc::from(*path)), Arc::from(*aggregate)));
    Declarations {
        domains: Arc::new(domains.collect()),
        ..Declarations::default()
    }
}

fn member(row: ProviderRow, aggregates: &[i32]) -> ProviderRow {
    ProviderRow {
        aggregates: aggregates.iter().copied().map(AggregateId).collect(),
        ..row
    }
}

fn property_of(snapshot: &Snapshot, id: i32, name: &str) -> Option<i64> {
    let slot = snapshot.by_id(ProviderId(id)).unwrap();
    let effective = snapshot.effective_description(slot);
    let value = snapshot.property(slot, name);
    assert_eq!(effective.properties.get(name).cloned().flatten(), value);
    value.map(|value| match value {
        PropertyValue::Integer(integer) => integer,
        other => panic!("{other:?}"),
    })
}

fn domain_of(snapshot: &Snapshot, id: i32) -> Option<String> {
    let slot = snapshot.by_id(ProviderId(id)).unwrap();
    let path = snapshot.domain(slot, "fault").map(|path| path.to_string());
    let effective = snapshot
        .effective_description(slot)
        .domains
        .get("fault")
        .map(|path| path.to_string());
    assert_eq!(effective, path);
    path
}

#[test]
fn a_property_is_the_own_one_then_that_of_the_own_type_then_the_inherited_one() {
    let child = |id: i32| bare(id).with(VCPU, 8).below(1, 1);
    let own = Description {
        properties: [("a".into(), Some(PropertyValue::Integer(1))), ("hidden".into(), None)].into(),
        ..of_type("big")
    };
    let snapshot = described(
        vec![host(1), child(2), child(3), child(4)],
        [(1, own), (3, of_type("small")), (4, of_type("big"))],
    );
    let snapshot = snapshot.apply(&declare(types(&[
        ("big", "a", Some(2)),
        ("big", "b", Some(2)),
        ("big", "hidden", Some(2)),
        ("small", "b", None),
    ])));
    let all = |id: i32| ["a", "b", "hidden"].map(|name| property_of(&snapshot, id, name));
    assert_eq!(all(1), [Some(1), Some(2), None], "its own come before its type");
    assert_eq!(all(2), [Some(1), Some(2), None], "without a type, all are inherited");
    assert_eq!(all(3), [Some(1), None, None], "the type hides an inherited property");
    assert_eq!(
        all(4),
        [Some(2), Some(2), Some(2)],
        "the own type comes before what is inherited"
    );
    assert!(snapshot.is_described_by("b") && !snapshot.is_described_by("c"));
    assert_eq!(found(&snapshot, condition_on_hosts("a == 1 && b == 2")), [1, 2, 3, 4]);
}

/// The columns of a block are kept, so a change of a type must drop the columns of all blocks.
#[test]
fn a_changed_type_changes_all_its_providers_at_once() {
    let hosts = 1..200;
    let descriptions = hosts.clone().filter(|id| id % 3 != 0).map(|id| (id, of_type("big")));
    let before = described(hosts.clone().map(host).collect(), descriptions);
    let typed: Vec<i32> = hosts.clone().filter(|id| id % 3 != 0).collect();
    let matching = |snapshot: &Snapshot| found(snapshot, condition_on_hosts("a == 1"));
    assert_eq!(matching(&before), [0i32; 0]);
    let with = before.apply(&declare(types(&[("big", "a", Some(1))])));
    assert_eq!(matching(&with), typed);
    let other = with.apply(&declare(types(&[("big", "a", Some(2))])));
    assert_eq!(matching(&other), [0i32; 0]);
    assert_eq!((matching(&with), matching(&before)), (typed.clone(), Vec::new()));
    let retyped = with.apply(&SnapshotChange {
        descriptions: vec![(ProviderId(1), of_type("small")), (ProviderId(3), of_type("big"))],
        ..SnapshotChange::default()
    });
    let expected: Vec<i32> = hosts.filter(|id| *id != 1 && (id % 3 != 0 || *id == 3)).collect();
    assert_eq!(matching(&retyped), expected);
}

#[test]
fn a_member_of_an_aggregate_is_in_the_domain_unless_a_description_names_one() {
    let snapshot = described(
        vec![
            member(host(1), &[1]),
            member(host(2), &[1]),
            member(host(3), &[2]),
            host(4),
            // Children: of a described host, of a member, and a member itself.
            bare(5).with(VCPU, 8).below(2, 2),
            bare(6).with(VCPU, 8).below(1, 1),
            member(bare(7).with(VCPU, 8).below(4, 4), &[1]),
        ],
        [(2, in_domain("fault", "/x"))],
    );
    assert_eq!(domain_of(&snapshot, 1), None);
    let snapshot = snapshot.apply(&declare(domains(&[
        ("/d1/r1", "a1"),
        ("/d2", "a2"),
        ("/d3", "no-such"),
    ])));
    let of = |id: i32| domain_of(&snapshot, id);
    let expected = [
        Some("/d1/r1"),
        Some("/x"),
        Some("/d2"),
        None,
        Some("/x"),
        Some("/d1/r1"),
        Some("/d1/r1"),
    ];
    assert_eq!(
        [1, 2, 3, 4, 5, 6, 7].map(of),
        expected.map(|path| path.map(str::to_owned))
    );
    let paths: Vec<(String, usize)> = snapshot
        .hosts_by_domain("fault")
        .map(|(path, hosts)| (path.to_string(), hosts.count()))
        .collect();
    assert_eq!(
        paths,
        [("/d1/r1".to_owned(), 1), ("/d2".to_owned(), 1), ("/x".to_owned(), 1)]
    );
    assert_eq!(
        snapshot
            .dimensions()
            .into_iter()
            .map(|name| &**name)
            .collect::<Vec<_>>(),
        ["fault"]
    );
    let within = HostConditions {
        in_domains: vec![Domain {
            dimension: "fault".into(),
            path: "/d1".into(),
        }],
        ..HostConditions::default()
    };
    let hosts: Vec<i32> = hosts_within(&snapshot, &within)
        .map(|slot| snapshot.id(slot).0)
        .collect();
    assert_eq!(hosts, [1]);
    // The host leaves the aggregate.
    let left = snapshot.apply(&SnapshotChange {
        reloaded: vec![member(host(1), &[2])],
        ..SnapshotChange::default()
    });
    assert_eq!(domain_of(&left, 1), Some("/d2".to_owned()));
    assert_eq!(hosts_within(&left, &within).count(), 0);
}

#[test]
fn of_several_aggregates_the_innermost_domain_counts_and_then_the_first() {
    let snapshot = described(vec![member(host(1), &[1, 2]), member(host(2), &[1, 2, 3])], []);
    let snapshot = snapshot.apply(&declare(domains(&[("az1", "a1"), ("az1/r1", "a2"), ("az0", "a3")])));
    assert_eq!(domain_of(&snapshot, 1), Some("az1/r1".to_owned()));
    assert_eq!(domain_of(&snapshot, 2), Some("az0".to_owned()));
    let slot = snapshot.by_id(ProviderId(2)).unwrap();
    let mut all: Vec<&str> = snapshot
        .domains_of_aggregates(slot, "fault")
        .into_iter()
        .map(|(_, path)| &**path)
        .collect();
    all.sort_unstable();
    assert_eq!(all, ["az0", "az1", "az1/r1"]);
}
