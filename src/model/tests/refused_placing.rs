//! Calls with some refused consumers, and calls whose consumers keep their allocations.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::foreign::{foreign_claim, foreign_host};
use super::placing::{codes, gang, place, query};
use super::*;
use crate::error::ReasonCode;
use crate::model::claims::{
    self, ClaimCandidate, ClaimPlanJob, PlaceAnswer, PlaceRequest, PlacedCall, PlannedCall, Wanted,
};
use crate::model::limits::Set;
use crate::search::{Interrupt, ProviderState, Purpose, Rank, SearchSettings};

/// A VCPU of a host.
fn on(host: u32) -> ClaimCandidate {
    ClaimCandidate {
        allocations: vec![(uuid(host), vec![("VCPU".to_owned(), 1)])],
        mappings: None,
    }
}

async fn place_with(
    model: &Model,
    request: PlaceRequest,
    search: impl AsyncFn(ClaimPlanJob) -> Result<PlannedCall>,
) -> PlacedCall {
    match claims::place_with(model, request, (&SearchSettings::uncut(7), &caller()), search)
        .await
        .unwrap()
    {
        PlaceAnswer::Placed(placed) => placed,
        PlaceAnswer::Repeated(answer) => panic!("a call without an id was repeated: {answer}"),
    }
}

fn granted(placed: &PlacedCall) -> Vec<bool> {
    placed.consumers.iter().map(std::result::Result::is_ok).collect()
}

/// Found by a reader: a refusal stayed, although the refusal counted a place planned for a consumer without a grant.
#[actix_web::test]
async fn without_atomic_a_refusal_beside_others_is_final_only_if_these_are_placed() {
    for is_created_in_between in [false, true] {
        let mut f = fixture();
        for (host, total) in [(1, 1), (2, 1), (3, 3)] {
            f.host(host, total).await.unwrap();
        }
        let mut request = gang(100..103, query(3, None));
        request.is_atomic = false;
        for consumer in &mut request.consumers[..2] {
            consumer.wanted = Wanted::Candidates(Arc::new([on(1)]));
        }
        let (model, searches) = (&f.model, Cell::new(0));
        let search = async |job: ClaimPlanJob| {
            searches.set(searches.get() + 1);
            if is_created_in_between && searches.get() == 1 {
                model.submit(claim(100, 2, "VCPU", 1, Expected::New)).await.unwrap();
            }
            job.run(&Interrupt::default())
        };
        let placed = place_with(model, request, search).await;
        let expected = (
            [!is_created_in_between, is_created_in_between, true],
            1 + i32::from(is_created_in_between),
        );
        assert_eq!(
            (granted(&placed).as_slice(), searches.get()),
            (&expected.0[..], expected.1)
        );
        assert_eq!(f.used(1), 1);
    }
}

/// Found by the race of calls with candidates and queries: rows placed the first consumer elsewhere than the plan did,
/// and the plan was never corrected. The call was busy until it timed out.
#[actix_web::test]
async fn a_place_that_a_foreign_writer_took_is_read_again_if_rows_placed_its_consumer_elsewhere() {
    for is_atomic in [false, true] {
        let mut f = fixture();
        for host in [1, 2] {
            f.host(host, 1).await.unwrap();
        }
        foreign_claim(&mut f, 20, 1, 1);
        let mut request = gang(100..102, query(1, None));
        request.is_atomic = is_atomic;
        request.consumers[0].wanted = Wanted::Candidates(Arc::new([1, 2].map(on)));
        match place(&f.model, request).await {
            Ok(placed) if !is_atomic => assert_eq!(granted(&placed), [true, false]),
            Err(Error::ClaimRefused(_)) if is_atomic => {}
            answer => panic!("{answer:?}"),
        }
        f.check_snapshot().await;
    }
}

/// Found by a reader: the first consumer's allocations hid a wrong snapshot of the second host.
#[actix_web::test]
async fn a_place_that_a_foreign_writer_took_is_read_again_if_its_consumer_stays_where_it_is() {
    let mut f = fixture();
    for host in [1, 2] {
        f.host(host, 1).await.unwrap();
    }
    f.model.submit(claim(100, 1, "VCPU", 1, Expected::New)).await.unwrap();
    foreign_claim(&mut f, 20, 2, 1);
    let mut request = gang(100..102, query(1, None));
    request.is_atomic = false;
    request.consumers[0].claim.generation = Expected::Is(1);
    request.consumers[0].wanted = Wanted::Candidates(Arc::new([2, 1].map(on)));
    assert_eq!(granted(&place(&f.model, request).await.unwrap()), [true, false]);
    f.check_snapshot().await;
}

/// Found by a reader: a host with permanent changes by claims hid a wrong snapshot of the second host. The call was
/// busy until it timed out. On SQLite the writer notices the foreign writer.
#[actix_web::test]
async fn a_place_that_a_foreign_writer_took_is_read_again_beside_a_host_that_keeps_changing() {
    let mut f = fixture();
    for host in [1, 2, 3] {
        f.host(host, 1).await.unwrap();
    }
    f.model.submit(claim(100, 1, "VCPU", 1, Expected::New)).await.unwrap();
    f.model.submit(claim(50, 3, "VCPU", 1, Expected::New)).await.unwrap();
    foreign_claim(&mut f, 20, 2, 1);
    let mut request = gang(100..102, query(1, None));
    request.is_atomic = false;
    request.consumers[0].claim.generation = Expected::Is(1);
    request.consumers[0].wanted = Wanted::Candidates(Arc::new([3, 2, 1].map(on)));
    let (model, searches) = (&f.model, Cell::new(0));
    let search = async |job: ClaimPlanJob| {
        searches.set(searches.get() + 1);
        let again = claim(50, 3, "VCPU", 1, Expected::Is(searches.get()));
        model.submit(again).await.unwrap();
        job.run(&Interrupt::default())
    };
    let placed = place_with(model, request, search).await;
    assert_eq!(granted(&placed), [true, false]);
    f.check_snapshot().await;
}

/// Found by a reader: a host created by a foreign writer was never read, and a dry run was busy until it timed out.
#[actix_web::test]
async fn a_posted_host_that_a_foreign_writer_created_is_read() {
    let mut f = fixture();
    for host in [1, 3] {
        f.host(host, 1).await.unwrap();
    }
    foreign_host(&mut f, 2);
    let mut request = gang(100..102, query(1, Some(Rank::Fullest)));
    request.is_dry_run = true;
    let both = ClaimCandidate {
        allocations: [1, 2].map(|host| on(host).allocations).concat(),
        mappings: None,
    };
    request.consumers[0].wanted = Wanted::Candidates(Arc::new([both, on(3)]));
    let placed = place(&f.model, request).await.unwrap();
    let of_each = placed.consumers.iter().map(|it| it.as_ref().unwrap());
    let providers: Vec<Vec<&str>> = of_each
        .map(|it| it.providers.iter().map(|share| &*share.provider).collect())
        .collect();
    assert_eq!(
        providers,
        [vec![uuid(1).as_str(), uuid(2).as_str()], vec![uuid(3).as_str()]]
    );
    f.check_snapshot().await;
}

/// Found by a reader: the consumer after a stale consumer was refused, for capacity planned for the stale consumer.
#[actix_web::test]
async fn what_a_stale_consumer_would_take_is_no_reason() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    f.model.submit(claim(100, 1, "VCPU", 1, Expected::New)).await.unwrap();
    let refused = place(&f.model, gang(100..102, query(3, None))).await.unwrap_err();
    let Error::ClaimRefused(refusal) = refused else {
        panic!("{refused:?}")
    };
    let of_each: Vec<_> = refusal.consumers.iter().map(|it| codes(&it.reasons)).collect();
    assert_eq!(of_each, [[ReasonCode::ConcurrentUpdate], [ReasonCode::OtherRefused]]);
}

/// Found by a reader: a database that failed between the search and the comparison of generations counted as a refusal.
#[actix_web::test]
async fn a_database_that_fails_before_the_comparison_of_generations_refuses_nothing() {
    let mut f = fixture();
    f.host(1, 1).await.unwrap();
    let (model, f, searches) = (f.model.clone(), RefCell::new(f), Cell::new(0));
    let search = async |job: ClaimPlanJob| {
        searches.set(searches.get() + 1);
        if searches.get() == 1 {
            f.borrow_mut().execute("ALTER TABLE consumers RENAME TO no_consumers");
        }
        job.run(&Interrupt::default())
    };
    let request = gang(100..101, query(2, None));
    let answer = claims::place_with(&model, request, (&SearchSettings::uncut(7), &caller()), search).await;
    assert!(!matches!(answer, Ok(_) | Err(Error::ClaimRefused(_))), "{answer:?}");
}

/// The normal limit of VCPU is the capacity less a fifth.
async fn keep_a_fifth(model: &Model) {
    let set = Set {
        class: "VCPU".to_owned(),
        generation: None,
        normal: Some("0.2".parse().unwrap()),
    };
    model.submit(set).await.unwrap();
}

/// Found by a reader: a query was refused although the same claim was granted as a posted candidate.
#[actix_web::test]
async fn a_consumer_over_a_limit_keeps_as_much_or_less_by_query_too() {
    for (total, purpose) in [(100, Purpose::Normal), (80, Purpose::Replace), (80, Purpose::Normal)] {
        let mut f = fixture();
        f.host(1, 100).await.unwrap();
        f.model.submit(claim(100, 1, "VCPU", 90, Expected::New)).await.unwrap();
        keep_a_fifth(&f.model).await;
        if total < 100 {
            let less = replacing(f.generation(1), &[("VCPU", inventory(total))]);
            f.model.submit(less).await.unwrap();
        }
        for (generation, amount, is_granted) in [(1, 91, false), (1, 90, true), (2, 85, true), (3, 86, false)] {
            let mut request = gang(100..101, query(amount, Some(Rank::Emptiest)));
            request.purpose = purpose;
            request.consumers[0].claim.generation = Expected::Is(generation);
            let mut dry = request.clone();
            dry.is_dry_run = true;
            for request in [dry, request] {
                let placed = place(&f.model, request).await;
                let is_refused = matches!(placed, Err(Error::ClaimRefused(_)));
                assert_eq!(is_refused, !is_granted, "{total} {purpose:?} {amount}: {placed:?}");
                assert_eq!(placed.is_ok(), is_granted, "{total} {purpose:?} {amount}: {placed:?}");
            }
        }
        // The consumer's allocations are no free capacity for a second consumer.
        let refused = place(&f.model, gang(101..102, query(1, None))).await;
        assert!(matches!(refused, Err(Error::ClaimRefused(_))), "{refused:?}");
    }
}

/// A gang in which each consumer keeps its allocations on a host over its limit.
#[actix_web::test]
async fn consumers_of_a_host_over_its_limit_keep_it_together() {
    let mut f = fixture();
    f.host(1, 100).await.unwrap();
    for consumer in [100, 101] {
        f.model
            .submit(claim(consumer, 1, "VCPU", 45, Expected::New))
            .await
            .unwrap();
    }
    keep_a_fifth(&f.model).await;
    for (amount, is_granted) in [(46, false), (45, true)] {
        let mut request = gang(100..102, query(amount, None));
        for consumer in &mut request.consumers {
            consumer.claim.generation = Expected::Is(1);
        }
        assert_eq!(place(&f.model, request).await.is_ok(), is_granted, "{amount}");
    }
    f.check_snapshot().await;
}

/// On MariaDB a candidate may name a provider in two spellings. Found by a reader: each amount was compared alone.
#[actix_web::test]
async fn amounts_of_one_provider_add_up_against_the_normal_limit_and_the_state() {
    let f = &mut fixture();
    for host in [1, 2] {
        f.host(host, 100).await.unwrap();
    }
    f.model.submit(claim(100, 2, "VCPU", 45, Expected::New)).await.unwrap();
    f.model
        .submit(descriptions::one(2, None, 1, ProviderState::Draining))
        .await
        .unwrap();
    keep_a_fifth(&f.model).await;
    let twice = |consumer, host, generation| {
        let mut request = gang(consumer..consumer + 1, query(1, None));
        let amounts = || (uuid(host), vec![("VCPU".to_owned(), 45)]);
        request.queries.clear();
        request.consumers[0].claim.generation = generation;
        request.consumers[0].wanted = Wanted::Candidates(Arc::new([ClaimCandidate {
            allocations: vec![amounts(), amounts()],
            mappings: None,
        }]));
        request
    };
    for (request, code) in [
        (twice(101, 1, Expected::New), ReasonCode::NoRoomNormal),
        (twice(100, 2, Expected::Is(1)), ReasonCode::State),
    ] {
        let Err(Error::ClaimRefused(refusal)) = place(&f.model, request).await else {
            panic!("it was granted: {code:?}")
        };
        assert_eq!(codes(&refusal.consumers[0].reasons), [code]);
    }
}
