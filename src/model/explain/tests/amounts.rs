//! The figures in sentences about amounts: sums of groups, units, and overcommitted providers.

use super::*;
use crate::model::explain::report::{ExplainQuestion, ExplanationReport, report_on};
use crate::search::Enough;

/// A tree of two providers with 16 VCPU each, of which `used` are used on each.
fn tree(used: [i64; 2]) -> Snapshot {
    let root = ProviderRow::bare(ProviderId(1), "uuid-1", "numa");
    let child = |at: usize| {
        let id = ProviderId(2 + at as i32);
        let mut row = ProviderRow::bare(id, format!("uuid-{}", id.0), format!("numa_{at}"));
        row.inventories.insert(ClassId(0), Inventory::whole(16));
        row.used.insert(ClassId(0), used[at]);
        (row.parent, row.root) = (Some(ProviderId(1)), ProviderId(1));
        row
    };
    Snapshot::build(catalog(), vec![root, child(0), child(1)])
}

fn groups(amounts: &[i64]) -> Request {
    let groups = amounts.iter().enumerate();
    Request {
        group_policy: Some(GroupPolicy::None),
        ..asking(groups.map(|(at, amount)| request(&format!("_{at}"), *amount)).collect())
    }
}

#[test]
fn the_sum_of_several_groups_is_compared_with_all_providers_of_a_host() {
    let capacity = "1 host is too small for VCPU of 5 groups: 40 requested, at most 32 on all providers of numa.";
    assert_eq!(sentences(&tree([0, 0]), &groups(&[8; 5])), [capacity]);
    let room =
        "1 host has too little room for VCPU of 2 groups: 28 requested, at most 20 free on all providers of numa.";
    assert_eq!(sentences(&tree([12, 0]), &groups(&[14, 14])), [room]);
    let pieces = "1 host has too little room for VCPU of 2 groups: 28 requested, 28 free on all providers of numa, in \
                  pieces of at most 16.";
    assert_eq!(sentences(&tree([4, 0]), &groups(&[14, 14])), [pieces]);
    let reasons = reasons(&tree([12, 0]), &groups(&[14, 14]), &SearchSettings::uncut(7)).unwrap();
    assert_eq!(reasons.kept()[1].free, Some(20));
}

#[test]
fn the_units_that_refuse_an_amount_are_named() {
    let mut rows = hosts();
    for (row, step_size) in rows.iter_mut().zip([10, 10, 4]) {
        let inventory = Inventory {
            min_unit: 10,
            step_size,
            ..Inventory::whole(100)
        };
        row.inventories.insert(ClassId(0), inventory);
    }
    let snapshot = Snapshot::build(catalog(), rows);
    let refused = |amount| sentences(&snapshot, &asking(vec![request("", amount)]));
    let units =
        "3 hosts do not allow this amount of VCPU: 5 requested, refused by min_unit 10, step_size 4, step_size 10.";
    assert_eq!(refused(5), [units]);
    let step = "3 hosts do not allow this amount of VCPU: 15 requested, refused by step_size 4, step_size 10.";
    assert_eq!(refused(15), [step]);
}

#[test]
fn an_overcommitted_provider_has_nothing_free() {
    let mut rows = hosts();
    for (row, used) in rows.iter_mut().zip([20, 11, 20]) {
        row.used.insert(ClassId(0), used);
    }
    let snapshot = Snapshot::build(catalog(), rows);
    let room = "3 hosts have too little room for VCPU: 1 requested, 0 free, over by at least 3, on name-2.";
    assert_eq!(sentences(&snapshot, &asking(vec![request("", 1)])), [room]);
}

fn report(snapshot: &Snapshot, request: Request, provider: Option<&str>) -> ExplanationReport {
    let question = ExplainQuestion {
        request,
        purpose: None,
        provider: provider.map(str::to_owned),
        nearest: 0,
        may_claim: false,
    };
    report_on(snapshot, &question, &SearchSettings::uncut(7)).unwrap()
}

#[test]
fn sentences_about_a_named_host_begin_with_the_name() {
    let snapshot = Snapshot::build(catalog(), hosts());
    let mut asked = asking(vec![request("", 3)]);
    asked.groups[0].traits.required = vec![set(&["FAST"])];
    let detail = report(&snapshot, asked, Some("name-2")).detail;
    let expected = "name-2 cannot serve the query. name-2 lacks trait FAST of required. name-2 has too little room for \
                    VCPU: 3 requested, at most 2 free.";
    assert_eq!(detail, expected);
}

/// The first host has most free and a small `max_unit`; the second host is full and has a large `max_unit`.
#[test]
fn the_figures_of_a_class_are_those_of_providers_that_are_up() {
    let mut rows = hosts();
    for (row, (max_unit, used)) in rows.iter_mut().zip([(3, 1), (8, 8), (8, 0)]) {
        let inventory = Inventory {
            max_unit,
            ..Inventory::whole(8)
        };
        row.inventories.insert(ClassId(0), inventory);
        row.used.insert(ClassId(0), used);
    }
    let off = Description {
        state: ProviderState::Off,
        ..Description::default()
    };
    let snapshot = Snapshot::build(catalog(), rows).with_descriptions([(ProviderId(3), off)]);
    let mut asked = asking(vec![request("", 5)]);
    asked.host.only_up = true;
    let class = report(&snapshot, asked.clone(), None).classes.remove(0);
    let room = class.room.unwrap();
    assert_eq!((room.free.amount, class.max_unit), (7, Some(3)));
    assert_eq!(
        (class.freest.unwrap().1, class.enough),
        ("name-1".to_owned(), Enough::NotNow)
    );
    asked.host.only_up = false;
    let class = report(&snapshot, asked, None).classes.remove(0);
    assert_eq!((class.room.unwrap().free.amount, class.max_unit), (8, Some(8)));
    assert_eq!(class.enough, Enough::Now);
}

/// Five hosts lack a trait each, and three hosts lack the first trait.
#[test]
fn the_condition_with_the_most_hosts_is_in_the_sentences() {
    let traits = (20..27).map(|id| (TraitId(id), format!("T{id}").into())).collect();
    let catalog = Catalog::new(vec![(ClassId(0), "VCPU".into())], traits, Vec::new());
    let lacking = [20, 20, 20, 21, 22, 23, 24, 25].into_iter().enumerate();
    let rows = lacking.map(|(at, lacking)| {
        let mut row = ProviderRow::bare(ProviderId(at as i32), format!("uuid-{at}"), format!("name-{at}"));
        row.inventories.insert(ClassId(0), Inventory::whole(8));
        row.traits = (20..27).filter(|id| *id != lacking).map(TraitId).collect();
        row
    });
    let snapshot = Snapshot::build(catalog, rows.collect());
    let mut asked = asking(vec![request("", 1)]);
    asked.groups[0].traits.required = (20..27).map(|id| [format!("T{id}")].into()).collect();
    let expected = "None of the 8 hosts can serve the query. 1 host lacks trait T25 of required. 1 host lacks trait \
                    T24 of required. 1 host lacks trait T23 of required. 3 hosts lack trait T20 of required. 2 more \
                    conditions leave out hosts.";
    let reasons = reasons(&snapshot, &asked, &SearchSettings::uncut(7)).unwrap();
    assert_eq!(reasons.kept()[0].detail, expected);
    assert_eq!(report(&snapshot, asked.clone(), None).detail, expected);
    let kept: Vec<usize> = reasons
        .kept()
        .iter()
        .map(|reason| reason.detail.matches("T20").count())
        .collect();
    assert_eq!(kept, [1, 0, 0, 0, 1, 0, 0]);
}
