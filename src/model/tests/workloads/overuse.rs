//! Usage above a limit is a violation, whatever caused the usage.

use super::violations::{page, report};
use super::*;
use crate::model::census::figures;
use crate::model::violations::overused::{OveruseFilter, without_replicas};
use crate::model::violations::{self, Filter, Page, Violated, ViolationPage};
use crate::model::{inventories, limits};

async fn change(model: &Model, host: u32, inventory: Inventory) {
    let snapshot = model.snapshot().await.unwrap();
    let update = inventories::Update {
        provider: uuid(host),
        generation: snapshot.generation(snapshot.by_uuid(&uuid(host)).unwrap()),
        class: "VCPU".into(),
        inventory,
        reserved_may_equal_total: true,
    };
    model.submit(update).await.unwrap();
}

async fn listed(model: &Model, page: Page) -> ViolationPage {
    let (reader, settings) = (model.reader(false), SearchSettings::uncut(7));
    violations::list(model, &reader, page, &settings, &caller())
        .await
        .unwrap()
}

/// The violations without a workload: the provider, the usage, the limit and the level.
async fn of_providers(model: &Model, filter: Filter) -> Vec<(String, i64, i64, Level)> {
    let found = listed(model, Page { filter, ..page(10) }).await;
    assert!(found.workloads.is_empty(), "{found:?}");
    let found = found.providers.into_iter().map(|it| {
        assert_eq!(it.reason.code, ReasonCode::NoRoom);
        let provider = it.reason.resource_provider.unwrap();
        (
            provider,
            it.reason.requested.unwrap(),
            it.reason.free.unwrap(),
            it.level,
        )
    });
    found.collect()
}

/// Two hosts with 10 VCPU, of which a consumer has 8 on the first.
async fn used() -> Fixture {
    let f = cluster(&SITES[..2]).await;
    let claim = super::super::claim(1, 1, "VCPU", 8, Expected::New);
    f.model.submit(claim).await.unwrap();
    f
}

#[actix_web::test]
async fn found_p16_usage_above_the_capacity_is_a_violation_whatever_caused_it() {
    let f = used().await;
    assert!(of_providers(&f.model, Filter::default()).await.is_empty());
    let reserved = Inventory {
        reserved: 6,
        ..inventory(10)
    };
    let ratio = Inventory {
        allocation_ratio: 0.5,
        ..inventory(10)
    };
    for (inventory, limit) in [(inventory(5), 5), (reserved, 4), (ratio, 5)] {
        change(&f.model, 1, inventory).await;
        let expected = [(uuid(1), 8, limit, Level::Hard)];
        assert_eq!(of_providers(&f.model, Filter::default()).await, expected);
    }
    let settings = SearchSettings::uncut(7);
    let counted = figures(&f.model, &settings, &Interrupt::default()).await.unwrap();
    assert_eq!(counted.violations, [((ReasonCode::NoRoom, Level::Hard), 1)].into());
    change(&f.model, 1, inventory(8)).await;
    assert!(
        of_providers(&f.model, Filter::default()).await.is_empty(),
        "full is not over"
    );
}

#[actix_web::test]
async fn found_p16_usage_above_a_limit_that_was_set_later_is_a_soft_violation() {
    let f = used().await;
    let limit = limits::Set {
        class: "VCPU".to_owned(),
        generation: None,
        normal: Some("0.5".parse().unwrap()),
    };
    f.model.submit(limit).await.unwrap();
    let expected = [(uuid(1), 8, 5, Level::Soft)];
    assert_eq!(of_providers(&f.model, Filter::default()).await, expected);
    let of = |filter: Filter| of_providers(&f.model, filter);
    let level = |level| Filter {
        level: Some(level),
        ..Filter::default()
    };
    assert_eq!(of(level(Level::Soft)).await, expected);
    assert!(of(level(Level::Hard)).await.is_empty());
    let code = |code| Filter {
        code: Some(code),
        ..Filter::default()
    };
    assert_eq!(of(code(ReasonCode::NoRoom)).await, expected);
    assert!(of(code(ReasonCode::State)).await.is_empty());
    let provider = |host| Filter {
        provider: Some(uuid(host)),
        ..Filter::default()
    };
    assert_eq!(of(provider(1)).await, expected);
    assert!(of(provider(2)).await.is_empty());
    let project = Page {
        project: Some("p".to_owned()),
        ..page(10)
    };
    assert!(listed(&f.model, project).await.providers.is_empty());
    let second = Page {
        after: Some(uuid(1)),
        ..page(10)
    };
    assert!(listed(&f.model, second).await.providers.is_empty());
    change(&f.model, 1, inventory(7)).await;
    let expected = [(uuid(1), 8, 7, Level::Hard)];
    assert_eq!(of_providers(&f.model, Filter::default()).await, expected);
}

#[actix_web::test]
async fn found_p16_a_workload_lists_the_providers_of_its_replicas_that_are_above_a_limit() {
    let f = used().await;
    place(&f.model, stored(901, None, "1 free Number == 1")).await.unwrap();
    place(&f.model, stored(902, None, "1 free Number == 2")).await.unwrap();
    change(&f.model, 1, inventory(5)).await;
    let ViolationPage {
        providers, workloads, ..
    } = listed(&f.model, page(10)).await;
    assert!(providers.is_empty(), "the workload has it: {providers:?}");
    let [Violated { row, violations }] = &workloads[..] else {
        panic!("{workloads:?}")
    };
    assert_eq!(row.uuid, uuid(901));
    let shown = report(&f.model, 901).await.violations;
    assert_eq!(format!("{violations:?}"), format!("{shown:?}"));
    let [violation] = &violations[..] else {
        panic!("{violations:?}")
    };
    assert_eq!(
        (violation.reason.code, violation.level),
        (ReasonCode::NoRoom, Level::Hard)
    );
    assert_eq!((violation.reason.requested, violation.reason.free), (Some(9), Some(5)));
    assert_eq!(
        (&violation.replicas[..], &violation.hosts[..]),
        (&["0".to_owned()][..], &[uuid(1)][..])
    );
}

#[actix_web::test]
async fn found_p16_the_answer_of_a_write_has_the_violations_that_the_next_read_has() {
    let f = cluster(&SITES[..2]).await;
    let limit = limits::Set {
        class: "VCPU".to_owned(),
        generation: None,
        normal: Some("0.5".parse().unwrap()),
    };
    f.model.submit(limit).await.unwrap();
    let write = async |generation: Option<i64>, [large, small]: [u32; 2], swap: bool| {
        let mut asked = put(
            WORKLOAD,
            generation,
            Spec {
                roles: vec![role("large", large, 8), role("small", small, 2)],
                ..spec(0, Some(Vec::new()))
            },
        );
        if swap {
            asked.swaps = vec![["0".to_owned(), "1".to_owned()]];
        }
        let answer = place(&f.model, asked).await.unwrap();
        let shown = report(&f.model, WORKLOAD).await;
        assert_eq!(format!("{:?}", answer.violations), format!("{:?}", shown.violations));
        let figures = answer.violations.into_iter().map(|it| {
            assert_eq!((it.reason.code, it.level), (ReasonCode::NoRoom, Level::Soft));
            (it.reason.requested.unwrap(), it.reason.free.unwrap(), it.hosts)
        });
        figures.collect::<Vec<_>>()
    };
    let first = write(None, [1, 1], false).await;
    let [(8, 5, hosts)] = &first[..] else {
        panic!("{first:?}")
    };
    let swapped = write(Some(1), [1, 1], true).await;
    assert!(
        matches!(&swapped[..], [(8, 5, others)] if others != hosts),
        "{swapped:?}"
    );
    assert_eq!(write(Some(2), [0, 1], false).await, []);
    assert_eq!(write(Some(3), [1, 1], false).await.len(), 1);
}

#[actix_web::test]
async fn found_p16_an_overuse_behind_many_that_workloads_list_is_listed() {
    let f = cluster(&SITES).await;
    place(&f.model, stored(901, None, "5 free Number < 6")).await.unwrap();
    f.model
        .submit(super::super::claim(1, 6, "VCPU", 8, Expected::New))
        .await
        .unwrap();
    let normal = limits::Set {
        class: "VCPU".to_owned(),
        generation: None,
        normal: Some("0.5".parse().unwrap()),
    };
    f.model.submit(normal).await.unwrap();
    let reserved = Inventory {
        reserved: 10,
        ..inventory(10)
    };
    for host in 1..6 {
        change(&f.model, host, reserved).await;
    }
    let found = async |most: usize, level: Option<Level>| {
        let wanted = OveruseFilter {
            provider: None,
            level,
            most,
        };
        let (reader, caller) = (f.model.reader(false), caller());
        let found = without_replicas(&f.model, &reader, wanted, &caller).await.unwrap();
        found.into_iter().map(|it| (it.host.0, it.level)).collect::<Vec<_>>()
    };
    for most in 1..8 {
        assert_eq!(found(most, None).await, [(uuid(6), Level::Soft)], "{most}");
        assert_eq!(found(most, Some(Level::Soft)).await, [(uuid(6), Level::Soft)], "{most}");
        assert_eq!(found(most, Some(Level::Hard)).await, []);
    }
    // Without the workload all six are listed, hard ones first.
    delete(&f.model, &uuid(901), Some(1), Delete::default(), &caller())
        .await
        .unwrap();
    for host in 1..6 {
        let claim = super::super::claim(10 + host, host, "VCPU", 1, Expected::New);
        change(&f.model, host, inventory(10)).await;
        f.model.submit(claim).await.unwrap();
        change(&f.model, host, reserved).await;
    }
    let hard = |host| (uuid(host), Level::Hard);
    assert_eq!(found(2, None).await, [hard(1), hard(2)]);
    assert_eq!(found(9, None).await.len(), 6);
    assert_eq!(found(1, Some(Level::Soft)).await, [(uuid(6), Level::Soft)]);
}
