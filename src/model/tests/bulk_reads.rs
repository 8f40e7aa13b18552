//! Lists of providers, consumers and sums: each thing is on one page, whatever is written between the pages.

use std::sync::Arc;

use super::*;
use crate::model::allocations::Release;
use crate::model::consumers::{self, ConsumerFilter, ListedConsumer};
use crate::model::inventories::Clear;
use crate::model::providers::{self, ProviderField, ProviderListQuestion};
use crate::model::resource_providers::Delete;
use crate::model::usages::sums::{self, ClassUsage, SummedThings, UsageKey, UsageQuestion};
use crate::search::ProviderQuery;

const HOSTS: u32 = 7;

async fn cloud() -> Fixture {
    let mut f = fixture();
    for number in 1..=HOSTS {
        f.host(number, 10).await.unwrap();
    }
    f
}

fn question(limit: usize) -> ProviderListQuestion {
    ProviderListQuestion {
        fields: vec![ProviderField::Allocations],
        limit,
        ..ProviderListQuestion::default()
    }
}

async fn page(f: &Fixture, question: ProviderListQuestion) -> providers::ProviderPage {
    let snapshot = f.model.snapshot().await.unwrap();
    providers::fetch_page(&f.model, snapshot, question, true, &caller())
        .await
        .unwrap()
}

#[actix_web::test]
async fn each_provider_is_on_one_page_beside_writes() {
    let mut f = cloud().await;
    let before: Vec<String> = (1..=HOSTS).map(uuid).collect();
    for limit in 1..=HOSTS as usize + 1 {
        let (mut shown, mut after) = (Vec::new(), None);
        loop {
            let found = page(
                &f,
                ProviderListQuestion {
                    after: after.clone(),
                    ..question(limit)
                },
            )
            .await;
            shown.extend(found.slots.iter().map(|slot| found.snapshot.uuid(*slot).to_owned()));
            // Between the pages, a host comes and goes before the page, and a host comes behind all hosts.
            if shown.len() <= 3 * limit {
                f.host(0, 1).await.unwrap();
                delete_host(&f, 0).await;
                let behind = u32::try_from(100 * limit + shown.len()).unwrap();
                f.host(behind, 1).await.unwrap();
            }
            after = found.next;
            if after.is_none() {
                break;
            }
        }
        let all_the_time: Vec<String> = shown.iter().filter(|uuid| before.contains(uuid)).cloned().collect();
        assert_eq!(all_the_time, before, "limit {limit}");
        let distinct: std::collections::BTreeSet<&String> = shown.iter().collect();
        assert_eq!(distinct.len(), shown.len(), "limit {limit}");
    }
}

async fn delete_host(f: &Fixture, host: u32) {
    let clear = Clear { provider: uuid(host) };
    f.model.submit(clear).await.unwrap();
    let delete = Delete { uuid: uuid(host) };
    f.model.submit(delete).await.unwrap();
}

#[actix_web::test]
async fn each_consumer_is_on_one_page_beside_writes() {
    let f = cloud().await;
    let stays: Vec<u32> = (30..36).collect();
    for consumer in &stays {
        use_host(&f, *consumer, 1, 1).await;
    }
    let (mut shown, mut after) = (Vec::new(), None);
    loop {
        let (page, next) = listed(&f, ConsumerFilter { after, ..filter(2) }).await;
        shown.extend(page.into_iter().map(|consumer| consumer.uuid));
        // A consumer comes and goes before the page.
        use_host(&f, 20, 2, 1).await;
        let release = Release { consumer: uuid(20) };
        f.model.submit(release).await.unwrap();
        after = next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(shown, stays.into_iter().map(uuid).collect::<Vec<_>>());
}

#[actix_web::test]
async fn an_old_consumer_was_not_written_for_a_time_or_has_no_time() {
    let mut f = cloud().await;
    for consumer in 20..24 {
        use_host(&f, consumer, 1, 1).await;
    }
    let long_ago = "2001-02-03 04:05:06";
    let mut set = |consumer: u32, created: &str, updated: &str| {
        let table = "UPDATE consumers SET created_at";
        f.execute(&format!(
            "{table} = {created}, updated_at = {updated} WHERE uuid = '{}'",
            uuid(consumer)
        ));
    };
    set(20, &format!("'{long_ago}'"), &format!("'{long_ago}'"));
    set(21, &format!("'{long_ago}'"), "NULL");
    set(22, "NULL", "NULL");
    let (old, _) = listed(
        &f,
        ConsumerFilter {
            older_than: Some(86_400),
            ..filter(9)
        },
    )
    .await;
    let found: Vec<String> = old.iter().map(|consumer| consumer.uuid.clone()).collect();
    assert_eq!(found, [20, 21, 22].map(uuid));
    assert_eq!(old[0].updated.as_deref(), Some("2001-02-03T04:05:06Z"));
    assert_eq!((&old[2].created, &old[2].updated), (&None, &None));
}

/// The database of a server may put `b` before `C`.
#[actix_web::test]
async fn each_project_is_on_one_page_whatever_its_case() {
    let f = cloud().await;
    let names = ["A", "b", "C", "d", "E"];
    for (number, project) in names.iter().enumerate() {
        let mut command = claim(20 + number as u32, 1, "VCPU", 1, Expected::New);
        command.consumers[0].owner = Some(Owner {
            project: (*project).to_owned(),
            user: "u".to_owned(),
        });
        f.model.submit(command).await.unwrap();
    }
    let (mut shown, mut after) = (Vec::new(), None);
    loop {
        let question = UsageQuestion {
            by: UsageKey::Project,
            project: None,
            limit: 2,
            after,
        };
        let (page, next) = sums::over_consumers(&f.model, f.model.reader(false), question)
            .await
            .unwrap();
        shown.extend(page.into_iter().map(|sums| sums.key));
        after = next;
        if after.is_none() {
            break;
        }
    }
    shown.sort_unstable_by_key(|name| name.to_lowercase());
    assert_eq!(shown, names);
}

#[actix_web::test]
async fn filters_and_pages_are_of_one_list() {
    let f = cloud().await;
    let named = ProviderListQuestion {
        query: ProviderQuery {
            uuid: Some(uuid(3)),
            ..ProviderQuery::default()
        },
        ..question(2)
    };
    let found = page(&f, named).await;
    assert_eq!((found.slots.len(), found.next), (1, None));
    let roomy = |amount: i64, limit: usize| ProviderListQuestion {
        query: ProviderQuery {
            resources: vec![("VCPU".to_owned(), amount)],
            ..ProviderQuery::default()
        },
        ..question(limit)
    };
    let found = page(&f, roomy(10, 5)).await;
    assert_eq!((found.slots.len(), found.next), (5, Some(uuid(5))));
    let found = page(&f, roomy(11, 5)).await;
    assert_eq!((found.slots.len(), found.next), (0, None));
}

async fn use_host(f: &Fixture, consumer: u32, host: u32, amount: i64) {
    f.model
        .submit(claim(consumer, host, "VCPU", amount, Expected::New))
        .await
        .unwrap();
}

fn filter(limit: usize) -> ConsumerFilter {
    ConsumerFilter {
        has_allocations: true,
        limit,
        ..ConsumerFilter::default()
    }
}

async fn listed(f: &Fixture, filter: ConsumerFilter) -> (Vec<ListedConsumer>, Option<String>) {
    consumers::fetch_list(&f.model, f.model.reader(false), filter)
        .await
        .unwrap()
}

#[actix_web::test]
async fn allocations_are_those_of_consumers_and_of_providers() {
    let f = cloud().await;
    for consumer in 20..25 {
        use_host(&f, consumer, consumer - 19, i64::from(consumer) - 19).await;
    }
    let (all, next) = listed(&f, filter(3)).await;
    assert_eq!(next, Some(uuid(22)));
    let amounts = |listed: &ListedConsumer| {
        let shares = listed.allocations.clone().unwrap_or_default();
        shares
            .into_iter()
            .map(|share| (share.provider, share.resources))
            .collect::<Vec<_>>()
    };
    assert_eq!(amounts(&all[2]), [(uuid(3), vec![("VCPU".to_owned(), 3)])]);
    let (rest, next) = listed(
        &f,
        ConsumerFilter {
            after: next,
            ..filter(3)
        },
    )
    .await;
    assert_eq!((rest.len(), next), (2, None));
    let (of_host, _) = listed(
        &f,
        ConsumerFilter {
            provider: Some(uuid(4)),
            ..filter(9)
        },
    )
    .await;
    assert_eq!(of_host.len(), 1);
    assert_eq!(of_host[0].uuid, uuid(23));
    let nowhere = ConsumerFilter {
        provider: Some("nowhere".to_owned()),
        ..filter(9)
    };
    let unknown = consumers::fetch_list(&f.model, f.model.reader(false), nowhere);
    assert!(matches!(unknown.await, Err(Error::NotFound { .. })));
    let found = page(&f, question(9)).await;
    assert_eq!(found.allocations.len(), 5);
    assert_eq!(found.allocations[&uuid(2)].len(), 1);
}

#[actix_web::test]
async fn sums_by_root_and_by_project_are_the_same() {
    let f = cloud().await;
    for consumer in 20..25 {
        use_host(&f, consumer, consumer - 19, 2).await;
    }
    let question = |by: UsageKey, limit: usize| UsageQuestion {
        by,
        project: None,
        limit,
        after: None,
    };
    let list = async |asked: UsageQuestion| {
        let sums = if asked.by.is_of_consumers() {
            sums::over_consumers(&f.model, f.model.reader(false), asked).await
        } else {
            let snapshot = f.model.snapshot().await.unwrap();
            sums::over_providers(&f.model, snapshot, asked, &caller()).await
        };
        sums.unwrap()
    };
    let (roots, next) = list(question(UsageKey::Root, 4)).await;
    assert_eq!((roots.len(), next), (4, Some(uuid(4))));
    let (roots, _) = list(question(UsageKey::Root, 100)).await;
    let used: i64 = roots.iter().map(|root| amount_of(&root.classes)).sum();
    let (projects, next) = list(question(UsageKey::Project, 100)).await;
    assert_eq!(next, None);
    assert_eq!(projects.len(), 1);
    assert_eq!(
        (projects[0].counted, amount_of(&projects[0].classes)),
        (SummedThings::Consumers(5), used)
    );
    let (types, _) = list(question(UsageKey::Type, 100)).await;
    assert_eq!(
        (types[0].counted, amount_of(&types[0].classes)),
        (SummedThings::Consumers(5), used)
    );
    let (classes, _) = list(question(UsageKey::ResourceClass, 100)).await;
    assert_eq!((classes[0].key.as_str(), amount_of(&classes[0].classes)), ("VCPU", 10));
}

fn amount_of(classes: &[(Arc<str>, ClassUsage)]) -> i64 {
    let amounts = classes.iter().map(|(_, usage)| match usage {
        ClassUsage::OfProviders(totals) => totals.used,
        ClassUsage::OfConsumers(used) => *used,
    });
    amounts.sum()
}
