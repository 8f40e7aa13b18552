//! Replicas without a place are tried again.

use super::violations::report;
use super::*;
use crate::model::allocations::Release;
use crate::model::workloads::{PendingWorkloads, pending_workloads, place_pending};

/// Four replicas, each in a domain of its own.
fn four(generation: Option<i64>) -> Put {
    Put {
        is_atomic: false,
        ..stored(WORKLOAD, generation, "4 one-each")
    }
}

async fn try_again(model: &Model) -> Result<usize> {
    let placed = place_pending(model, &uuid(WORKLOAD), &SearchSettings::uncut(7)).await?;
    Ok(placed.map_or(0, |report| report.change.placed.len()))
}

async fn retry(model: &Model) -> usize {
    try_again(model).await.unwrap()
}

fn placed_or_stale(tried: Result<usize>) -> usize {
    match tried {
        Err(Error::StaleGeneration { .. }) => 0,
        tried => tried.unwrap(),
    }
}

/// Puts the workload. Fitting replicas are placed, the rest stays pending.
async fn put_some(model: &Model, adopted: Vec<Adopted>) -> Report {
    let put = Put { adopted, ..four(None) };
    place(model, put).await.unwrap()
}

async fn add_host(f: &mut Fixture, host: u32, domain: &str) {
    f.host(host, 10).await.unwrap();
    describe(&f.model, host, None, (domain, "-"), ProviderState::Up).await;
}

async fn pending(model: &Model) -> Vec<String> {
    let page = pending_workloads(model.reader(false), String::new(), 100);
    page.await.unwrap().0
}

#[actix_web::test]
async fn a_replica_that_another_client_removed_is_pending_and_placed_again() {
    let f = cluster(&SITES).await;
    let three = |generation| stored(WORKLOAD, generation, "3 default");
    let placed = place(&f.model, three(None)).await.unwrap();
    let consumer = placed.replicas[1].replica.row.consumer.clone();
    let release = crate::model::allocations::Release { consumer };
    f.model.submit(release).await.unwrap();
    let shown = report(&f.model, WORKLOAD).await;
    assert_eq!(places(&shown)[1], ("1".to_owned(), None));
    let again = place(&f.model, three(Some(1))).await.unwrap();
    assert_eq!(hosts(&again).len(), 3);
}

#[actix_web::test]
async fn pending_replicas_are_placed_when_there_is_room() {
    let mut f = cluster(&SITES).await;
    put_some(&f.model, Vec::new()).await;
    place(&f.model, put(WORKLOAD + 1, None, spec(2, None))).await.unwrap();
    assert_eq!(pending(&f.model).await, [uuid(WORKLOAD)]);
    assert_eq!(retry(&f.model).await, 0);
    let stored = fetch(f.model.reader(false), uuid(WORKLOAD)).await.unwrap();
    assert_eq!(stored.row.generation, 1, "a try without a result writes nothing");
    add_host(&mut f, 7, "fd:/d").await;
    assert_eq!(retry(&f.model).await, 1);
    let stored = fetch(f.model.reader(false), uuid(WORKLOAD)).await.unwrap();
    assert_eq!((stored.row.generation, stored.row.revision), (2, 1));
    assert!(pending(&f.model).await.is_empty());
    assert_eq!(f.used(7), 1);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_query_for_pending_replicas_looks_at_a_page_of_workloads() {
    let f = cluster(&SITES).await;
    put_some(&f.model, Vec::new()).await;
    for n in [WORKLOAD - 1, WORKLOAD + 1] {
        place(&f.model, put(n, None, spec(2, None))).await.unwrap();
    }
    let page = async |after: u32| {
        let after = if after == 0 { String::new() } else { uuid(after) };
        let page = pending_workloads(f.model.reader(false), after, 1);
        page.await.unwrap()
    };
    assert_eq!(page(0).await, (Vec::new(), Some(uuid(WORKLOAD - 1))));
    let found = page(WORKLOAD - 1).await;
    assert_eq!(found, (vec![uuid(WORKLOAD)], Some(uuid(WORKLOAD))));
    assert_eq!(page(WORKLOAD).await, (Vec::new(), Some(uuid(WORKLOAD + 1))));
    assert_eq!(page(WORKLOAD + 1).await, (Vec::new(), None));
}

#[actix_web::test]
async fn an_adopted_consumer_that_its_program_deleted_gets_no_place_again() {
    let mut f = cluster(&SITES).await;
    add_host(&mut f, 7, "fd:/d").await;
    for (consumer, host) in [(50, 1), (51, 3)] {
        let claim = super::super::claim(consumer, host, "VCPU", 1, Expected::New);
        f.model.submit(claim).await.unwrap();
    }
    let adopted = [50, 51].map(|consumer| Adopted {
        consumer: uuid(consumer),
        id: None,
        role: None,
    });
    put_some(&f.model, adopted.into()).await;
    f.model.submit(Release { consumer: uuid(50) }).await.unwrap();
    assert!(pending(&f.model).await.is_empty());
    assert_eq!(retry(&f.model).await, 0);
    add_host(&mut f, 8, "fd:/e").await;
    let own = report(&f.model, WORKLOAD).await.replicas;
    let own = own
        .iter()
        .find(|it| !it.replica.row.is_adopted && it.replica.is_placed());
    let consumer = own.unwrap().replica.row.consumer.clone();
    f.model.submit(Release { consumer }).await.unwrap();
    assert_eq!(pending(&f.model).await, [uuid(WORKLOAD)]);
    assert_eq!(retry(&f.model).await, 0, "the workload waits for a request");
    assert_eq!(hosts(&place(&f.model, four(Some(1))).await.unwrap()).len(), 4);
}

#[actix_web::test]
async fn two_processes_that_try_at_once_place_a_replica_once() {
    let mut f = cluster(&SITES[..3]).await;
    let Some((peer, _running)) = f.start_peer() else {
        return;
    };
    put_some(&f.model, Vec::new()).await;
    for (host, domain) in [(7, "fd:/c"), (8, "fd:/d")] {
        add_host(&mut f, host, domain).await;
        let (one, other) = tokio::join!(try_again(&f.model), try_again(&peer));
        let tried = format!("{one:?}, {other:?}");
        let placed: usize = [one, other].into_iter().map(placed_or_stale).sum();
        assert_eq!(placed, 1, "host {host}: {tried}");
    }
    let places = "SELECT COUNT(*) AS n FROM allocations a JOIN placet_replicas r ON r.consumer_id = a.consumer_id";
    assert_eq!(f.number(places), 4);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_plan_of_pending_replicas_ends_when_the_process_is_to_stop() {
    let mut f = cluster(&SITES).await;
    put_some(&f.model, Vec::new()).await;
    add_host(&mut f, 7, "fd:/d").await;
    let place = |is_stopping: bool| {
        let model = f.model.clone();
        let work = move || {
            let workloads = PendingWorkloads::new(model, SearchSettings::uncut(7)).unwrap();
            let interrupt = workloads.interrupt();
            if is_stopping {
                interrupt();
            }
            workloads.place(&uuid(WORKLOAD))
        };
        // The thread has a runtime of its own.
        std::thread::spawn(work).join().unwrap()
    };
    assert!(matches!(place(true), Err(Error::Busy { .. })));
    assert!(place(false).unwrap().is_some());
}

#[actix_web::test]
async fn consumers_that_exist_without_their_workload_are_a_conflict_and_can_be_adopted() {
    let mut f = cluster(&SITES).await;
    let report = place(&f.model, put(WORKLOAD, None, spec(3, None))).await.unwrap();
    for table in ["placet_workloads", "placet_replicas"] {
        f.execute(&format!("DELETE FROM {table}"));
    }
    let refused = place(&f.model, put(WORKLOAD, None, spec(3, None))).await.unwrap_err();
    let Error::ClaimRefused(refusal) = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!(refusal.consumers.len(), 3);
    let detail = &refusal.consumers[0].reasons.kept()[0].detail;
    assert!(detail.contains("adopt it"), "{detail}");
    let adopted = report.replicas.iter().map(|it| Adopted {
        consumer: it.replica.row.consumer.clone(),
        id: Some(it.replica.row.id.clone()),
        role: None,
    });
    let put = Put {
        adopted: adopted.collect(),
        ..put(WORKLOAD, None, spec(3, None))
    };
    assert_eq!(hosts(&place(&f.model, put).await.unwrap()), hosts(&report));
}

/// Three domains: of four replicas, each in a domain of its own, three have a place.
fn at_least(min: u32, generation: Option<i64>) -> Put {
    let mut four = four(generation);
    four.spec.min = Some(min);
    four
}

#[actix_web::test]
async fn found_p19_fewer_replicas_than_the_least_number_are_refused() {
    let mut f = cluster(&SITES).await;
    let refusal = no_place(place(&f.model, at_least(4, None)).await);
    assert_eq!(figures_of(&refusal, ReasonCode::Min), Some((4, 3)));
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM placet_workloads"), 0);
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM allocations"), 0);
    let report = place(&f.model, at_least(3, None)).await.unwrap();
    assert_eq!((hosts(&report).len(), report.violations.len()), (3, 0));
    // The retry of the pending replica is not bound.
    assert_eq!(retry(&f.model).await, 0);
}

#[actix_web::test]
async fn found_p19_fewer_alive_replicas_than_the_least_number_are_a_violation() {
    let f = cluster(&SITES).await;
    let report = place(&f.model, at_least(3, None)).await.unwrap();
    let host = *hosts(&report).first().unwrap();
    let at = SITES[host as usize - 1];
    describe(&f.model, host, Some(1), at, ProviderState::Lost).await;
    let atomic = Put {
        is_atomic: true,
        ..at_least(3, Some(1))
    };
    let three = Put {
        spec: Spec {
            roles: vec![role("replica", 3, 1)],
            ..atomic.spec.clone()
        },
        ..atomic
    };
    let report = place(&f.model, three).await.unwrap();
    let mut found = report.violations.iter();
    let violation = found.find(|it| it.reason.code == ReasonCode::Min).unwrap();
    assert_eq!((violation.reason.requested, violation.reason.free), (Some(3), Some(2)));
    assert_eq!((violation.level, &violation.hosts), (Level::Hard, &vec![uuid(host)]));
    assert_eq!(violation.replicas.len(), 1);
}
