//! Domains of aggregates: members, peers, descriptions, states, and the rules of workloads.

use super::domains::domains_of;
use super::workloads::{describe, description, place, stored, violated};
use super::*;
use crate::model::aggregates;
use crate::model::domains::{self, DeclaredDomain, DeclaredKey, Delete, DomainReport, HostElsewhere, Set};
use crate::model::providers::{self, DomainState};
use crate::search::{Domain, ProviderState};

fn aggregate(n: u32) -> String {
    uuid(500 + n)
}

fn domain(path: &str) -> Domain {
    Domain {
        dimension: "fault".into(),
        path: path.into(),
    }
}

async fn declare(model: &Model, path: &str, generation: Option<i64>, n: u32) -> Result<DeclaredDomain> {
    let set = Set {
        key: DeclaredKey::new(&domain(path)),
        generation,
        aggregate: aggregate(n),
    };
    model.submit(set).await
}

async fn join(model: &Model, host: u32, aggregates: &[u32]) {
    let snapshot = model.snapshot().await.unwrap();
    let join = aggregates::Replace {
        provider: uuid(host),
        aggregates: aggregates.iter().copied().map(aggregate).collect(),
        generation: Some(snapshot.generation(snapshot.by_uuid(&uuid(host)).unwrap())),
    };
    model.submit(join).await.unwrap();
}

/// Hosts 1, 2, … with 10 VCPU, each in an aggregate. No host is described.
async fn racks(aggregates: &[u32]) -> Fixture {
    let mut f = fixture();
    for (host, aggregate) in (1..).zip(aggregates) {
        f.host(host, 10).await.unwrap();
        join(&f.model, host, &[*aggregate]).await;
    }
    f
}

fn sizes(found: &[DomainReport]) -> Vec<(&str, usize)> {
    found.iter().map(|it| (it.path.as_str(), it.hosts)).collect()
}

#[actix_web::test]
async fn members_of_an_aggregate_are_in_its_domain_in_every_process() {
    let mut f = racks(&[1, 1, 2]).await;
    let peer = f.start_peer();
    let shown = declare(&f.model, "az1/r1", None, 1).await.unwrap();
    assert_eq!((shown.row.generation, shown.row.aggregate), (1, aggregate(1)));
    declare(&f.model, "az1/r2", None, 2).await.unwrap();
    let other = peer.as_ref().map_or(&f.model, |(peer, _)| peer);
    for model in [&f.model, other] {
        let found = domains_of(model, "fault", "").await;
        assert_eq!(sizes(&found), [("az1", 3), ("az1/r1", 2), ("az1/r2", 1)]);
        assert_eq!(found[1].aggregate.as_deref(), Some(&*aggregate(1)));
        assert_eq!(found[0].aggregate, None);
    }
    // OpenStack moves a host, and a peer names a further aggregate.
    join(other, 1, &[2]).await;
    join(other, 2, &[3]).await;
    for model in [&f.model, other] {
        let found = domains_of(model, "fault", "").await;
        assert_eq!(
            sizes(&found),
            [("az1", 2), ("az1/r1", 0), ("az1/r2", 2)],
            "a domain without hosts is shown"
        );
    }
    declare(other, "az1/r1", Some(1), 3).await.unwrap();
    assert_eq!(domains_of(&f.model, "fault", "").await[1].hosts, 1);
    let loaded = dialect::read_transaction(&mut f.conn, |conn| {
        crate::model::snapshot::reload::everything(conn, || Ok(()))
    });
    let loaded = loaded.unwrap().snapshot;
    let path = loaded.domain(loaded.by_uuid(&uuid(2)).unwrap(), "fault");
    assert_eq!(path.map(|path| &**path), Some("az1/r1"));
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_declared_domain_has_a_generation_and_is_deleted() {
    let f = racks(&[1]).await;
    declare(&f.model, "r1", None, 1).await.unwrap();
    for stale in [None, Some(2)] {
        let refused = declare(&f.model, "r1", stale, 2).await.unwrap_err();
        assert!(matches!(refused, Error::StaleGeneration { .. }), "{refused:?}");
    }
    assert_eq!(
        declare(&f.model, "r1", Some(1), 1).await.unwrap().row.generation,
        1,
        "equal"
    );
    assert_eq!(declare(&f.model, "r1", Some(1), 2).await.unwrap().row.generation, 2);
    let delete = |generation| Delete {
        key: DeclaredKey::new(&domain("r1")),
        generation,
    };
    let refused = f.model.submit(delete(Some(1))).await;
    assert!(matches!(refused, Err(Error::StaleGeneration { .. })), "{refused:?}");
    f.model.submit(delete(None)).await.unwrap();
    let refused = f.model.submit(delete(None)).await;
    assert!(matches!(refused, Err(Error::NotFound { .. })), "{refused:?}");
    let read = domains::fetch(f.model.reader(false), domain("r1")).await;
    assert!(matches!(read, Err(Error::NotFound { .. })), "{read:?}");
    assert_eq!(domains_of(&f.model, "fault", "").await, []);
}

#[actix_web::test]
async fn a_host_counts_in_one_domain_and_is_shown_at_the_domains_that_lack_it() {
    let f = racks(&[1, 1, 2]).await;
    // Host 1 is in the racks of both aggregates, and in the zone around; host 3 names a rack itself.
    join(&f.model, 1, &[1, 2, 3]).await;
    describe(&f.model, 3, None, ("az2/r9", "-"), ProviderState::Up).await;
    for (path, n) in [("az1/r1", 1), ("az1/r2", 2), ("az1", 3)] {
        declare(&f.model, path, None, n).await.unwrap();
    }
    let found = domains_of(&f.model, "fault", "").await;
    assert_eq!(
        sizes(&found),
        [("az1", 2), ("az1/r1", 2), ("az1/r2", 0), ("az2", 1), ("az2/r9", 1)]
    );
    let elsewhere = |host, path: &str| HostElsewhere {
        host: uuid(host),
        path: path.into(),
    };
    assert_eq!(
        found[2].counted_elsewhere,
        [elsewhere(1, "az1/r1"), elsewhere(3, "az2/r9")]
    );
    for at in [0, 1, 3, 4] {
        assert_eq!(found[at].counted_elsewhere, [], "{}", found[at].path);
    }
}

#[actix_web::test]
async fn the_state_of_the_hosts_of_an_aggregate_is_set_by_their_domain() {
    let f = racks(&[1, 1, 2]).await;
    declare(&f.model, "r1", None, 1).await.unwrap();
    // The description of host 2 names a different domain.
    describe(&f.model, 2, None, ("r2", "-"), ProviderState::Up).await;
    let wanted = DomainState {
        domain: domain("r1"),
        state: ProviderState::Draining,
    };
    let set = providers::set_states(&f.model, wanted, false, &caller()).await.unwrap();
    let hosts: Vec<&str> = set.iter().map(|it| it.uuid.as_str()).collect();
    assert_eq!(hosts, [uuid(1)]);
    assert_eq!(
        set[0].description.domains.len(),
        0,
        "the domain stays that of the aggregate"
    );
}

#[actix_web::test]
async fn replicas_are_spread_over_the_racks_of_aggregates_and_a_moved_host_is_a_violation() {
    let mut f = racks(&[1, 1, 1, 2, 2, 3]).await;
    for n in 1..=3 {
        declare(&f.model, &format!("r{n}"), None, n).await.unwrap();
    }
    let placed = place(&f.model, stored(901, None, "3 one-each")).await.unwrap();
    let hosts: Vec<String> = placed
        .replicas
        .iter()
        .filter_map(|it| it.host())
        .map(str::to_owned)
        .collect();
    let snapshot = f.model.snapshot().await.unwrap();
    let rack = |host: &String| {
        snapshot
            .domain(snapshot.by_uuid(host).unwrap(), "fault")
            .unwrap()
            .to_string()
    };
    let mut racks: Vec<String> = hosts.iter().map(rack).collect();
    racks.sort_unstable();
    assert_eq!(racks, ["r1", "r2", "r3"]);
    let refused = place(&f.model, stored(901, Some(1), "4 one-each")).await;
    assert!(matches!(refused, Err(Error::NoPlace { .. })), "{refused:?}");
    assert_eq!(violated(&f.model).await, []);
    // The host of the third rack joins the first.
    join(&f.model, 6, &[1]).await;
    let violated = violated(&f.model).await;
    assert_eq!(violated.len(), 1, "{violated:?}");
    f.check_snapshot().await;
}

/// The rack of a description is the same domain as the rack of an aggregate.
#[actix_web::test]
async fn a_description_of_an_occupied_host_may_repeat_the_domain_of_its_aggregate_alone() {
    let f = racks(&[1, 2]).await;
    declare(&f.model, "r1", None, 1).await.unwrap();
    declare(&f.model, "r2", None, 2).await.unwrap();
    place(&f.model, stored(901, None, "2 one-each")).await.unwrap();
    let moved = |path| description(1, None, (path, "-"), ProviderState::Up);
    let refused = f.model.submit(moved("r9")).await.unwrap_err();
    let Error::DomainInUse { reasons } = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(reasons.kept()[0].domain.as_deref(), Some("fault:r1"));
    f.model.submit(moved("r1")).await.unwrap();
}
