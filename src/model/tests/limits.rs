//! Normal limits: claims within the limits, claims over the limits and the excess, and races.

mod trees;

use super::placing::{place_or_repeat, query};
use super::replays::Rng;
use super::*;
use crate::error::ReasonCode;
use crate::model::claims::{ClaimCandidate, PlaceAnswer, PlaceRequest, PlacedCall, RequestedConsumer, Wanted};
use crate::model::limits::{self, Set};
use crate::search::{NormalLimit, Purpose, Rank};

const HIGH_CONSUMERS: u32 = 500;

async fn limit(model: &Model, generation: Option<i64>, normal: &str) -> Result<limits::Limit> {
    let set = Set {
        class: "VCPU".to_owned(),
        generation,
        normal: (normal != "none").then(|| normal.parse().unwrap()),
    };
    model.submit(set).await
}

/// Hosts with this capacity, of which this much is used.
async fn hosts(model: &Model, capacity: i32, ratio: f64, used: &[i64]) {
    for (at, used) in (1..).zip(used) {
        let create = Create {
            uuid: uuid(at),
            name: format!("host-{at}"),
            parent: None,
        };
        model.submit(create).await.unwrap();
        let mut add = adding(at, "VCPU", capacity);
        add.inventory.allocation_ratio = ratio;
        model.submit(add).await.unwrap();
        if *used > 0 {
            let claim = claim(HIGH_CONSUMERS + at, at, "VCPU", *used, Expected::New);
            model.submit(claim).await.unwrap();
        }
    }
}

fn gang(consumers: std::ops::Range<u32>, wanted: Option<&[&[u32]]>, amount: i64, purpose: Purpose) -> PlaceRequest {
    let candidates = |at: usize| {
        let list = wanted.unwrap_or_default()[at].iter();
        let candidate = |host: &u32| ClaimCandidate {
            allocations: vec![(uuid(*host), vec![("VCPU".to_owned(), amount)])],
            mappings: None,
        };
        Wanted::Candidates(list.map(candidate).collect())
    };
    let consumers = consumers.enumerate().map(|(at, consumer)| RequestedConsumer {
        claim: consumer_claim(consumer, Vec::new(), Expected::New),
        wanted: if wanted.is_some() {
            candidates(at)
        } else {
            Wanted::Query(0)
        },
    });
    PlaceRequest {
        consumers: consumers.collect(),
        queries: if wanted.is_some() {
            Vec::new()
        } else {
            vec![query(amount, Some(Rank::Emptiest))]
        },
        purpose,
        is_atomic: true,
        is_dry_run: false,
        repeatable: None,
    }
}

async fn place(model: &Model, request: PlaceRequest) -> Result<PlacedCall> {
    match place_or_repeat(model, request).await? {
        PlaceAnswer::Placed(placed) => Ok(placed),
        PlaceAnswer::Repeated(answer) => panic!("a call without an id was repeated: {answer}"),
    }
}

/// The hosts, and whether each consumer is over the normal limit.
fn got(placed: &PlacedCall) -> Vec<(String, bool)> {
    let granted = placed.consumers.iter().flatten();
    let got = granted.map(|it| (it.providers[0].provider.to_string(), it.over_normal == ["VCPU"]));
    got.collect()
}

/// The codes and the free amounts of the first consumer's reasons.
fn reasons(refused: Error) -> Vec<(ReasonCode, Option<i64>, Option<i64>)> {
    let Error::ClaimRefused(refusal) = refused else {
        panic!("{refused:?}");
    };
    let kept = refusal.consumers[0].reasons.kept().iter();
    kept.map(|reason| (reason.code, reason.requested, reason.free))
        .collect()
}

#[actix_web::test]
async fn e22_a_claim_of_the_room_is_granted_and_of_one_more_refused() {
    let f = fixture();
    hosts(&f.model, 32_768, 1.0, &[32_256]).await;
    let refused = place(&f.model, gang(1..2, Some(&[&[1]]), 513, Purpose::Place))
        .await
        .unwrap_err();
    assert_eq!(reasons(refused), [(ReasonCode::NoRoom, Some(513), Some(512))]);
    place(&f.model, gang(1..2, Some(&[&[1]]), 512, Purpose::Normal))
        .await
        .unwrap();
}

#[actix_web::test]
async fn e23_claims_for_primaries_are_granted_until_the_host_is_full() {
    let f = fixture();
    hosts(&f.model, 65_536, 1.0, &[0]).await;
    let placed = place(&f.model, gang(0..64, None, 1024, Purpose::Normal)).await.unwrap();
    assert_eq!(got(&placed).len(), 64);
    let refused = place(&f.model, gang(64..65, Some(&[&[1]]), 1024, Purpose::Place))
        .await
        .unwrap_err();
    assert_eq!(reasons(refused), [(ReasonCode::NoRoom, Some(1024), Some(0))]);
}

#[actix_web::test]
async fn e28_balance_stays_below_the_buffer_and_place_may_use_it() {
    for by_query in [false, true] {
        let f = fixture();
        hosts(&f.model, 100, 1.0, &[78]).await;
        limit(&f.model, None, "0.2").await.unwrap();
        let posted: [&[u32]; 1] = [&[1]];
        let wanted = (!by_query).then_some(&posted[..]);
        for purpose in [Purpose::Balance, Purpose::Normal] {
            let refused = reasons(place(&f.model, gang(1..2, wanted, 5, purpose)).await.unwrap_err());
            assert!(
                refused.iter().any(|(code, ..)| *code == ReasonCode::NoRoomNormal),
                "{by_query}: {refused:?}"
            );
            if !by_query {
                assert_eq!(refused, [(ReasonCode::NoRoomNormal, Some(5), Some(2))]);
            }
        }
        let placed = place(&f.model, gang(1..2, wanted, 5, Purpose::Place)).await.unwrap();
        assert_eq!(got(&placed), [(uuid(1), true)]);
        let refused = reasons(
            place(&f.model, gang(2..3, wanted, 20, Purpose::Place))
                .await
                .unwrap_err(),
        );
        assert!(
            refused.iter().any(|(code, ..)| *code == ReasonCode::NoRoom),
            "{refused:?}"
        );
        assert!(
            refused.iter().all(|(code, ..)| *code != ReasonCode::NoRoomNormal),
            "{refused:?}"
        );
    }
}

#[actix_web::test]
async fn e30_what_has_no_normal_room_goes_where_it_is_least_over() {
    for by_query in [false, true] {
        let f = fixture();
        hosts(&f.model, 100, 1.0, &[60, 70, 79]).await;
        limit(&f.model, None, "0.2").await.unwrap();
        let posted: [&[u32]; 2] = [&[3, 1, 2], &[3, 1, 2]];
        let wanted = (!by_query).then_some(&posted[..]);
        let placed = place(&f.model, gang(1..3, wanted, 15, Purpose::Place)).await.unwrap();
        assert_eq!(got(&placed), [(uuid(1), false), (uuid(2), true)], "{by_query}");
    }
}

#[actix_web::test]
async fn e31_the_allocation_ratio_is_used_only_if_need_be() {
    let unbounded = 1_000_000.0;
    for (ratio, used, replaced) in [(1.2, 98, true), (1.2, 118, false), (unbounded, 900, true)] {
        let f = fixture();
        hosts(&f.model, 100, ratio, &[used]).await;
        limit(&f.model, None, "physical").await.unwrap();
        let balanced = place(&f.model, gang(1..2, None, 5, Purpose::Balance)).await;
        assert!(balanced.is_err(), "{used}");
        let placed = place(&f.model, gang(1..2, None, 5, Purpose::Replace)).await;
        assert_eq!(
            placed.as_ref().ok().map(got),
            replaced.then(|| vec![(uuid(1), true)]),
            "{used}"
        );
    }
    // OpenStack's routes know the capacity alone.
    for (used, granted) in [(98, true), (118, false)] {
        let f = fixture();
        hosts(&f.model, 100, 1.2, &[used]).await;
        limit(&f.model, None, "physical").await.unwrap();
        assert_eq!(
            f.model.submit(claim(1, 1, "VCPU", 5, Expected::New)).await.is_ok(),
            granted,
            "{used}"
        );
    }
}

#[actix_web::test]
async fn e32_a_limit_has_a_generation_and_a_class() {
    let f = fixture();
    assert_eq!(limit(&f.model, None, "0.15").await.unwrap().generation, Some(1));
    for stale in [None, Some(2)] {
        let refused = limit(&f.model, stale, "physical").await;
        assert!(matches!(refused, Err(Error::StaleGeneration { .. })), "{refused:?}");
    }
    assert_eq!(limit(&f.model, Some(1), "0.15").await.unwrap().generation, Some(1));
    assert_eq!(limit(&f.model, Some(1), "physical").await.unwrap().generation, Some(2));
    assert_eq!(limit(&f.model, Some(2), "none").await.unwrap().normal, None);
    let page = |limit, after: Option<&str>| limits::Page {
        limit,
        after: after.map(str::to_owned),
    };
    let all = page(10, None);
    let (listed, next) = limits::fetch_list(f.model.reader(false), all).await.unwrap();
    assert_eq!(next, None);
    assert_eq!(
        listed.iter().map(|it| (it.generation, it.normal)).collect::<Vec<_>>(),
        [(Some(3), None)]
    );
    let other = Set {
        class: "DISK_GB".to_owned(),
        generation: None,
        normal: None,
    };
    f.model.submit(other).await.unwrap();
    for (after, class, next) in [(None, "DISK_GB", Some("DISK_GB")), (Some("DISK_GB"), "VCPU", None)] {
        let one = page(1, after);
        let (listed, found) = limits::fetch_list(f.model.reader(false), one).await.unwrap();
        assert_eq!((listed[0].class.as_str(), found.as_deref()), (class, next));
    }
    let unknown = Set {
        class: "CUSTOM_NONE".to_owned(),
        generation: None,
        normal: Some(NormalLimit::Physical),
    };
    assert!(matches!(
        f.model.submit(unknown).await,
        Err(Error::ClassNotFound { .. })
    ));
}

/// The grants of hosts with `used` of 100 to consumers that claim one after the other with ordered candidates.
fn oracle(
    used: &mut [i64],
    lists: &[Vec<u32>],
    amount: i64,
    purpose: Purpose,
    normal: i64,
) -> Vec<Option<(u32, bool)>> {
    let take = |list: &Vec<u32>| {
        let at = |host: &u32| (*host - 1) as usize;
        let within = list.iter().find(|host| used[at(host)] + amount <= normal);
        let over = list.iter().filter(|host| used[at(host)] + amount <= 100);
        let over = over.min_by_key(|host| used[at(host)] + amount - normal.max(used[at(host)]));
        let found = within.or(over.filter(|_| purpose.may_exceed_normal()))?;
        used[at(found)] += amount;
        Some((*found, used[at(found)] > normal))
    };
    lists.iter().map(take).collect()
}

#[actix_web::test]
async fn random_claims_get_what_a_slow_oracle_gives_them() {
    for seed in 0..12 {
        let mut rng = Rng::new(seed);
        let f = fixture();
        let used: Vec<i64> = (0..4).map(|_| rng.below(90) as i64).collect();
        hosts(&f.model, 100, 1.0, &used).await;
        let percent = rng.below(100) as i64;
        limit(&f.model, None, &format!("0.{percent:02}")).await.unwrap();
        let mut expected_used = used.clone();
        for round in 0..8 {
            let (_, purpose) = Purpose::ALL[rng.below(9) as usize];
            let amount = 1 + rng.below(20) as i64;
            let list: Vec<u32> = (0..=rng.below(4)).map(|_| 1 + rng.below(4) as u32).collect();
            let expected = oracle(
                &mut expected_used,
                std::slice::from_ref(&list),
                amount,
                purpose,
                100 - percent,
            );
            let placed = place(&f.model, gang(round..round + 1, Some(&[&list]), amount, purpose)).await;
            let found = placed.ok().map(|placed| got(&placed)[0].clone());
            let expected = expected[0].map(|(host, over)| (uuid(host), over));
            assert_eq!(
                found, expected,
                "seed {seed}, round {round}: {used:?} {list:?} {amount} {purpose:?}"
            );
        }
    }
}

#[actix_web::test]
async fn no_mix_of_concurrent_claims_goes_over_normal() {
    let mut f = fixture();
    hosts(&f.model, 100, 1.0, &[0, 0]).await;
    limit(&f.model, None, "0.2").await.unwrap();
    let calls: Vec<_> = (1..=60)
        .map(|consumer: u32| {
            let model = f.model.clone();
            let purpose = [Purpose::Normal, Purpose::Balance][consumer as usize % 2];
            actix_web::rt::spawn(async move {
                let posted: [&[u32]; 1] = [&[1, 2]];
                let wanted = consumer.is_multiple_of(3).then_some(&posted[..]);
                place(&model, gang(consumer..consumer + 1, wanted, 7, purpose))
                    .await
                    .is_ok()
            })
        })
        .collect();
    let mut granted = 0;
    for call in calls {
        granted += u32::from(call.await.unwrap());
    }
    // 11 of 7 are 77, and 12 would be 84.
    assert_eq!(granted, 22);
    assert_eq!((f.used(1), f.used(2)), (77, 77));
}
