//! The state of all hosts in a domain: which hosts, races with descriptions, and limits.

use super::descriptions::one;
use super::multi_process::submit_together;
use super::*;
use crate::model::providers::{self, Described, DomainState, HostOfDomain, SetStates};
use crate::search::{Domain, PropertyValue, ProviderState};

fn in_domain(dimension: &str, path: &str, state: ProviderState) -> DomainState {
    let domain = Domain {
        dimension: dimension.into(),
        path: path.into(),
    };
    DomainState { domain, state }
}

async fn set(model: &Model, wanted: DomainState, is_dry_run: bool) -> Result<Vec<Described>> {
    providers::set_states(model, wanted, is_dry_run, &CallerKey::of_address(None)).await
}

/// A description of a host in a domain of `fault`.
fn host_in(provider: u32, path: &str) -> providers::DescribeAll {
    let mut command = one(provider, None, 1, ProviderState::Up);
    let domains = &mut command.providers[0].description.domains;
    domains.insert("fault".into(), path.into());
    command
}

/// Hosts 1, 2, … in these domains of `fault`.
async fn hosts(paths: &[&str]) -> Fixture {
    let mut f = fixture();
    for (host, path) in (1..).zip(paths) {
        f.host(host, 10).await.unwrap();
        f.model.submit(host_in(host, path)).await.unwrap();
    }
    f
}

/// Uuid, generation and state.
fn summary(described: &[Described]) -> Vec<(String, Option<i64>, ProviderState)> {
    let all = described.iter();
    all.map(|it| (it.uuid.clone(), it.generation, it.description.state))
        .collect()
}

async fn state(model: &Model, host: u32) -> ProviderState {
    let snapshot = model.snapshot().await.unwrap();
    snapshot.state(snapshot.by_uuid(&uuid(host)).unwrap())
}

#[actix_web::test]
async fn all_hosts_in_the_domain_get_the_state_and_keep_the_rest() {
    let mut f = hosts(&["/d1/r1", "/d1/r2", "/d10", "/d1"]).await;
    let below = Create {
        uuid: uuid(5),
        name: "below".to_owned(),
        parent: Some(uuid(3)),
    };
    f.model.submit(below).await.unwrap();
    f.model.submit(host_in(5, "/d1")).await.unwrap();
    let before = f.described(1).await.description;
    let wanted = in_domain("fault", "/d1", ProviderState::Draining);
    let expected: Vec<_> = [1, 2, 4]
        .map(|host| (uuid(host), Some(2), ProviderState::Draining))
        .into();

    let foreseen = set(&f.model, wanted.clone(), true).await.unwrap();
    assert_eq!(summary(&foreseen), expected);
    assert_eq!(state(&f.model, 1).await, ProviderState::Up, "a dry run writes nothing");

    let written = set(&f.model, wanted.clone(), false).await.unwrap();
    assert_eq!(written, foreseen);
    let Described { description, .. } = f.described(1).await;
    assert_eq!(
        (description.state, description.properties, description.domains),
        (ProviderState::Draining, before.properties, before.domains)
    );
    for (host, expected) in [
        (2, ProviderState::Draining),
        (3, ProviderState::Up),
        (5, ProviderState::Up),
    ] {
        assert_eq!(state(&f.model, host).await, expected, "{host}");
    }
    let again = set(&f.model, wanted, false).await.unwrap();
    assert_eq!(summary(&again), expected, "the same again leaves the generations");
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_host_is_a_domain_of_its_own() {
    let mut f = hosts(&["/d1", "/d1"]).await;
    f.host(3, 10).await.unwrap();
    let wanted = |host: u32| in_domain("host", &uuid(host), ProviderState::Off);
    let described = set(&f.model, wanted(2), false).await.unwrap();
    assert_eq!(summary(&described), [(uuid(2), Some(2), ProviderState::Off)]);
    let described = set(&f.model, wanted(3), false).await.unwrap();
    assert_eq!(
        summary(&described),
        [(uuid(3), Some(1), ProviderState::Off)],
        "a host that was never described"
    );
    assert_eq!(state(&f.model, 1).await, ProviderState::Up);
}

#[actix_web::test]
async fn a_domain_without_hosts_or_with_more_than_1000_is_refused() {
    let f = hosts(&["/d1"]).await;
    let refused = set(&f.model, in_domain("fault", "/d2", ProviderState::Off), false).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.starts_with("in_domain: no host is in fault:/d2."), "{refused}");

    let create = |host: u32| Create {
        uuid: uuid(host),
        name: format!("host{host}"),
        parent: None,
    };
    for first in (2..1_002).step_by(100) {
        let work = (first..first + 100).map(|host| (&f.model, create(host)));
        let created = submit_together(work.collect()).await;
        assert!(created.iter().all(Result::is_ok));
    }
    let describe = |hosts: std::ops::RangeInclusive<u32>| {
        let mut all = host_in(1, "/d1");
        all.providers = hosts.flat_map(|host| host_in(host, "/d1").providers).collect();
        all
    };
    f.model.submit(describe(2..=1_000)).await.unwrap();
    let wanted = in_domain("fault", "/d1", ProviderState::Draining);
    assert_eq!(set(&f.model, wanted.clone(), false).await.unwrap().len(), 1_000);
    f.model.submit(describe(1_001..=1_001)).await.unwrap();
    let refused = set(&f.model, wanted, false).await.unwrap_err().to_string();
    assert!(
        refused.contains("1001 hosts are in fault:/d1") && refused.contains("at most 1000"),
        "{refused}"
    );
}

fn described_host(host: u32) -> HostOfDomain {
    HostOfDomain {
        uuid: uuid(host),
        aggregate: None,
    }
}

/// The command of a request that found the hosts before the rows changed.
async fn set_late(f: &Fixture, hosts: &[u32], wanted: DomainState) -> Result<Vec<Described>> {
    let hosts = hosts.iter().map(|host| described_host(*host)).collect();
    f.model.submit(SetStates { hosts, wanted }).await
}

#[actix_web::test]
async fn a_host_that_leaves_the_domain_in_between_keeps_its_state() {
    let f = hosts(&["/d1", "/d1", "/d1"]).await;
    let mut moved = host_in(2, "/d2");
    moved.providers[0].generation = Some(1);
    f.model.submit(moved).await.unwrap();
    let delete = crate::model::resource_providers::Delete { uuid: uuid(3) };
    f.model.submit(delete).await.unwrap();
    let wanted = in_domain("fault", "/d1", ProviderState::Lost);
    let described = set_late(&f, &[1, 2, 3], wanted.clone()).await.unwrap();
    assert_eq!(summary(&described), [(uuid(1), Some(2), ProviderState::Lost)]);
    assert_eq!(state(&f.model, 2).await, ProviderState::Up);
    let refused = set_late(&f, &[2, 3], wanted).await.unwrap_err();
    assert!(refused.to_string().contains("no host is in fault:/d1"), "{refused}");
}

/// A client changes the description by the known generation, while a request sets the state of the domain. The state is
/// never lost, and the description only if the client learns of the refusal.
#[actix_web::test]
async fn descriptions_that_change_at_the_same_time_keep_the_change_and_the_state() {
    let mut f = hosts(&["/d1", "/d1"]).await;
    let peer = f.start_peer();
    let other = peer.as_ref().map_or(&f.model, |(peer, _)| peer);
    for round in 0..10 {
        let to = if round % 2 == 0 {
            ProviderState::Off
        } else {
            ProviderState::Up
        };
        let known = f.described(1).await;
        let mut change = one(1, known.generation, 100 + round, known.description.state);
        change.providers[0].description.domains = known.description.domains;
        let hosts = vec![described_host(1), described_host(2)];
        let states = SetStates {
            hosts,
            wanted: in_domain("fault", "/d1", to),
        };
        let other = other.clone();
        let setting = actix_web::rt::spawn(async move { other.submit(states).await });
        let answers = [f.model.submit(change).await, setting.await.unwrap()];
        assert!(answers[1].is_ok(), "{answers:?}");
        let shown = f.described(1).await;
        assert_eq!(shown.description.state, to, "{answers:?}");
        let value = Some(PropertyValue::Integer(100 + round));
        assert_eq!(
            shown.description.properties["Value"] == value,
            answers[0].is_ok(),
            "{answers:?}"
        );
    }
    f.check_snapshot().await;
}
