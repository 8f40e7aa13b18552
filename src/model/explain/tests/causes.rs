//! Sentences that name providers beside the hosts: full pools, the freest host, and hosts that Nova has disabled.

use super::*;
use crate::model::explain::report::{ExplainQuestion, ExplanationReport, report_on};
use crate::model::providers::DISABLED_TRAIT;
use crate::search::Purpose;

pub(super) const DISK: ClassId = ClassId(7);
pub(super) const SHARES: TraitId = TraitId(1);
const IS_DISABLED: TraitId = TraitId(9);

pub(super) fn catalog() -> Catalog {
    Catalog::new(
        vec![(ClassId(0), "VCPU".into()), (DISK, "DISK_GB".into())],
        vec![
            (SHARES, "MISC_SHARES_VIA_AGGREGATE".into()),
            (TraitId(2), "FAST".into()),
            (IS_DISABLED, DISABLED_TRAIT.into()),
        ],
        vec![(AggregateId(1), "a1".into()), (AggregateId(2), "a2".into())],
    )
}

pub(super) fn disk(row: &mut ProviderRow, total: i32, used: i64) {
    row.inventories.insert(DISK, Inventory::whole(total));
    row.used.insert(DISK, used);
}

pub(super) fn pool(id: i32, aggregate: i32, free: i64) -> ProviderRow {
    let mut row = ProviderRow::bare(ProviderId(id), format!("uuid-{id}"), format!("nfs-{id}"));
    disk(&mut row, 100, 100 - free);
    row.traits = [SHARES].into();
    row.aggregates = [AggregateId(aggregate)].into();
    row
}

pub(super) fn for_disk(amount: i64) -> Request {
    of_group(|group| group.resources.push(("DISK_GB".to_owned(), amount)))
}

#[test]
fn a_full_pool_is_named_beside_the_hosts_and_apart_from_hosts_with_disks() {
    let mut rows = hosts();
    rows[0].aggregates = [AggregateId(1)].into();
    rows[1].aggregates = [AggregateId(1)].into();
    disk(&mut rows[2], 60, 10);
    // The last pool reaches no host.
    rows.extend([pool(11, 1, 3), pool(12, 1, 5), pool(13, 2, 90)]);
    let snapshot = Snapshot::build(catalog(), rows);
    let own = |what: &str| format!("1 host {what}");
    let room = [
        "2 hosts share providers that have too little room for DISK_GB: 55 requested, at most 5 free, on nfs-12.",
        &own("has too little room for DISK_GB: 55 requested, at most 50 free, on name-3."),
    ];
    assert_eq!(sentences(&snapshot, &for_disk(55)), room);
    let capacity = [
        "2 hosts share providers that are too small for DISK_GB: 101 requested, at most 100, on nfs-11.",
        &own("is too small for DISK_GB: 101 requested, at most 60."),
    ];
    assert_eq!(sentences(&snapshot, &for_disk(101)), capacity);
}

#[test]
fn a_pool_has_its_own_units_and_its_normal_limit() {
    let mut rows = hosts();
    rows.iter_mut().for_each(|row| row.aggregates = [AggregateId(1)].into());
    let mut pool = pool(11, 1, 90);
    let small_units = Inventory {
        max_unit: 20,
        ..Inventory::whole(100)
    };
    pool.inventories.insert(DISK, small_units);
    let limit = [("DISK_GB".into(), "0.75".parse().unwrap())].into();
    rows.push(pool);
    let snapshot = Snapshot::build(catalog().with_limits(limit), rows);
    let units = "3 hosts share providers that do not allow this amount of DISK_GB: 30 requested, max_unit is at most \
                 20, on nfs-11.";
    assert_eq!(sentences(&snapshot, &for_disk(30)), [units]);
    let limited = "3 hosts share providers that have too little room within the normal limit for DISK_GB: 16 \
                   requested, at most 15 free, on nfs-11.";
    assert_eq!(sentences(&snapshot.at_normal_limits(), &for_disk(16)), [limited]);
}

/// The largest free amount is an amount of the hosts in the sentence. Hosts that fail a condition before do not count.
#[test]
fn the_freest_host_is_a_host_of_the_sentence() {
    let mut rows = hosts();
    rows[0].used.insert(ClassId(0), 1);
    rows[2].used.insert(ClassId(0), 5);
    rows[1].traits = [TraitId(2)].into();
    rows[2].traits = [TraitId(2)].into();
    let snapshot = Snapshot::build(catalog(), rows);
    let mut request = asking(vec![request("", 4)]);
    request.groups[0].traits.required = vec![set(&["FAST"])];
    let expected = [
        "2 hosts have too little room for VCPU: 4 requested, at most 3 free, on name-3.",
        "1 host lacks trait FAST of required.",
    ];
    assert_eq!(sentences(&snapshot, &request), expected);
}

/// The first two hosts are disabled; the last is off.
fn partly_disabled() -> Snapshot {
    let mut rows = hosts();
    rows[0].traits = [IS_DISABLED, TraitId(2)].into();
    rows[1].traits = [IS_DISABLED].into();
    let off = Description {
        state: ProviderState::Off,
        ..Description::default()
    };
    Snapshot::build(catalog(), rows).with_descriptions([(ProviderId(3), off)])
}

#[test]
fn disabled_hosts_are_the_cause_if_they_have_all_that_is_required() {
    let snapshot = partly_disabled();
    let mut of_root = of_group(|group| group.traits.required = vec![set(&["FAST"])]);
    of_root.root_required.forbidden = set(&[DISABLED_TRAIT]);
    let of_host = of_group(|group| {
        group.traits.required = vec![set(&["FAST"])];
        group.traits.forbidden = set(&[DISABLED_TRAIT]);
    });
    let expected = [
        "1 host is disabled (trait COMPUTE_STATUS_DISABLED).",
        "2 hosts lack trait FAST of required.",
    ];
    for request in [of_root, of_host] {
        assert_eq!(sentences(&snapshot, &request), expected);
    }
    // placet gives a host that is off the trait of a disabled host.
    let mut rows = hosts();
    rows[2].traits = [IS_DISABLED].into();
    let off = Description {
        state: ProviderState::Off,
        ..Description::default()
    };
    let snapshot_of_off = Snapshot::build(catalog(), rows).with_descriptions([(ProviderId(3), off)]);
    let mut all = of_group(|_| ());
    all.root_required.forbidden = set(&[DISABLED_TRAIT]);
    let found = report(&snapshot_of_off, all, None);
    assert_eq!(found.conditions[0].reason.detail, "1 host is off.");
    // The first host has two forbidden traits, and the sentence names the trait of a disabled host.
    let of_both = of_group(|group| group.traits.forbidden = set(&[DISABLED_TRAIT, "FAST"]));
    let report = report(&snapshot, of_both, None);
    assert_eq!(
        report.conditions[0].reason.detail,
        "2 hosts are disabled (trait COMPUTE_STATUS_DISABLED)."
    );
}

/// As `GET /allocation_candidates`, for which states do not count.
fn report(snapshot: &Snapshot, request: Request, provider: Option<&str>) -> ExplanationReport {
    let question = ExplainQuestion {
        request,
        purpose: None,
        provider: provider.map(str::to_owned),
        nearest: 10,
        may_claim: false,
    };
    report_on(snapshot, &question, &SearchSettings::uncut(7)).unwrap()
}

#[test]
fn hosts_that_can_serve_and_are_unavailable_are_counted() {
    let snapshot = partly_disabled();
    let found = report(&snapshot, asking(vec![request("", 2)]), None);
    let unavailable =
        "3 of 3 hosts can serve the query. 1 of 3 is off. 2 of 3 are disabled (trait COMPUTE_STATUS_DISABLED).";
    assert_eq!(found.detail, unavailable);
    let one = report(&snapshot, asking(vec![request("", 2)]), Some("name-3"));
    assert_eq!(one.detail, "name-3 can serve the query. name-3 is off.");
    let none = report(&snapshot, asking(vec![request("", 3)]), None);
    let near = none
        .nearest
        .iter()
        .map(|near| (&*near.name, near.state, near.is_disabled));
    let mut near: Vec<_> = near.collect();
    near.sort_unstable_by_key(|(name, ..)| *name);
    let expected = [
        ("name-1", ProviderState::Up, true),
        ("name-2", ProviderState::Up, true),
        ("name-3", ProviderState::Off, false),
    ];
    assert_eq!(near, expected);
    let changes: Vec<_> = none.changes.iter().map(|it| (it.hosts, it.unavailable)).collect();
    assert_eq!(changes, [(3, 3)]);
}

#[test]
fn a_purpose_over_the_normal_limit_is_offered_to_callers_who_may_claim() {
    let limit = [("VCPU".into(), "0.25".parse().unwrap())].into();
    let snapshot = Snapshot::build(catalog().with_limits(limit), hosts());
    let parameters = |may_claim| {
        let question = ExplainQuestion {
            request: asking(vec![request("", 2)]),
            purpose: Some(Purpose::Normal),
            provider: None,
            nearest: 0,
            may_claim,
        };
        let report = report_on(&snapshot, &question, &SearchSettings::uncut(7)).unwrap();
        let changes = report.changes.into_iter().flat_map(|it| it.change.parameters);
        changes.collect::<Vec<String>>()
    };
    assert_eq!(parameters(true), ["purpose"]);
    assert_eq!(parameters(false), [""; 0]);
}
