//! The sentences about each condition, on small clouds.

mod amounts;
mod causes;
mod pools;

use std::collections::BTreeSet;

use crate::model::explain::reasons;
use crate::search::{
    AggregateId, Catalog, ClassId, Description, Domain, Group, GroupPolicy, HostConditions, Interrupt, Inventory,
    MemberOf, ProviderId, ProviderRow, ProviderState, Request, SearchSettings, Snapshot, TraitId, Traits,
};

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn catalog() -> Catalog {
    Catalog::new(
        vec![(ClassId(0), "VCPU".into()), (ClassId(1), "PCPU".into())],
        vec![
            (TraitId(2), "FAST".into()),
            (TraitId(3), "SLOW".into()),
            (TraitId(4), "RARE".into()),
        ],
        vec![(AggregateId(1), "a1".into()), (AggregateId(2), "a2".into())],
    )
}

/// Three hosts with 8 VCPU, of which 6 are used.
fn hosts() -> Vec<ProviderRow> {
    let host = |id: i32| {
        let mut row = ProviderRow::bare(ProviderId(id), format!("uuid-{id}"), format!("name-{id}"));
        row.inventories.insert(ClassId(0), Inventory::whole(8));
        row.used.insert(ClassId(0), 6);
        row
    };
    (1..=3).map(host).collect()
}

fn request(suffix: &str, amount: i64) -> Group {
    Group {
        suffix: suffix.to_owned(),
        resources: vec![("VCPU".to_owned(), amount)],
        ..Group::default()
    }
}

fn asking(groups: Vec<Group>) -> Request {
    Request::of_groups(groups)
}

/// The sentences behind the first reason.
fn sentences(snapshot: &Snapshot, request: &Request) -> Vec<String> {
    let reasons = reasons(snapshot, request, &SearchSettings::uncut(7)).unwrap();
    let kept = reasons.kept().iter().skip(1);
    kept.map(|reason| reason.detail.clone()).collect()
}

fn of_group(change: impl FnOnce(&mut Group)) -> Request {
    let mut group = request("", 1);
    change(&mut group);
    asking(vec![group])
}

fn domain(path: &str) -> Vec<Domain> {
    vec![Domain {
        dimension: "fault".into(),
        path: path.into(),
    }]
}

#[test]
fn each_condition_has_a_sentence() {
    let mut rows = hosts();
    rows.iter_mut().for_each(|row| row.traits = [TraitId(3)].into());
    rows.iter_mut().for_each(|row| row.aggregates = [AggregateId(1)].into());
    let described = |path: &str| Description {
        domains: [("fault".into(), path.into())].into(),
        ..Description::default()
    };
    let descriptions = (1..=3).map(|id| (ProviderId(id), described("/d1")));
    let snapshot = Snapshot::build(catalog(), rows).with_descriptions(descriptions);
    let traits = |required: &[&str], forbidden: &[&str]| Traits {
        required: required.iter().map(|name| set(&[name])).collect(),
        forbidden: set(forbidden),
    };
    let members = |any_of: &[&str], forbidden: &[&str]| MemberOf {
        any_of: any_of.iter().map(|uuid| set(&[uuid])).collect(),
        forbidden: set(forbidden),
    };
    let of_root = |traits: Traits| Request {
        root_required: traits,
        ..asking(vec![request("", 1)])
    };
    let of_host = |host: HostConditions| Request {
        host,
        ..asking(vec![request("", 1)])
    };
    let isolated = Request {
        group_policy: Some(GroupPolicy::Isolate),
        ..asking(vec![request("_A", 1), request("_B", 1)])
    };
    let cases = [
        (
            of_group(|group| group.resources[0].0 = "PCPU".into()),
            "3 hosts have no inventory of PCPU.",
        ),
        (
            of_group(|group| group.in_tree = Some("uuid-9".into())),
            "in_tree names no resource provider: uuid-9.",
        ),
        (
            of_group(|group| group.traits = traits(&["FAST"], &[])),
            "3 hosts lack trait FAST of required.",
        ),
        (
            of_group(|group| group.traits.required = vec![set(&["FAST", "RARE"])]),
            "3 hosts have none of the traits FAST, RARE of required.",
        ),
        (
            of_group(|group| group.traits = traits(&[], &["SLOW"])),
            "3 hosts have a trait that required forbids: SLOW.",
        ),
        (
            of_group(|group| group.member_of = members(&["a2"], &[])),
            "3 hosts are not in the aggregates of member_of: a2; a2 has no provider.",
        ),
        (
            of_group(|group| group.member_of = members(&["a9"], &[])),
            "3 hosts are not in the aggregates of member_of: a9; a9 does not exist.",
        ),
        (
            of_group(|group| group.member_of.any_of = vec![set(&["a2", "a8", "a9"])]),
            "3 hosts are not in the aggregates of member_of: in:a2,a8,a9; a8, a9 do not exist; a2 has no provider.",
        ),
        (
            of_group(|group| group.traits = traits(&[], &["NOPE"])),
            "required forbids NOPE, which does not exist: a search answers 400.",
        ),
        (
            of_root(traits(&[], &["NOPE"])),
            "root_required forbids NOPE, which does not exist: a search answers 400.",
        ),
        (
            of_group(|group| group.traits = traits(&["NOPE"], &[])),
            "3 hosts lack trait NOPE of required; NOPE does not exist: a search answers 400.",
        ),
        (
            of_group(|group| group.member_of = members(&[], &["a1"])),
            "3 hosts are in an aggregate that member_of forbids: a1.",
        ),
        (
            of_root(traits(&["FAST"], &[])),
            "3 hosts do not match root_required: FAST.",
        ),
        (
            of_root(traits(&[], &["SLOW"])),
            "3 hosts have a trait that root_required forbids: SLOW.",
        ),
        (
            of_host(HostConditions {
                in_domains: domain("/d2"),
                ..HostConditions::default()
            }),
            "3 hosts are in no required domain: fault:/d2; fault:/d2 has no host.",
        ),
        (
            of_host(HostConditions {
                in_domains: vec![Domain {
                    dimension: "host".into(),
                    path: "uuid-9".into(),
                }],
                ..HostConditions::default()
            }),
            "3 hosts are in no required domain: host:uuid-9; host:uuid-9 has no host.",
        ),
        (
            of_host(HostConditions {
                not_in_domains: domain("/d1"),
                ..HostConditions::default()
            }),
            "3 hosts are in a forbidden domain: fault:/d1.",
        ),
        (
            of_host(HostConditions {
                condition: std::sync::Arc::new("NodeName == x".parse().unwrap()),
                ..HostConditions::default()
            }),
            "3 hosts do not meet where: NodeName == x.",
        ),
        (
            asking(vec![request("", 9)]),
            "3 hosts are too small for VCPU: 9 requested, at most 8.",
        ),
        (
            asking(vec![request("", 3)]),
            "3 hosts have too little room for VCPU: 3 requested, at most 2 free, on name-1.",
        ),
        (
            isolated,
            "3 hosts have too few providers for groups that group_policy=isolate keeps apart.",
        ),
    ];
    for (request, expected) in cases {
        assert_eq!(sentences(&snapshot, &request), [expected]);
    }
}

#[test]
fn capacity_free_room_and_normal_limit_have_sentences_of_their_own() {
    let mut rows = hosts();
    for row in &mut rows {
        row.inventories.insert(
            ClassId(0),
            Inventory {
                max_unit: 100,
                ..Inventory::whole(8)
            },
        );
    }
    let limit = [("VCPU".into(), "0.25".parse().unwrap())].into();
    let snapshot = Snapshot::build(catalog().with_limits(limit), rows).at_normal_limits();
    let free = |amount: i64| {
        let request = asking(vec![request("", amount)]);
        let reasons = reasons(&snapshot, &request, &SearchSettings::uncut(7)).unwrap();
        let reason = reasons.kept()[1].clone();
        (reason.detail, reason.requested, reason.free)
    };
    let figures = |detail: &str, requested, free| (detail.to_owned(), Some(requested), Some(free));
    let too_small = "3 hosts are too small for VCPU: 9 requested, at most 8 (6 within the normal limit).";
    assert_eq!(free(9), figures(too_small, 9, 8));
    let no_room =
        "3 hosts have too little room for VCPU: 3 requested, at most 2 free (0 within the normal limit), on name-1.";
    assert_eq!(free(3), figures(no_room, 3, 2));
    let within =
        "3 hosts have too little room within the normal limit for VCPU: 1 requested, at most 0 free, on name-1.";
    assert_eq!(free(1), figures(within, 1, 0));
}

/// An amount above the capacity and above `max_unit` is an amount above the capacity: a greater `max_unit` is no help.
#[test]
fn an_amount_that_the_capacity_has_room_for_fails_the_units() {
    let mut rows = hosts();
    for (row, max_unit) in rows.iter_mut().zip([3, 4, 4]) {
        let inventory = Inventory {
            max_unit,
            min_unit: 2,
            ..Inventory::whole(8)
        };
        row.inventories.insert(ClassId(0), inventory);
    }
    let snapshot = Snapshot::build(catalog(), rows);
    let explained = |amount: i64| sentences(&snapshot, &asking(vec![request("", amount)])).remove(0);
    assert_eq!(explained(9), "3 hosts are too small for VCPU: 9 requested, at most 8.");
    let units = "3 hosts do not allow this amount of VCPU:";
    assert_eq!(explained(6), format!("{units} 6 requested, max_unit is at most 4."));
    assert_eq!(explained(1), format!("{units} 1 requested, refused by min_unit 2."));
}

#[test]
fn the_first_reason_has_the_conditions_with_the_cause_first() {
    let mut rows = hosts();
    rows[0].traits = [TraitId(2)].into();
    rows[1].traits = [TraitId(2)].into();
    let off = Description {
        state: ProviderState::Off,
        ..Description::default()
    };
    let snapshot =
        Snapshot::build(catalog(), rows).with_descriptions([(ProviderId(1), off.clone()), (ProviderId(2), off)]);
    let mut request = of_group(|group| {
        group.traits.required = vec![set(&["FAST"])];
    });
    request.host.only_up = true;
    let reasons = reasons(&snapshot, &request, &SearchSettings::uncut(7)).unwrap();
    assert_eq!(
        reasons.kept()[0].detail,
        "None of the 3 hosts can serve the query. 2 hosts are off. 1 host lacks trait FAST of required."
    );
}

#[test]
fn the_states_of_hosts_are_named_and_the_cause_comes_first() {
    let in_state = |state| Description {
        state,
        ..Description::default()
    };
    let states = [
        (ProviderId(1), in_state(ProviderState::Off)),
        (ProviderId(2), in_state(ProviderState::Draining)),
    ];
    let snapshot = Snapshot::build(catalog(), hosts()).with_descriptions(states);
    let mut request = asking(vec![request("", 3)]);
    request.host.only_up = true;
    let mut found = sentences(&snapshot, &request);
    let no_room = "1 host has too little room for VCPU: 3 requested, at most 2 free, on name-3.";
    assert_eq!(found.remove(0), no_room);
    found.sort();
    assert_eq!(found, ["1 host is draining.", "1 host is off."]);
}

#[test]
fn hosts_outside_of_the_named_tree_come_behind_the_host_of_the_tree() {
    let snapshot = Snapshot::build(catalog(), hosts());
    let mut request = asking(vec![request("", 3)]);
    request.groups[0].in_tree = Some("uuid-2".into());
    let expected = [
        "1 host has too little room for VCPU: 3 requested, at most 2 free, on name-2.",
        "2 hosts are outside of the tree of in_tree: uuid-2.",
    ];
    assert_eq!(sentences(&snapshot, &request), expected);
}

/// Each two groups were compared.
#[test]
fn hostile_a_thousand_groups_are_explained_or_interrupted() {
    let snapshot = Snapshot::build(catalog(), hosts());
    let groups = (0..1_000).map(|n| request(&format!("_{n}"), 1 + n)).collect();
    let request = asking(groups);
    let explained = sentences(&snapshot, &request);
    let too_small = "3 hosts are too small for VCPU of 1000 groups: 500500 requested, at most 8.";
    assert_eq!(explained, [too_small]);
    let settings = SearchSettings {
        interrupt: Interrupt::after(1),
        ..SearchSettings::uncut(7)
    };
    assert!(reasons(&snapshot, &request, &settings).is_err());
}
