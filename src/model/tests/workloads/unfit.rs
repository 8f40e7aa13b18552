//! Replicas on hosts which no longer meet the conditions of the role: the code gives the reason.

use super::violations::report;
use super::*;
use crate::model::traits;

const TRAIT: &str = "HW_CPU_X86_AVX";

async fn set_traits(f: &mut Fixture, host: u32, names: &[&str]) {
    let replace = traits::Replace {
        provider: uuid(host),
        generation: f.generation(host),
        traits: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    f.model.submit(replace).await.unwrap();
}

/// The codes of the violations, with their details.
async fn found(f: &Fixture) -> Vec<(ReasonCode, String)> {
    let shown = report(&f.model, WORKLOAD).await;
    let found = shown.violations.into_iter();
    found.map(|it| (it.reason.code, it.reason.detail)).collect()
}

#[actix_web::test]
async fn a_trait_that_was_taken_from_a_host_is_named_and_no_condition() {
    let mut f = cluster(&SITES[..1]).await;
    set_traits(&mut f, 1, &[TRAIT]).await;
    place(&f.model, stored(WORKLOAD, None, &format!("1 free+trait:{TRAIT}")))
        .await
        .unwrap();
    assert_eq!(found(&f).await, []);
    set_traits(&mut f, 1, &[]).await;
    let expected = "On a host that lacks a required trait or has a forbidden one: 0.";
    assert_eq!(found(&f).await, [(ReasonCode::Traits, expected.to_owned())]);
}

#[actix_web::test]
async fn a_child_that_is_not_up_is_a_state_and_an_inventory_that_is_gone_names_its_class() {
    let mut f = cluster(&SITES[..1]).await;
    let child = Create {
        uuid: uuid(20),
        name: "disks".into(),
        parent: Some(uuid(1)),
    };
    f.model.submit(child).await.unwrap();
    f.model.submit(adding(20, "DISK_GB", 10)).await.unwrap();
    place(&f.model, stored(WORKLOAD, None, "1 free+class:DISK_GB"))
        .await
        .unwrap();
    assert_eq!(found(&f).await, []);
    describe(&f.model, 20, None, ("-", "-"), ProviderState::Off).await;
    let expected = "On a host with a provider that is not up: 0.";
    assert_eq!(found(&f).await, [(ReasonCode::State, expected.to_owned())]);
    describe(&f.model, 20, Some(1), ("-", "-"), ProviderState::Up).await;
    f.execute("DELETE FROM inventories WHERE total = 10 AND resource_class_id = 2");
    comparisons::compare(&f.model, 0, 1000).unwrap();
    let expected = "On a host without inventory of DISK_GB: 0.";
    assert_eq!(found(&f).await, [(ReasonCode::NoInventory, expected.to_owned())]);
}

#[actix_web::test]
async fn a_condition_and_a_domain_that_do_not_hold_any_more_have_their_codes() {
    let f = cluster(&SITES).await;
    place(
        &f.model,
        stored(WORKLOAD, None, "2 one-each Number == 1 || Number == 5"),
    )
    .await
    .unwrap();
    let mut undescribed = description(5, Some(1), ("-", "1"), ProviderState::Up);
    undescribed.is_forced = true;
    f.model.submit(undescribed).await.unwrap();
    let expected = "On a host without a domain in fault: 1.";
    assert_eq!(found(&f).await, [(ReasonCode::Domain, expected.to_owned())]);
    let mut other = description(5, Some(2), ("fd:/c", "1"), ProviderState::Up);
    other.providers[0].description.properties.clear();
    other.is_forced = true;
    f.model.submit(other).await.unwrap();
    let expected = "On a host that does not meet where: 1.";
    assert_eq!(found(&f).await, [(ReasonCode::Condition, expected.to_owned())]);
}

/// The replica stands on the first of two children. The second child is up, and lacks the trait.
#[actix_web::test]
async fn the_state_of_a_replicas_provider_comes_before_what_its_sibling_lacks() {
    let mut f = cluster(&SITES[..1]).await;
    for child in [20, 21] {
        let child_of_host = Create {
            uuid: uuid(child),
            name: format!("disks-{child}"),
            parent: Some(uuid(1)),
        };
        f.model.submit(child_of_host).await.unwrap();
        f.model.submit(adding(child, "DISK_GB", 10)).await.unwrap();
    }
    set_traits(&mut f, 20, &[TRAIT]).await;
    let body = format!("1 free+class:DISK_GB+trait:{TRAIT}");
    place(&f.model, stored(WORKLOAD, None, &body)).await.unwrap();
    assert_eq!(found(&f).await, []);
    describe(&f.model, 20, None, ("-", "-"), ProviderState::Off).await;
    let expected = "On a host with a provider that is not up: 0.";
    assert_eq!(found(&f).await, [(ReasonCode::State, expected.to_owned())]);
}
