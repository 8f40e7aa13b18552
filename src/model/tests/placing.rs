//! Place and claim in one call by queries: ranks, gangs, refusals and races.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::replays::Rng;
use super::*;
use crate::error::{Error, ReasonCode, Reasons};
use crate::model::claims::{
    ClaimCandidate, ClaimPlanJob, ClaimQuery, PlaceAnswer, PlaceRequest, PlacedCall, RequestedConsumer, Wanted,
    place_with,
};
use crate::model::refusals::Filter;
use crate::search::{Group, GroupPolicy, Interrupt, Purpose, Rank, Request, SearchSettings};

pub(super) fn query(amount: i64, rank: Option<Rank>) -> ClaimQuery {
    let group = Group {
        resources: vec![("VCPU".to_owned(), amount)],
        ..Group::default()
    };
    ClaimQuery {
        request: Request::of_groups(vec![group]),
        rank,
    }
}

/// Consumers which all have the first query.
pub(super) fn gang(consumers: std::ops::Range<u32>, query: ClaimQuery) -> PlaceRequest {
    let consumers = consumers.map(|consumer| RequestedConsumer {
        claim: consumer_claim(consumer, Vec::new(), Expected::New),
        wanted: Wanted::Query(0),
    });
    PlaceRequest {
        consumers: consumers.collect(),
        queries: vec![query],
        purpose: Purpose::Normal,
        is_atomic: true,
        is_dry_run: false,
        repeatable: None,
    }
}

pub(super) async fn place(model: &Model, request: PlaceRequest) -> Result<PlacedCall> {
    match place_or_repeat(model, request).await? {
        PlaceAnswer::Placed(placed) => Ok(placed),
        PlaceAnswer::Repeated(answer) => panic!("a call without an id was repeated: {answer}"),
    }
}

pub(super) async fn place_or_repeat(model: &Model, request: PlaceRequest) -> Result<PlaceAnswer> {
    let search = async |job: ClaimPlanJob| job.run(&Interrupt::default());
    place_with(model, request, (&SearchSettings::uncut(7), &caller()), search).await
}

/// The provider of each consumer.
fn providers(placed: &PlacedCall) -> Vec<String> {
    let consumers = placed.consumers.iter();
    consumers
        .map(|consumer| consumer.as_ref().unwrap().providers[0].provider.to_string())
        .collect()
}

pub(super) fn codes(refused: &Reasons) -> Vec<ReasonCode> {
    refused.counts().map(|(code, _)| code).collect()
}

#[actix_web::test]
async fn the_best_provider_by_rank_is_claimed_one_after_the_other() {
    let mut f = fixture();
    let totals: BTreeMap<u32, i64> = [(1, 8), (2, 4), (3, 16), (4, 5)].into();
    for (host, total) in &totals {
        f.host(*host, *total as i32).await.unwrap();
    }
    let mut rng = Rng::new(3);
    for consumer in 100..130 {
        let amount = 1 + rng.below(3) as i64;
        let rank = [Rank::Fullest, Rank::Emptiest, Rank::Tightest][rng.below(3) as usize];
        let used: BTreeMap<u32, i64> = totals.keys().map(|host| (*host, f.used(*host))).collect();
        // An oracle in integers: shares are compared by cross multiplication.
        let fits = totals.iter().filter(|(host, total)| used[host] + amount <= **total);
        let share = |host: &u32| (used[host] + amount, totals[host]);
        let better = |one: &u32, other: &u32| {
            let ((a, b), (c, d)) = (share(one), share(other));
            (a * d).cmp(&(c * b))
        };
        let hosts = fits.map(|(host, _)| *host);
        // The fuller the tighter, for one class.
        let best = match rank {
            Rank::Emptiest => hosts.min_by(better),
            _ => hosts.max_by(better),
        };
        let placed = place(&f.model, gang(consumer..consumer + 1, query(amount, Some(rank)))).await;
        match (best, placed) {
            (Some(best), Ok(placed)) => {
                let host = totals
                    .keys()
                    .find(|host| uuid(**host) == providers(&placed)[0])
                    .unwrap();
                assert_eq!(
                    better(host, &best),
                    std::cmp::Ordering::Equal,
                    "{rank:?} {amount} {used:?}: {host}"
                );
            }
            (None, Err(Error::ClaimRefused(refusal))) => {
                let expected = [ReasonCode::NoRoom, ReasonCode::NoCandidate];
                assert_eq!(codes(&refusal.consumers[0].reasons), expected);
            }
            (best, placed) => panic!("{best:?} {placed:?}"),
        }
    }
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_gang_takes_all_the_room_there_is_and_one_more_is_refused() {
    for rank in [None, Some(Rank::Emptiest), Some(Rank::Fullest), Some(Rank::Random)] {
        let mut f = fixture();
        f.host(1, 9).await.unwrap();
        f.host(2, 4).await.unwrap();
        f.host(3, 2).await.unwrap();
        // In units of two there is room for 4 + 2 + 1.
        let refused = place(&f.model, gang(100..108, query(2, rank))).await.unwrap_err();
        let Error::ClaimRefused(refusal) = refused else {
            panic!("{refused:?}")
        };
        let last: Vec<ReasonCode> = refusal.consumers.iter().flat_map(|it| codes(&it.reasons)).collect();
        assert!(last.contains(&ReasonCode::NoCandidate) && last.contains(&ReasonCode::OtherRefused));
        assert_eq!(f.used(1) + f.used(2) + f.used(3), 0, "all or nothing");
        let placed = place(&f.model, gang(100..107, query(2, rank))).await.unwrap();
        assert_eq!(placed.consumers.len(), 7);
        assert_eq!((f.used(1), f.used(2), f.used(3)), (8, 4, 2), "{rank:?}");
        f.check_snapshot().await;
    }
}

#[actix_web::test]
async fn a_gang_spreads_over_the_emptiest_and_fills_the_fullest_providers() {
    let mut f = fixture();
    for host in 1..=4 {
        f.host(host, 8).await.unwrap();
    }
    let distinct = |placed: &PlacedCall| {
        let mut all = providers(placed);
        all.sort();
        all.dedup();
        all.len()
    };
    let spread = place(&f.model, gang(100..104, query(1, Some(Rank::Emptiest))))
        .await
        .unwrap();
    assert_eq!(distinct(&spread), 4);
    let filled = place(&f.model, gang(200..206, query(1, Some(Rank::Fullest))))
        .await
        .unwrap();
    assert_eq!(distinct(&filled), 1);
}

/// Two devices below each of three hosts. A consumer wants one unit of two devices of a host.
#[actix_web::test]
async fn a_gang_spreads_over_trees_or_fills_one_after_the_other() {
    let mut f = fixture();
    for host in [10, 20, 30] {
        f.host(host, 1).await.unwrap();
        for device in [host + 1, host + 2] {
            let create = Create {
                uuid: uuid(device),
                name: format!("device-{device}"),
                parent: Some(uuid(host)),
            };
            f.model.submit(create).await.unwrap();
            f.model.submit(adding(device, "VGPU", 4)).await.unwrap();
        }
    }
    let pairs = |rank| {
        let mut query = query(1, Some(rank));
        query.request.groups = ["_A", "_B"]
            .map(|suffix| Group {
                suffix: suffix.to_owned(),
                resources: vec![("VGPU".to_owned(), 1)],
                ..Group::default()
            })
            .into();
        query.request.group_policy = Some(GroupPolicy::Isolate);
        query
    };
    let used = |f: &mut Fixture| {
        let mut used = [10, 20, 30].map(|host| [f.used(host + 1), f.used(host + 2)]);
        used.sort_unstable();
        used
    };
    place(&f.model, gang(100..106, pairs(Rank::Fullest))).await.unwrap();
    assert_eq!(used(&mut f), [[0, 0], [2, 2], [4, 4]]);
    place(&f.model, gang(200..204, pairs(Rank::Emptiest))).await.unwrap();
    assert_eq!(used(&mut f), [[3, 3], [3, 3], [4, 4]]);
    assert!(place(&f.model, gang(300..303, pairs(Rank::Tightest))).await.is_err());
    place(&f.model, gang(300..302, pairs(Rank::Tightest))).await.unwrap();
    assert_eq!(used(&mut f), [[4, 4]; 3]);
    f.check_snapshot().await;
}

/// Found by a reader: the plan gave the first candidate's capacity to a consumer whose amounts violate the units there.
#[actix_web::test]
async fn a_posted_candidate_that_its_units_refuse_takes_no_room_in_the_plan() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    f.host(2, 2).await.unwrap();
    f.model.submit(claim(102, 1, "VCPU", 1, Expected::New)).await.unwrap();
    f.execute("UPDATE inventories SET min_unit = 3 WHERE total = 4");
    comparisons::compare(&f.model, 0, 1000).unwrap();
    let mut request = gang(100..102, query(3, None));
    request.consumers[0].wanted = Wanted::Candidates(Arc::new([1, 2].map(|host| ClaimCandidate {
        allocations: vec![(uuid(host), vec![("VCPU".to_owned(), 2)])],
        mappings: None,
    })));
    // An existing consumer makes the call planned consumer by consumer.
    request.consumers[0].claim = consumer_claim(102, Vec::new(), Expected::Is(1));
    let placed = place(&f.model, request).await.unwrap();
    assert_eq!(providers(&placed), [uuid(2), uuid(1)]);
}

#[actix_web::test]
async fn without_atomic_each_consumer_that_fits_is_placed() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    let mut request = gang(100..103, query(3, None));
    request.is_atomic = false;
    request.consumers[2].wanted = Wanted::Candidates(Arc::new([ClaimCandidate {
        allocations: vec![(uuid(1), vec![("VCPU".to_owned(), 1)])],
        mappings: None,
    }]));
    let placed = place(&f.model, request).await.unwrap();
    let granted: Vec<bool> = placed.consumers.iter().map(std::result::Result::is_ok).collect();
    assert_eq!(
        granted.iter().filter(|granted| **granted).count(),
        2,
        "{:?}",
        placed.consumers
    );
    assert!(granted[2]);
    assert_eq!(f.used(1), 4);
}

#[actix_web::test]
async fn what_a_consumer_has_is_free_for_its_query() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    f.model.submit(claim(100, 1, "VCPU", 3, Expected::New)).await.unwrap();
    let replace = |generation, amount| {
        let mut request = gang(100..101, query(amount, Some(Rank::Emptiest)));
        request.consumers[0].claim.generation = Expected::Is(generation);
        request
    };
    let stale = place(&f.model, replace(9, 4)).await.unwrap_err();
    assert!(matches!(stale, Error::ClaimRefused(refusal) if refusal.is_stale()));
    assert!(place(&f.model, replace(1, 5)).await.is_err());
    place(&f.model, replace(1, 4)).await.unwrap();
    assert_eq!(f.used(1), 4);
    // A request for a new consumer with this uuid is refused: the generation is compared.
    let exists = place(&f.model, gang(100..101, query(1, None))).await.unwrap_err();
    assert!(matches!(exists, Error::ClaimRefused(_)));
}

#[actix_web::test]
async fn equal_refused_queries_share_an_explanation_of_one_version() {
    let mut f = fixture();
    f.host(1, 2).await.unwrap();
    let (mut details, mut kept) = (Vec::new(), Vec::new());
    for consumer in [10, 11, 12] {
        if consumer == 12 {
            f.host(2, 2).await.unwrap();
        }
        let refused = place(&f.model, gang(consumer..consumer + 1, query(3, None))).await;
        let Err(Error::ClaimRefused(refusal)) = refused else {
            panic!("{refused:?}");
        };
        details.push(refusal.consumers[0].reasons.kept()[0].detail.clone());
        kept.push(f.model.known_reasons.count());
    }
    assert_eq!(kept[..2], [1, 1]);
    assert_eq!(details[0], details[1]);
    assert_eq!(
        details[2],
        "None of the 2 hosts can serve the query. 2 hosts are too small for VCPU: 3 requested, at most 2."
    );
    let all = Filter {
        limit: 9,
        ..Filter::default()
    };
    let listed: Vec<_> = f
        .model
        .refusals
        .list(&all)
        .iter()
        .map(|it| it.subject.clone())
        .collect();
    assert_eq!(listed, [12, 11, 10].map(|consumer| Some(uuid(consumer))));
}

/// A second search cannot help, so the call does not search until its deadline.
#[actix_web::test]
async fn a_generation_at_its_limit_refuses_a_query_at_once() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    f.model.submit(claim(100, 1, "VCPU", 1, Expected::New)).await.unwrap();
    let highest = 2_147_483_647;
    f.execute(&format!("UPDATE consumers SET generation = {highest}"));
    let mut request = gang(100..101, query(2, None));
    request.consumers[0].claim.generation = Expected::Is(highest);
    let refused = place(&f.model, request).await.unwrap_err();
    let Error::ClaimRefused(refusal) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(
        codes(&refusal.consumers[0].reasons),
        [ReasonCode::ConsumerGenerationLimit]
    );
}

/// 64 schedulers ask at once, and there is room for 40: no request is refused for a race.
#[actix_web::test]
async fn claims_by_query_get_all_the_room_there_is() {
    for rank in [None, Some(Rank::Fullest), Some(Rank::Emptiest)] {
        let mut f = fixture();
        for host in 1..=8 {
            f.host(host, 5).await.unwrap();
        }
        let mut calls = Vec::new();
        for consumer in 100..164 {
            let model = f.model.clone();
            let request = gang(consumer..consumer + 1, query(1, rank));
            calls.push(actix_web::rt::spawn(
                async move { place(&model, request).await.is_ok() },
            ));
        }
        let mut granted = 0;
        for call in calls {
            granted += u32::from(call.await.unwrap());
        }
        assert_eq!(granted, 40, "{rank:?}");
        f.check_snapshot().await;
    }
}

/// A dry run of a query writes nothing, and the following claim gets the place of the dry run.
#[actix_web::test]
async fn a_dry_run_foresees_the_place() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    f.host(2, 8).await.unwrap();
    let request = gang(100..103, query(2, Some(Rank::Tightest)));
    let mut dry = request.clone();
    dry.is_dry_run = true;
    let foreseen = providers(&place(&f.model, dry).await.unwrap());
    assert_eq!(f.used(1) + f.used(2), 0);
    assert_eq!(providers(&place(&f.model, request).await.unwrap()), foreseen);
}

/// The snapshot still shows capacity as free that a foreign writer took. The query is refused at once.
#[actix_web::test]
async fn room_that_another_program_took_is_not_searched_for_again_and_again() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    f.host(2, 4).await.unwrap();
    f.model.submit(claim(50, 1, "VCPU", 1, Expected::New)).await.unwrap();
    for host in [1, 2] {
        f.execute(&format!(
            "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) \
             SELECT id, 'foreign-{host}', 0, 3 FROM resource_providers WHERE uuid = '{}'",
            uuid(host)
        ));
        f.execute(&format!(
            "UPDATE resource_providers SET generation = generation + 1 WHERE uuid = '{}'",
            uuid(host)
        ));
    }
    let placed = place(&f.model, gang(100..101, query(1, Some(Rank::Fullest))))
        .await
        .unwrap();
    assert_eq!(providers(&placed), [uuid(2)]);
    let refused = place(&f.model, gang(101..102, query(1, None))).await.unwrap_err();
    assert!(matches!(&refused, Error::ClaimRefused(_)), "{refused:?}");
}
