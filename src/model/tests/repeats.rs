//! Calls with an id: repeated, reused, refused, at once, and by a second process.

use super::placing::{gang, place_or_repeat, query};
use super::*;
use crate::error::ReasonCode;
use crate::model::allocations::Release;
use crate::model::claims::memory::{ClaimId, RepeatableCall};
use crate::model::claims::{PlaceAnswer, PlaceRequest, PlacedCall, Wanted};
use crate::search::Rank;

/// A line for each consumer: the provider, or the codes of the refusal.
pub fn write(_: &PlaceRequest, placed: &PlacedCall) -> String {
    let lines = placed.consumers.iter().map(|consumer| match consumer {
        Ok(claimed) => format!("{} {}", claimed.consumer, claimed.providers[0].provider),
        Err(reasons) => format!("{:?}", reasons.counts().collect::<Vec<_>>()),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A call of these consumers for the emptiest providers.
fn call(id: u32, consumers: std::ops::Range<u32>, amount: i64) -> PlaceRequest {
    let digest = format!("{consumers:?} {amount}");
    PlaceRequest {
        repeatable: Some(RepeatableCall {
            id: ClaimId {
                id: uuid(id),
                project: "p".to_owned(),
            },
            digest_of_bytes: format!("bytes of {digest}"),
            digest,
        }),
        ..gang(consumers, query(amount, Some(Rank::Emptiest)))
    }
}

/// The answer as the client gets it, and whether the answer is a repetition.
async fn answer(model: &Model, request: PlaceRequest) -> Result<(String, bool)> {
    Ok(match place_or_repeat(model, request.clone()).await? {
        PlaceAnswer::Placed(placed) => (write(&request, &placed), false),
        PlaceAnswer::Repeated(answer) => (answer, true),
    })
}

impl Fixture {
    fn stored_answers(&mut self) -> i64 {
        self.number("SELECT COUNT(*) AS n FROM placet_claims")
    }
}

#[actix_web::test]
async fn a_repeated_call_gets_the_first_answer_and_claims_nothing() {
    let mut f = fixture();
    f.host(1, 8).await.unwrap();
    f.host(2, 8).await.unwrap();
    let (first, _) = answer(&f.model, call(900, 100..103, 2)).await.unwrap();
    assert_eq!(f.used(1) + f.used(2), 6);
    assert_eq!(
        answer(&f.model, call(900, 100..103, 2)).await,
        Ok((first.clone(), true))
    );
    // Later changes of the call's consumers do not matter.
    f.model.submit(Release { consumer: uuid(100) }).await.unwrap();
    assert_eq!(
        answer(&f.model, call(900, 100..103, 2)).await,
        Ok((first.clone(), true))
    );
    if let Some((other, _running)) = f.start_peer() {
        assert_eq!(answer(&other, call(900, 100..103, 2)).await, Ok((first, true)));
    }
    assert_eq!((f.used(1) + f.used(2), f.stored_answers()), (4, 1));
    f.check_snapshot().await;
}

#[actix_web::test]
async fn the_id_of_another_call_is_refused_and_that_of_another_project_is_not() {
    let mut f = fixture();
    f.host(1, 8).await.unwrap();
    answer(&f.model, call(900, 100..101, 1)).await.unwrap();
    let reused = Error::IdReused { id: uuid(900) };
    assert_eq!(answer(&f.model, call(900, 101..102, 1)).await, Err(reused));
    let mut elsewhere = call(900, 101..102, 1);
    elsewhere.repeatable.as_mut().unwrap().id.project = "P".to_owned();
    assert!(!answer(&f.model, elsewhere).await.unwrap().1);
    assert_eq!((f.used(1), f.stored_answers()), (2, 2));
}

/// An earlier version stored the digest of the bytes.
#[actix_web::test]
async fn an_answer_that_an_earlier_version_stored_is_given_again() {
    let mut f = fixture();
    f.host(1, 8).await.unwrap();
    let mut earlier = call(900, 100..101, 1);
    let stored = earlier.repeatable.as_mut().unwrap();
    stored.digest = stored.digest_of_bytes.clone();
    let (first, _) = answer(&f.model, earlier).await.unwrap();
    assert_eq!(answer(&f.model, call(900, 100..101, 1)).await, Ok((first, true)));
    assert!(answer(&f.model, call(900, 100..101, 2)).await.is_err());
}

#[actix_web::test]
async fn a_refusal_and_a_dry_run_are_not_remembered() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    f.model.submit(claim(50, 1, "VCPU", 3, Expected::New)).await.unwrap();
    for is_atomic in [true, false] {
        let request = PlaceRequest {
            is_atomic,
            ..call(900, 100..101, 2)
        };
        let refused = place_or_repeat(&f.model, request).await;
        match refused {
            Err(Error::ClaimRefused(_)) => assert!(is_atomic),
            Ok(PlaceAnswer::Placed(placed)) => assert!(!is_atomic && !placed.has_claims()),
            other => panic!("{other:?}"),
        }
    }
    f.model.submit(Release { consumer: uuid(50) }).await.unwrap();
    let dry = PlaceRequest {
        is_dry_run: true,
        ..call(900, 100..101, 2)
    };
    assert!(!answer(&f.model, dry.clone()).await.unwrap().1);
    assert_eq!(f.stored_answers(), 0);
    assert!(!answer(&f.model, call(900, 100..101, 2)).await.unwrap().1);
    // After the call too, a dry run is decided as a new call: the consumer exists now.
    let refused = answer(&f.model, dry.clone()).await;
    assert!(matches!(refused, Err(Error::ClaimRefused(_))), "{refused:?}");
    f.model.submit(Release { consumer: uuid(100) }).await.unwrap();
    assert!(!answer(&f.model, dry).await.unwrap().1);
}

/// The stored answer has the refused and the granted consumers.
#[actix_web::test]
async fn without_atomic_the_refused_consumers_are_in_the_stored_answer() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    let request = PlaceRequest {
        is_atomic: false,
        ..call(900, 100..103, 2)
    };
    let (first, _) = answer(&f.model, request.clone()).await.unwrap();
    assert_eq!(
        first.lines().filter(|line| line.contains("NoCandidate")).count(),
        1,
        "{first}"
    );
    f.model.submit(Release { consumer: uuid(101) }).await.unwrap();
    assert_eq!(answer(&f.model, request).await, Ok((first, true)));
    assert_eq!(f.used(1), 2);
}

/// The same call 16 times at once, by two processes if the engine can. The call is carried out once.
#[actix_web::test]
async fn equal_calls_at_once_are_carried_out_once() {
    let mut f = fixture();
    f.host(1, 64).await.unwrap();
    let peer = f.start_peer();
    let other = peer.as_ref().map_or(f.model.clone(), |(other, _)| other.clone());
    for id in 900..910 {
        let consumers = id * 10..id * 10 + 2;
        let calls = (0..16).map(|n| {
            let model = if n % 2 == 0 { f.model.clone() } else { other.clone() };
            let request = call(id, consumers.clone(), 1);
            actix_web::rt::spawn(async move { answer(&model, request).await })
        });
        let mut answers = Vec::new();
        for call in calls.collect::<Vec<_>>() {
            answers.push(call.await.unwrap().unwrap());
        }
        let first = answers.iter().filter(|(_, is_repeated)| !is_repeated).count();
        assert_eq!(first, 1, "{answers:?}");
        assert!(answers.iter().all(|(text, _)| *text == answers[0].0), "{answers:?}");
    }
    assert_eq!((f.used(1), f.stored_answers()), (20, 10));
    f.check_snapshot().await;
}

/// Two calls use one id at once: the first is carried out, and the second is refused.
#[actix_web::test]
async fn of_two_calls_with_one_id_at_once_one_is_carried_out() {
    let mut f = fixture();
    f.host(1, 64).await.unwrap();
    for id in 900..910 {
        let calls = [0, 1].map(|n| {
            let model = f.model.clone();
            let request = call(id, id * 10 + n..id * 10 + n + 1, 1);
            actix_web::rt::spawn(async move { answer(&model, request).await })
        });
        let mut granted = 0;
        for call in calls {
            match call.await.unwrap() {
                Ok(_) => granted += 1,
                refused => assert_eq!(refused, Err(Error::IdReused { id: uuid(id) })),
            }
        }
        assert_eq!(granted, 1);
    }
    assert_eq!((f.used(1), f.stored_answers()), (10, 10));
}

/// A call whose consumers exist is refused as stale, with free capacity or without.
#[actix_web::test]
async fn without_an_id_a_repeated_query_is_refused_as_stale_in_a_full_cloud_too() {
    let mut f = fixture();
    f.host(1, 2).await.unwrap();
    let request = gang(100..101, query(2, None));
    place_or_repeat(&f.model, request.clone()).await.unwrap();
    let Err(Error::ClaimRefused(refusal)) = place_or_repeat(&f.model, request).await else {
        panic!("it was granted twice")
    };
    let codes: Vec<ReasonCode> = refusal.consumers[0].reasons.counts().map(|(code, _)| code).collect();
    assert_eq!(codes, [ReasonCode::ConcurrentUpdate]);
}

/// Found by a reader: decided on rows, the call was refused for its consumer, and searched again until its deadline.
#[actix_web::test]
async fn a_stale_query_of_an_unknown_owner_is_refused_at_once() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    place_or_repeat(&f.model, gang(100..101, query(1, None))).await.unwrap();
    let mut request = gang(100..101, query(1, None));
    request.consumers[0].claim.owner = Some(Owner {
        project: "never seen".into(),
        user: "u".into(),
    });
    let refused = place_or_repeat(&f.model, request).await;
    assert!(
        matches!(&refused, Err(Error::ClaimRefused(it)) if it.is_stale()),
        "{refused:?}"
    );
}

/// The refusal names the stale consumer, although a second consumer is refused for lack of capacity.
#[actix_web::test]
async fn a_stale_consumer_beside_one_without_room_is_refused_as_stale() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    place_or_repeat(&f.model, gang(100..101, query(1, None))).await.unwrap();
    let mut request = gang(100..102, query(1, None));
    request.queries.push(query(9, None));
    request.consumers[1].wanted = Wanted::Query(1);
    let Err(Error::ClaimRefused(refusal)) = place_or_repeat(&f.model, request).await else {
        panic!("it was granted")
    };
    assert!(refusal.is_stale());
    let codes = |at: usize| {
        refusal.consumers[at]
            .reasons
            .counts()
            .map(|(code, _)| code)
            .collect::<Vec<_>>()
    };
    assert_eq!(codes(0), [ReasonCode::ConcurrentUpdate]);
    assert!(codes(1).contains(&ReasonCode::NoCandidate));
}

/// Capacity released by a foreign writer is found before a query is refused, if the foreign writer was noticed before.
#[actix_web::test]
async fn room_that_another_program_released_is_found_before_a_refusal() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    f.host(2, 4).await.unwrap();
    f.model.submit(claim(50, 1, "VCPU", 4, Expected::New)).await.unwrap();
    f.model.submit(claim(51, 2, "VCPU", 4, Expected::New)).await.unwrap();
    let release = |f: &mut Fixture, consumer: u32| {
        f.execute(&format!(
            "DELETE FROM allocations WHERE consumer_id = '{}'",
            uuid(consumer)
        ));
        f.execute(&format!("DELETE FROM consumers WHERE uuid = '{}'", uuid(consumer)));
    };
    // On SQLite the commit itself is noticed. Elsewhere the comparison has to find the first release.
    if Kind::of(&f.conn) != Kind::Sqlite {
        release(&mut f, 51);
        comparisons::compare(&f.model, 0, 1000).unwrap();
        place_or_repeat(&f.model, gang(100..101, query(4, None))).await.unwrap();
    }
    release(&mut f, 50);
    place_or_repeat(&f.model, gang(101..102, query(4, None))).await.unwrap();
    assert_eq!(f.used(1), 4);
    f.check_snapshot().await;
}
