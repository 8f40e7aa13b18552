//! Lists of providers, in a world listed in the tests.

use super::*;
use crate::error::Error;
use crate::interrupt::Interrupt;
use crate::search::{ProviderQuery, providers};

fn world() -> Vec<ProviderRow> {
    vec![
        bare(9).with(VCPU, 4).traits([2]).in_aggregates([1]),
        bare(2).with(VCPU, 8).traits([2, 3]).below(9, 9),
        bare(3).with(DISK, 8).in_aggregates([1, 2]),
    ]
}

fn listed(query: &ProviderQuery) -> Result<Vec<i32>> {
    let snapshot = Snapshot::build(catalog(), world());
    let found = providers(&snapshot, query, false, &Interrupt::default())?;
    Ok(found.into_iter().map(|slot| snapshot.id(slot).0).collect())
}

fn list(change: fn(&mut ProviderQuery)) -> Result<Vec<i32>> {
    let mut query = ProviderQuery::default();
    change(&mut query);
    listed(&query)
}

#[test]
fn every_filter_restricts_the_list_which_is_ordered_by_id() {
    assert_eq!(list(|_| ()), Ok(vec![2, 3, 9]));
    assert_eq!(list(|query| query.name = Some("name-3".into())), Ok(vec![3]));
    assert_eq!(list(|query| query.uuid = Some(uuid(9))), Ok(vec![9]));
    assert_eq!(
        list(|query| (query.uuid, query.name) = (Some(uuid(9)), Some("name-3".into()))),
        Ok(vec![])
    );
    assert_eq!(list(|query| query.in_tree = Some(uuid(2))), Ok(vec![2, 9]));
    assert_eq!(
        list(|query| (query.in_tree, query.uuid) = (Some(uuid(2)), Some(uuid(3)))),
        Ok(vec![])
    );
    assert_eq!(list(|query| query.traits = required(&["T2"])), Ok(vec![2, 9]));
    assert_eq!(list(|query| query.traits.forbidden = set(&["T3"])), Ok(vec![3, 9]));
    assert_eq!(list(|query| query.resources = vec![("VCPU".into(), 5)]), Ok(vec![2]));
}

#[test]
fn aggregates_of_a_root_do_not_count_for_its_tree_in_a_list() {
    assert_eq!(list(|query| query.members = member_of(&["a1"])), Ok(vec![3, 9]));
    assert_eq!(list(|query| query.members.forbidden = set(&["a1"])), Ok(vec![2]));
}

#[test]
fn an_unknown_class_or_trait_is_an_error_and_an_unknown_provider_or_aggregate_matches_nothing() {
    let traits = |names: &str| {
        Err(Error::UnknownTraitsInQuery {
            names: names.to_owned(),
        })
    };
    assert_eq!(list(|query| query.in_tree = Some(uuid(77))), Ok(vec![]));
    assert_eq!(list(|query| query.members = member_of(&["unknown"])), Ok(vec![]));
    assert_eq!(
        list(|query| query.members.forbidden = set(&["unknown"])),
        Ok(vec![2, 3, 9])
    );
    assert_eq!(list(|query| query.traits = required(&["X"])), traits("X"));
    assert_eq!(list(|query| query.traits.forbidden = set(&["X"])), traits("X"));
    let cows = vec![("COWS".to_owned(), 1)];
    let query = ProviderQuery {
        resources: cows,
        ..ProviderQuery::default()
    };
    assert_eq!(listed(&query), Err(Error::UnknownClassInQuery { name: "COWS".into() }));
    assert_eq!(
        listed(&ProviderQuery {
            members: member_of(&["a3"]),
            ..query.clone()
        }),
        Ok(vec![])
    );
    assert_eq!(
        listed(&ProviderQuery {
            traits: required(&["T4"]),
            ..query
        }),
        Ok(vec![])
    );
}

#[test]
fn unknown_names_are_refused_without_any_provider_unless_a_filter_before_them_matches_nothing() {
    let cows = || vec![("COWS".to_owned(), 1)];
    let empty = Snapshot::build(catalog(), Vec::new());
    let list = |change: &dyn Fn(&mut ProviderQuery)| {
        let mut query = ProviderQuery::default();
        change(&mut query);
        providers(&empty, &query, false, &Interrupt::default()).map(|found| found.len())
    };
    let class = Err(Error::UnknownClassInQuery { name: "COWS".into() });
    let traits = Err(Error::UnknownTraitsInQuery { names: "X".into() });
    assert_eq!(list(&|_| ()), Ok(0));
    assert_eq!(list(&|query| query.resources = cows()), class);
    assert_eq!(list(&|query| query.traits = required(&["X"])), traits);
    assert_eq!(list(&|query| query.traits.forbidden = set(&["X"])), traits);
    // A name, a uuid and a forbidden aggregate do not end the request early.
    assert_eq!(
        list(&|query| (query.resources, query.name) = (cows(), Some("none".into()))),
        class
    );
    assert_eq!(
        list(&|query| (query.resources, query.uuid) = (cows(), Some(uuid(9)))),
        class
    );
    assert_eq!(
        list(&|query| (query.resources, query.members.forbidden) = (cows(), set(&["a1"]))),
        class
    );
    assert_eq!(
        list(&|query| (query.resources, query.in_tree) = (cows(), Some(uuid(9)))),
        Ok(0)
    );
    assert_eq!(
        list(&|query| (query.resources, query.members) = (cows(), member_of(&["a1"]))),
        Ok(0)
    );
    assert_eq!(
        list(&|query| (query.resources, query.traits) = (cows(), required(&["T2"]))),
        Ok(0)
    );
    assert_eq!(
        list(&|query| (query.traits.forbidden, query.traits.required) = (set(&["X"]), required(&["T2"]).required)),
        Ok(0)
    );
}
