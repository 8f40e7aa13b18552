//! Reports of hosts: what an agent owns, what a description says, and how hosts are listed.

mod leases;

use diesel::prelude::*;

use super::choices::{choice, claimed, first_of};
use super::descriptions::one;
use super::*;
use crate::error::Error;
use crate::model::hosts::{
    self, EndLeases, Health, HostQuestion, HostReport, HostView, Reported, ReportedLease, ReportedProvider,
};
use crate::model::providers::Describe;
use crate::search::{Description, PropertyValue, ProviderState};

/// A host of Nova, and a provider of the agent.
const HOST: u32 = 1;
const DISK: u32 = 50;
/// A host without an agent.
const OTHER: u32 = 2;

async fn cloud() -> Fixture {
    let mut f = fixture();
    f.host(HOST, 10).await.unwrap();
    f.host(OTHER, 10).await.unwrap();
    f
}

fn describe(provider: u32, rack: &str) -> Describe {
    Describe {
        provider: uuid(provider),
        name: None,
        generation: None,
        description: Description {
            properties: [("rack".into(), Some(PropertyValue::Text(rack.into())))].into(),
            domains: [("fault".into(), rack.into())].into(),
            ..Description::default()
        },
    }
}

fn disk(total: i32) -> ReportedProvider {
    ReportedProvider {
        create: Create {
            uuid: uuid(DISK),
            name: "disk".to_owned(),
            parent: Some(uuid(HOST)),
        },
        description: Describe {
            description: Description::default(),
            ..describe(DISK, "-")
        },
        inventories: vec![("CUSTOM_VOLUME_GB".to_owned(), inventory(total))],
        traits: vec!["CUSTOM_SSD".to_owned()],
    }
}

fn report(number: i64, providers: Vec<ReportedProvider>) -> HostReport {
    let totals: Vec<i32> = providers.iter().map(|own| own.inventories[0].1.total).collect();
    HostReport {
        host: uuid(HOST),
        user: "agent-user".to_owned(),
        may_report_all: false,
        lease: ReportedLease {
            holder: "agent".to_owned(),
            boot: "boot-1".to_owned(),
            number,
            term: 60,
        },
        digest: format!("{totals:?}"),
        description: describe(HOST, "rack-1"),
        providers,
    }
}

async fn send(f: &Fixture, report: HostReport) -> Result<Reported> {
    hosts::report(&f.model, &caller(), report, false).await
}

async fn shown(f: &Fixture) -> HostView {
    hosts::fetch(&f.model, uuid(HOST)).await.unwrap()
}

/// Ends the lease of the host by the clock of the database.
fn let_lease_end(f: &mut Fixture) {
    f.execute("UPDATE placet_leases SET held_until = '2001-01-01 00:00:00'");
}

async fn end_leases(f: &Fixture) -> usize {
    let hosts = vec![uuid(HOST), uuid(OTHER)];
    f.model.submit(EndLeases { hosts }).await.unwrap()
}

fn changes(f: &mut Fixture) -> i64 {
    use crate::db::schema::placet_changes;
    placet_changes::table.count().get_result(&mut f.conn).unwrap()
}

#[actix_web::test]
async fn an_agent_owns_what_it_reports_and_touches_nothing_else() {
    let mut f = cloud().await;
    let before = f.generation(HOST);
    send(&f, report(1, vec![disk(10)])).await.unwrap();
    assert_eq!(f.generation(HOST), before, "the generation of the host is Nova's");
    let snapshot = f.model.snapshot().await.unwrap();
    let slot = snapshot.by_uuid(&uuid(DISK)).unwrap();
    assert_eq!(snapshot.parent(slot), snapshot.by_uuid(&uuid(HOST)));
    assert_eq!(snapshot.inventories(slot).count(), 1);
    assert_eq!(snapshot.traits(slot).count(), 1);
    assert_eq!(snapshot.domain(slot, "fault").map(|path| &**path), Some("rack-1"));
    let generation = f.generation(DISK);
    send(&f, report(2, vec![disk(20)])).await.unwrap();
    assert_eq!(f.generation(DISK), generation + 1, "only the inventory differs");
    send(&f, report(3, Vec::new())).await.unwrap();
    let snapshot = f.model.snapshot().await.unwrap();
    assert!(snapshot.by_uuid(&uuid(DISK)).is_none(), "a missing provider is deleted");
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_missing_provider_with_allocations_stays_and_is_gone() {
    let mut f = cloud().await;
    send(&f, report(1, vec![disk(10)])).await.unwrap();
    f.model
        .submit(claim(1, DISK, "CUSTOM_VOLUME_GB", 10, Expected::New))
        .await
        .unwrap();
    for number in [2, 3] {
        send(&f, report(number, Vec::new())).await.unwrap();
        let own = shown(&f).await.providers;
        assert_eq!(own.iter().map(|own| own.is_gone).collect::<Vec<_>>(), [true]);
    }
    assert_eq!(f.used(DISK), 10);
    send(&f, report(4, vec![disk(10)])).await.unwrap();
    assert!(!shown(&f).await.providers[0].is_gone, "the disk is there again");
}

#[actix_web::test]
async fn a_provider_of_a_different_client_is_refused_by_its_path_and_the_others_are_stored() {
    let mut f = cloud().await;
    let mut of_nova = disk(10);
    of_nova.create = Create {
        uuid: uuid(OTHER),
        name: "host".to_owned(),
        parent: Some(uuid(HOST)),
    };
    let mut named_so = disk(10);
    let name = f.texts(&format!(
        "SELECT name AS t FROM resource_providers WHERE uuid = '{}'",
        uuid(OTHER)
    ));
    named_so.create = Create {
        uuid: uuid(51),
        name: name[0].clone(),
        parent: Some(uuid(HOST)),
    };
    let before = f.generation(OTHER);
    let refused = send(&f, report(1, vec![of_nova, named_so, disk(10)]))
        .await
        .unwrap_err();
    let Error::ReportRefused { sentences } = refused else {
        panic!("{refused:?}");
    };
    assert!(
        sentences.starts_with("providers[0]: ") && sentences.contains("; providers[1]: "),
        "{sentences}"
    );
    assert!(!sentences.contains("providers[2]"), "{sentences}");
    assert_eq!(f.generation(OTHER), before);
    let own = shown(&f).await.providers;
    assert_eq!(own.iter().map(|own| own.uuid.clone()).collect::<Vec<_>>(), [uuid(DISK)]);
}

#[actix_web::test]
async fn a_description_by_a_different_client_and_a_state_of_a_person_stay() {
    let f = cloud().await;
    send(&f, report(1, Vec::new())).await.unwrap();
    let state = async || {
        let snapshot = f.model.snapshot().await.unwrap();
        let slot = snapshot.by_uuid(&uuid(HOST)).unwrap();
        (snapshot.description(slot).domains, snapshot.given_state(slot))
    };
    let mut draining = describe(HOST, "rack-1");
    draining.generation = Some(1);
    draining.description.state = ProviderState::Draining;
    let put = |new: Describe| crate::model::providers::DescribeAll {
        providers: vec![new],
        is_list: false,
        is_forced: false,
    };
    f.model.submit(put(draining)).await.unwrap();
    let mut moved = report(2, Vec::new());
    moved.description = describe(HOST, "rack-2");
    moved.digest = "moved".to_owned();
    send(&f, moved).await.unwrap();
    assert_eq!(
        state().await,
        ([("fault".into(), "rack-2".into())].into(), ProviderState::Draining)
    );
    f.model.submit(one(HOST, Some(3), 7, ProviderState::Up)).await.unwrap();
    let by_person = state().await;
    let mut again = report(3, Vec::new());
    again.digest = "again".to_owned();
    send(&f, again).await.unwrap();
    assert_eq!(state().await, by_person, "the person's description stays");
}

#[actix_web::test]
async fn hosts_are_listed_by_state_health_and_domain() {
    let mut f = cloud().await;
    send(&f, report(1, Vec::new())).await.unwrap();
    let list = async |question: HostQuestion| {
        let question = HostQuestion { limit: 10, ..question };
        hosts::fetch_list(&f.model, question).await.unwrap().hosts.len()
    };
    let health = |health| HostQuestion {
        health: Some(health),
        ..HostQuestion::default()
    };
    let domain = |path: &str| HostQuestion {
        in_domain: Some(crate::search::Domain {
            dimension: "fault".into(),
            path: path.into(),
        }),
        ..HostQuestion::default()
    };
    assert_eq!(list(health(Health::Up)).await, 1);
    assert_eq!(list(health(Health::Unknown)).await, 0);
    assert_eq!(list(domain("rack-1")).await, 1);
    assert_eq!(list(domain("rack-2")).await, 0);
    let_lease_end(&mut f);
    assert!(shown(&f).await.is_overdue);
    // A foreign writer deletes the host.
    let is_host = format!("uuid = '{}'", uuid(HOST));
    f.execute(&format!(
        "DELETE FROM inventories WHERE resource_provider_id IN (SELECT id FROM resource_providers WHERE {is_host})"
    ));
    // MariaDB deletes no row that references itself.
    f.execute(&format!(
        "UPDATE resource_providers SET root_provider_id = NULL WHERE {is_host}"
    ));
    f.execute(&format!("DELETE FROM resource_providers WHERE {is_host}"));
    f.model
        .submit(EndLeases {
            hosts: vec![uuid(HOST)],
        })
        .await
        .unwrap();
    let gone = hosts::fetch(&f.model, uuid(HOST)).await;
    assert!(matches!(gone, Err(Error::NotFound { .. })), "{gone:?}");
}

#[actix_web::test]
async fn an_agent_reports_for_a_root_provider_alone() {
    let f = cloud().await;
    send(&f, report(1, vec![disk(10)])).await.unwrap();
    let mut below = report(1, Vec::new());
    below.host = uuid(DISK);
    let refused = send(&f, below).await;
    assert!(matches!(refused, Err(Error::BadRequest { .. })), "{refused:?}");
}

/// Each provider is the parent of the next provider.
#[actix_web::test]
async fn a_missing_chain_of_providers_is_deleted_but_for_what_is_used() {
    let mut f = cloud().await;
    let chain = |length: u32| {
        (0..length).map(|at| {
            let mut own = disk(10);
            own.create = Create {
                uuid: uuid(60 + at),
                name: format!("link-{at}"),
                parent: Some(uuid(if at == 0 { HOST } else { 59 + at })),
            };
            own
        })
    };
    send(&f, report(1, chain(5).collect())).await.unwrap();
    let used = claim(1, 62, "CUSTOM_VOLUME_GB", 10, Expected::New);
    f.model.submit(used).await.unwrap();
    send(&f, report(2, Vec::new())).await.unwrap();
    let left: Vec<(String, bool)> = shown(&f)
        .await
        .providers
        .into_iter()
        .map(|own| (own.uuid, own.is_gone))
        .collect();
    assert_eq!(
        left,
        [60, 61, 62].map(|at| (uuid(at), true)),
        "the used provider and its ancestors"
    );
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_page_of_hosts_ends_by_its_bytes() {
    let mut f = cloud().await;
    for host in [HOST, OTHER] {
        let of_host = HostReport {
            host: uuid(host),
            description: describe(host, "rack"),
            ..report(1, Vec::new())
        };
        send(&f, of_host).await.unwrap();
    }
    let name = "n".repeat(crate::model::pages::PAGE_BYTES);
    let body = format!(r#"{{"description":null,"providers":[{{"uuid":"u","name":"{name}","is_gone":false}}]}}"#);
    f.execute(&format!("UPDATE placet_hosts SET body = '{body}'"));
    let question = HostQuestion {
        limit: 10,
        ..HostQuestion::default()
    };
    let page = hosts::fetch_list(&f.model, question).await.unwrap();
    assert_eq!((page.hosts.len(), page.next), (1, Some(uuid(HOST))));
}
