//! A foreign transaction has locked the row of a provider. Claims and workloads with a choice are granted without the
//! row, and no request is refused because of the lock.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use super::lost_plans::{moving, place_while, take};
use super::placing::{gang, place, query};
use super::workloads::{put, role, spec};
use super::*;
use crate::db::engines::dialect;
use crate::model::claims::{ClaimCandidate, PlaceRequest, Wanted};
use crate::model::planner::LOSSES_MAX;
use crate::search::Rank;

const HOSTS: u32 = 10;
/// The emptiest host.
const HELD: u32 = 1;
/// How long a request is watched while waiting for the row.
const WATCHED: Duration = Duration::from_millis(600);

/// Ten hosts, of which the emptiest is held. `None` on SQLite, which locks the whole database.
async fn fixture_with_held_host() -> Option<Fixture> {
    let mut f = fixture();
    if Kind::of(&f.conn) == Kind::Sqlite {
        return None;
    }
    for host in 1..=HOSTS {
        f.host(host, 20).await.unwrap();
        if host != HELD {
            let used = claim(500 + host, host, "VCPU", 5, Expected::New);
            f.model.submit(used).await.unwrap();
        }
    }
    f.hold(&[HELD]);
    Some(f)
}

impl Fixture {
    /// Locks the rows of these providers, until a rollback.
    pub(super) fn hold(&mut self, providers: &[u32]) {
        dialect::begin_write(&mut self.conn).unwrap();
        for provider in providers {
            self.execute(&format!(
                "UPDATE resource_providers SET generation = generation WHERE uuid = '{}'",
                uuid(*provider)
            ));
        }
    }

    pub(super) fn release_rows(&mut self) {
        dialect::rollback(&mut self.conn).unwrap();
    }
}

/// A VCPU of each of these hosts, for consumer `consumer`.
fn posted(consumer: u32, hosts: impl Iterator<Item = u32>) -> PlaceRequest {
    posted_by_each(consumer, &[hosts.collect()])
}

/// The same candidates for one consumer after the other, each with hosts of its own.
fn posted_by_each(first: u32, hosts: &[Vec<u32>]) -> PlaceRequest {
    let candidate = |host: &u32| ClaimCandidate {
        allocations: vec![(uuid(*host), vec![("VCPU".to_owned(), 1)])],
        mappings: None,
    };
    let mut request = gang(first..first + hosts.len() as u32, query(1, None));
    request.queries.clear();
    for (consumer, hosts) in request.consumers.iter_mut().zip(hosts) {
        consumer.wanted = Wanted::Candidates(hosts.iter().map(candidate).collect());
    }
    request
}

fn emptiest(consumer: u32) -> PlaceRequest {
    gang(consumer..consumer + 1, query(1, Some(Rank::Emptiest)))
}

#[actix_web::test]
async fn hostile_03_claims_with_a_choice_are_granted_beside_a_held_host() {
    let Some(mut f) = fixture_with_held_host().await else {
        return;
    };
    for n in 0..5 {
        place(&f.model, emptiest(100 + n)).await.unwrap();
        place(&f.model, gang(110 + n..111 + n, query(1, None))).await.unwrap();
        place(&f.model, posted(120 + n, 1..=HOSTS)).await.unwrap();
    }
    assert_eq!(f.used(HELD), 0);
    f.release_rows();
    assert_eq!(
        f.number("SELECT COUNT(*) AS n FROM consumers"),
        i64::from(HOSTS) - 1 + 15
    );
    f.check_snapshot().await;
}

/// All ranked candidates are held, so only a second search finds places.
#[actix_web::test]
async fn hostile_03_a_claim_by_rank_is_granted_if_each_of_the_best_hosts_is_held() {
    let mut f = fixture();
    if Kind::of(&f.conn) == Kind::Sqlite {
        return;
    }
    let (best, others) = (1..=40, 41..=43);
    for host in best.clone() {
        f.host(host, 100).await.unwrap();
    }
    for host in others.clone() {
        f.host(host, 10).await.unwrap();
        f.model
            .submit(claim(500 + host, host, "VCPU", 5, Expected::New))
            .await
            .unwrap();
    }
    f.hold(&best.clone().collect::<Vec<_>>());
    for consumer in 100..105 {
        place(&f.model, emptiest(consumer)).await.unwrap();
    }
    let used: Vec<i64> = best.map(|host| f.used(host)).collect();
    assert_eq!(used, [0; 40]);
    f.release_rows();
}

#[actix_web::test]
async fn hostile_03_workloads_are_placed_beside_a_held_host() {
    let Some(mut f) = fixture_with_held_host().await else {
        return;
    };
    for n in 0..5 {
        let mut wanted = spec(1, None);
        wanted.roles = vec![role("replica", 1, 1)];
        wanted.roles[0].query.rank = Some(Rank::Emptiest);
        super::workloads::place(&f.model, put(900 + n, None, wanted))
            .await
            .unwrap();
    }
    assert_eq!(f.used(HELD), 0);
    f.release_rows();
    f.check_snapshot().await;
}

/// A held host with room is no reason for a refusal: the request waits, and gets the room when the row is free.
#[actix_web::test]
async fn hostile_03_a_request_that_fits_on_the_held_host_alone_waits_for_the_row() {
    for kind in ["posted", "query", "workload"] {
        let Some(mut f) = fixture_with_held_host().await else {
            return;
        };
        // Every host but the held host is full.
        let full = (2..=HOSTS).map(|host| consumer_claim(600 + host, vec![(host, "VCPU", 15)], Expected::New));
        f.model.submit(claim_of(full.collect())).await.unwrap();
        let model = f.model.clone();
        let waiting = actix_web::rt::spawn(async move {
            match kind {
                "posted" => place(&model, posted(100, 1..=HOSTS)).await.map(drop),
                "query" => place(&model, emptiest(100)).await.map(drop),
                _ => super::workloads::place(&model, put(900, None, spec(1, None)))
                    .await
                    .map(drop),
            }
        });
        actix_web::rt::time::sleep(WATCHED).await;
        assert!(!waiting.is_finished(), "{kind}: {:?}", waiting.await.unwrap());
        f.release_rows();
        assert_eq!(waiting.await.unwrap(), Ok(()), "{kind}");
        assert_eq!(f.used(HELD), 1, "{kind}");
    }
}

/// Found by a reader: the first consumer is pushed off the held host, and takes the only place of the second.
#[actix_web::test]
async fn hostile_03_a_gang_is_not_refused_because_one_of_it_avoids_a_held_host() {
    for is_atomic in [true, false] {
        let Some(mut f) = fixture_with_held_host().await else {
            return;
        };
        let full = |host| {
            consumer_claim(
                600 + host,
                vec![(host, "VCPU", if host == 2 { 14 } else { 15 })],
                Expected::New,
            )
        };
        f.model.submit(claim_of((2..=HOSTS).map(full).collect())).await.unwrap();
        let mut request = posted_by_each(100, &[vec![HELD, 2], vec![2]]);
        request.is_atomic = is_atomic;
        let model = f.model.clone();
        let waiting = actix_web::rt::spawn(async move { place(&model, request).await });
        actix_web::rt::time::sleep(WATCHED).await;
        assert!(
            !waiting.is_finished(),
            "atomic {is_atomic}: {:?}",
            waiting.await.unwrap()
        );
        f.release_rows();
        let placed = waiting.await.unwrap().unwrap();
        assert!(placed.consumers.iter().all(std::result::Result::is_ok), "{placed:?}");
        assert_eq!((f.used(HELD), f.used(2)), (1, 20));
    }
}

/// Found by a reader: the first consumer is refused for its own full host, and the second skips a held host. The call
/// waited for the row, although the row changes nothing for the first consumer.
#[actix_web::test]
async fn hostile_03_a_consumer_without_room_does_not_make_the_next_wait_for_a_held_host() {
    let Some(mut f) = fixture_with_held_host().await else {
        return;
    };
    f.model.submit(claim(600, 2, "VCPU", 15, Expected::New)).await.unwrap();
    let mut request = posted_by_each(100, &[vec![2], vec![HELD, 3]]);
    request.is_atomic = false;
    let placed = place(&f.model, request).await.unwrap();
    let granted: Vec<bool> = placed.consumers.iter().map(std::result::Result::is_ok).collect();
    assert_eq!((granted, f.used(3)), (vec![false, true], 6));
    f.release_rows();
}

/// Found by a reader: replicas with a fitting host waited for the row, because one more fits on the held host alone.
#[actix_web::test]
async fn hostile_03_a_workload_that_need_not_be_whole_gets_what_fits_beside_a_held_host() {
    let Some(mut f) = fixture_with_held_host().await else {
        return;
    };
    let mut wanted = spec(1, None);
    wanted.roles = vec![role("replica", 12, 11)];
    let mut asked = put(900, None, wanted);
    asked.is_atomic = false;
    let report = super::workloads::place(&f.model, asked).await.unwrap();
    let placed = report.replicas.iter().filter(|it| it.replica.is_placed()).count();
    assert_eq!((placed, f.used(HELD)), (HOSTS as usize - 1, 0));
    // Two have no place even if the row is free.
    assert!(!report.reasons.is_empty());
    f.release_rows();
}

/// A request larger than every host is refused at once, because the end of no transaction can change the refusal.
#[actix_web::test]
async fn hostile_03_a_request_that_fits_nowhere_is_refused_beside_a_held_host() {
    let Some(mut f) = fixture_with_held_host().await else {
        return;
    };
    for consumer in 100..102 {
        let refused = place(&f.model, gang(consumer..consumer + 1, query(21, Some(Rank::Emptiest)))).await;
        assert!(matches!(refused, Err(Error::ClaimRefused(_))), "{refused:?}");
    }
    f.release_rows();
}

/// After the row is free, the host is used again.
#[actix_web::test]
async fn hostile_03_a_host_is_used_again_when_its_row_is_free() {
    let Some(mut f) = fixture_with_held_host().await else {
        return;
    };
    place(&f.model, emptiest(100)).await.unwrap();
    assert_eq!(f.used(HELD), 0);
    f.release_rows();
    for consumer in 200..300 {
        place(&f.model, posted(consumer, 1..=HOSTS)).await.unwrap();
        if f.used(HELD) > 0 {
            return;
        }
        // The row is probed ten times a second.
        actix_web::rt::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the host is not used again");
}

/// Hosts with one VCPU each, and consumer 100 on a provider without VCPU. `None` on SQLite.
async fn hosts_and_consumer() -> Option<Fixture> {
    let mut f = fixture();
    if Kind::of(&f.conn) == Kind::Sqlite {
        return None;
    }
    for host in 1..=40 {
        f.host(host, 1).await.unwrap();
    }
    let create = Create {
        uuid: uuid(100),
        name: "disks".to_owned(),
        parent: None,
    };
    f.model.submit(create).await.unwrap();
    f.model.submit(adding(100, "DISK_GB", 1)).await.unwrap();
    f.model
        .submit(claim(100, 100, "DISK_GB", 1, Expected::New))
        .await
        .unwrap();
    Some(f)
}

/// Before, each turn was planned in the batch and given up there, without a pause until the deadline.
#[actix_web::test]
async fn a_call_that_lost_its_plans_and_fits_on_the_held_host_alone_waits_for_the_row() {
    let Some(mut f) = hosts_and_consumer().await else {
        return;
    };
    f.hold(&[HELD]);
    // The writer finds the held row.
    place(&f.model, posted(200, [HELD, 40].into_iter())).await.unwrap();
    let model = f.model.clone();
    let waiting = actix_web::rt::spawn(async move {
        let consumers = Cell::new(1_000);
        let take_all = async |hosts: Vec<String>| {
            for host in hosts {
                consumers.set(consumers.get() + 1);
                take(&model, consumers.get(), &host).await;
            }
        };
        let lose = async |plan, hosts| match plan {
            LOSSES_MAX => take_all((HELD + 1..=40).map(uuid).collect()).await,
            ..LOSSES_MAX => take_all(hosts).await,
            _ => {}
        };
        place_while(&model, moving(100), lose).await
    });
    actix_web::rt::time::sleep(2 * WATCHED).await;
    assert!(!waiting.is_finished(), "{:?}", waiting.await.unwrap());
    f.release_rows();
    let (placed, plans) = waiting.await.unwrap();
    assert!(placed.is_ok(), "{placed:?}");
    assert_eq!((plans, f.used(HELD)), (LOSSES_MAX + 1, 1));
    f.check_snapshot().await;
}

/// The row is locked after the last plan beside the writer. Before, each plan in the batch chose the host again.
#[actix_web::test]
async fn a_plan_in_the_batch_avoids_a_row_that_was_not_known_to_be_held() {
    let Some(mut f) = hosts_and_consumer().await else {
        return;
    };
    let (model, consumers, held) = (f.model.clone(), Cell::new(1_000), Cell::new(0));
    let fixture = RefCell::new(&mut f);
    let (placed, plans) = place_while(&model, moving(100), async |plan, hosts| {
        if plan > LOSSES_MAX {
            held.set(hosts[0][24..].parse().unwrap());
            return fixture.borrow_mut().hold(&[held.get()]);
        }
        for host in hosts {
            consumers.set(consumers.get() + 1);
            take(&model, consumers.get(), &host).await;
        }
    })
    .await;
    f.release_rows();
    assert!(placed.is_ok(), "{placed:?}");
    assert_eq!((plans, f.used(held.get())), (LOSSES_MAX + 1, 0));
    f.check_snapshot().await;
}
