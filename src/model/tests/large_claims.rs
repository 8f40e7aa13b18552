//! Large claims, whose rows are inserted while small claims are committed.

use std::collections::BTreeMap;
use std::time::Duration;

use super::multi_process::{counted, submit_together, tally};
use super::*;
use crate::error::Error;

/// A claim for many consumers, with one unit for each, spread over two providers.
fn large_claim(first: u32) -> Claim {
    let claims = (first..first + CONSUMERS).map(|n| consumer_claim(n, vec![(1 + n % 2, "VCPU", 1)], Expected::New));
    claim_of(claims.collect())
}

/// A claim for this many consumers has more than 256 rows.
const CONSUMERS: u32 = 200;

/// Two processes fill two providers with large and small claims. The capacity is enough for some of the claims.
#[actix_web::test]
async fn large_and_small_claims_of_two_processes_never_oversubscribe() {
    let mut f = fixture();
    let other = f.start_peer();
    let (total, rounds) = (700, 6);
    f.host(1, total).await.unwrap();
    f.host(2, total).await.unwrap();
    let model = f.model.clone();
    let models = [&model, other.as_ref().map_or(&model, |(peer, _)| peer)];
    let mut units = 0;
    for round in 0..rounds {
        let first = 10_000 * (1 + round);
        let mut work: Vec<_> = models
            .iter()
            .zip([first, first + CONSUMERS])
            .map(|(model, first)| (*model, large_claim(first)))
            .collect();
        for n in 0..32 {
            let small = claim(first + 5000 + n, 1 + n % 2, "VCPU", 1, Expected::New);
            work.push((models[n as usize % 2], small));
        }
        for (at, answer) in submit_together(work).await.into_iter().enumerate() {
            match answer {
                Ok(()) => units += if at < 2 { i64::from(CONSUMERS) } else { 1 },
                Err(error) => assert!(matches!(error, Error::CapacityExceeded { .. }), "{error:?}"),
            }
        }
        f.check_consumers();
        assert!(f.used(1) <= total.into() && f.used(2) <= total.into());
        assert_eq!(
            f.used(1) + f.used(2),
            units,
            "what is granted is written, all or nothing"
        );
    }
    assert!(
        2 * i64::from(total) - units < i64::from(CONSUMERS),
        "the last large claim was refused"
    );
    f.check_snapshot().await;
}

/// Submits large claims at once, and small claims of a third provider at the same time. Tallies the large claims.
async fn submit_beside_small(f: &Fixture, small: u32, work: Vec<(&Model, Claim)>) -> BTreeMap<String, usize> {
    let large: Vec<_> = work
        .into_iter()
        .map(|(model, claim)| {
            let model = model.clone();
            actix_web::rt::spawn(async move { model.submit(claim).await })
        })
        .collect();
    for consumer in small.. {
        if large.iter().all(|task| task.is_finished()) {
            break;
        }
        f.model
            .submit(claim(consumer, 3, "VCPU", 1, Expected::New))
            .await
            .unwrap();
    }
    let mut answers = Vec::new();
    for task in large {
        answers.push(task.await.unwrap());
    }
    tally(answers)
}

/// In one process and in two. Two processes may wait for each other: each has inserted a consumer of the peer's claim.
#[actix_web::test]
async fn of_two_large_claims_at_once_for_the_same_consumers_one_is_granted() {
    let mut f = fixture();
    let other = f.start_peer();
    for provider in 1..=3 {
        f.host(provider, 100_000).await.unwrap();
    }
    let model = f.model.clone();
    let peer = other.as_ref().map_or(&model, |(peer, _)| peer);
    for (first, second_model) in [(10_000, &model), (20_000, peer)] {
        let mut reversed = large_claim(first);
        reversed.consumers.reverse();
        let shares_one = large_claim(first + 2 * CONSUMERS - 1);
        for (one, second) in [(first, reversed), (first + CONSUMERS, shares_one)] {
            let work = vec![(&model, large_claim(one)), (second_model, second)];
            assert_eq!(
                submit_beside_small(&f, 100 * one, work).await,
                counted(&[("granted", 1), ("StaleConsumerGeneration", 1)]),
                "{one}"
            );
            f.check_consumers();
        }
    }
    assert_eq!(f.used(1) + f.used(2), 4 * i64::from(CONSUMERS));
    f.check_snapshot().await;
}

#[actix_web::test]
async fn of_two_large_claims_at_once_for_the_same_room_one_is_granted() {
    let mut f = fixture();
    let room = CONSUMERS / 2;
    for (provider, total) in [(1, room + 1), (2, room + 1), (3, 100_000)] {
        f.host(provider, total as i32).await.unwrap();
    }
    let work = [1000, 2000].map(|first| (&f.model, large_claim(first)));
    assert_eq!(
        submit_beside_small(&f, 10_000, work.into()).await,
        counted(&[("granted", 1), ("CapacityExceeded", 1)])
    );
    assert_eq!([f.used(1), f.used(2)], [i64::from(room); 2], "all or nothing");
    f.check_consumers();
    f.check_snapshot().await;
}

/// The small claims come before, during or after the insertion of the large claim's rows.
#[actix_web::test]
async fn consumers_are_created_by_a_large_claim_or_by_small_ones() {
    let mut f = fixture();
    f.host(1, 10_000).await.unwrap();
    f.host(2, 10_000).await.unwrap();
    for round in 0..6 {
        let first = 10_000 * (1 + round);
        let model = f.model.clone();
        let large = actix_web::rt::spawn(async move { model.submit(large_claim(first)).await });
        actix_web::rt::time::sleep(Duration::from_millis(10) * round).await;
        let small = (0..4).map(|n| (&f.model, claim(first + 50 * n, 1, "VCPU", 1, Expected::New)));
        let small = tally(submit_together(small.collect()).await);
        let expected = match large.await.unwrap() {
            Ok(()) => "StaleConsumerGeneration",
            Err(Error::StaleConsumerGeneration { .. }) => "granted",
            Err(error) => panic!("{error:?}"),
        };
        assert_eq!(small, counted(&[(expected, 4)]));
        f.check_consumers();
    }
    f.check_snapshot().await;
}
