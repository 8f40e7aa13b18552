//! Calls whose plans lose their places to concurrent claims, and calls with some refused consumers.

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::foreign::foreign_claim;
use super::placing::{codes, gang, query};
use super::*;
use crate::error::ReasonCode;
use crate::model::claims::{
    ClaimCandidate, ClaimPlanJob, PlaceAnswer, PlaceRequest, PlacedCall, PlannedCall, Wanted, place_with,
};
use crate::model::planner::LOSSES_MAX;
use crate::search::{Interrupt, SearchSettings};

/// Places a call. After each plan, `change` acts as a concurrent client, with the number of the plan and the hosts of
/// the first consumer's candidates. Returns the number of plans.
pub(super) async fn place_while(
    model: &Model,
    request: PlaceRequest,
    change: impl AsyncFn(u32, Vec<String>),
) -> (Result<PlacedCall>, u32) {
    let plans = Cell::new(0);
    let search = async |job: ClaimPlanJob| -> Result<PlannedCall> {
        let plan = job.run(&Interrupt::default())?;
        plans.set(plans.get() + 1);
        if let (None, [planned, ..]) = (&plan.refused[0], &*plan.command.consumers) {
            let candidates = planned.candidates.in_order();
            let hosts = candidates.map(|(_, candidate)| candidate.allocations[0].0.clone());
            change(plans.get(), hosts.collect()).await;
        }
        Ok(plan)
    };
    let placed = match place_with(model, request, (&SearchSettings::uncut(7), &caller()), search).await {
        Ok(PlaceAnswer::Placed(placed)) => Ok(placed),
        Ok(PlaceAnswer::Repeated(answer)) => panic!("a call without an id was repeated: {answer}"),
        Err(error) => Err(error),
    };
    (placed, plans.get())
}

/// A claim of a whole host with one VCPU.
pub(super) async fn take(model: &Model, consumer: u32, host: &str) {
    let mut claim = claim(consumer, 1, "VCPU", 1, Expected::New);
    claim.consumers[0].allocations[0].0 = host.to_owned();
    // The host of the plan may have been taken before.
    let _ = model.submit(claim).await;
}

/// Keeps the snapshot invalid for this time: each reload is obsolete before its end.
pub(super) fn keep_invalid(model: &Model, time: Duration) {
    let (store, began) = (Arc::clone(&model.store), Instant::now());
    store.invalidate();
    std::thread::spawn(move || {
        while began.elapsed() < time {
            store.invalidate();
            std::thread::sleep(Duration::from_micros(100));
        }
    });
}

/// An existing consumer keeps the writer from refusing the first plan unseen.
pub(super) fn moving(consumer: u32) -> PlaceRequest {
    let mut request = gang(consumer..consumer + 1, query(1, None));
    request.consumers[0].claim.generation = Expected::Is(1);
    request
}

/// Before, the call was busy at its deadline (race of calls with candidates and queries, seed 1075746799).
#[actix_web::test]
async fn a_call_that_loses_each_plan_is_planned_in_the_batch() {
    let mut f = fixture();
    for host in 1..=100 {
        f.host(host, 1).await.unwrap();
    }
    f.model.submit(claim(100, 100, "VCPU", 1, Expected::New)).await.unwrap();
    let (model, consumers) = (&f.model, Cell::new(1_000));
    let (placed, plans) = place_while(model, moving(100), async |_, hosts| {
        for host in hosts {
            consumers.set(consumers.get() + 1);
            take(model, consumers.get(), &host).await;
        }
    })
    .await;
    assert!(placed.is_ok(), "{placed:?}");
    assert_eq!(plans, LOSSES_MAX + 1);
    f.check_snapshot().await;
}

/// Before, the dry run was busy at its deadline. The plan in the batch finds a place, or each place is gone by then.
#[actix_web::test]
async fn a_dry_run_that_loses_each_plan_is_planned_in_the_batch_and_writes_nothing() {
    for is_refused in [false, true] {
        let mut f = fixture();
        for host in 1..=30 {
            f.host(host, 1).await.unwrap();
        }
        let mut request = gang(100..101, query(1, None));
        request.is_dry_run = true;
        let (model, taken) = (&f.model, Cell::new(0));
        let (foreseen, plans) = place_while(model, request, async |plan, candidates| {
            let rest = (1..=30).map(uuid).filter(|_| plan > LOSSES_MAX && is_refused);
            for host in candidates.into_iter().chain(rest) {
                taken.set(taken.get() + 1);
                take(model, 1_000 + taken.get(), &host).await;
            }
        })
        .await;
        let is_expected = match &foreseen {
            Ok(placed) => placed.has_claims() != is_refused,
            refused => is_refused && matches!(refused, Err(Error::ClaimRefused(_))),
        };
        assert!(is_expected, "{foreseen:?}");
        assert_eq!(plans, LOSSES_MAX + 1);
        let written = format!("SELECT COUNT(*) AS n FROM consumers WHERE uuid = '{}'", uuid(100));
        assert_eq!(f.number(&written), 0);
        f.check_snapshot().await;
    }
}

/// Found by a reader: an invalid snapshot is not corrected after a refusal, and agreed with the plan. So the refusal
/// was final although other hosts have room.
#[actix_web::test]
async fn a_refusal_while_the_snapshot_is_invalid_is_not_final() {
    let mut f = fixture();
    for host in 1..=20 {
        f.host(host, 1).await.unwrap();
    }
    f.model.submit(claim(100, 20, "VCPU", 1, Expected::New)).await.unwrap();
    let (model, consumers) = (&f.model, Cell::new(1_000));
    let (placed, plans) = place_while(model, moving(100), async |plan, hosts| {
        if plan == 1 {
            keep_invalid(model, Duration::from_secs(1));
            for host in hosts {
                consumers.set(consumers.get() + 1);
                take(model, consumers.get(), &host).await;
            }
        }
    })
    .await;
    assert!(placed.is_ok(), "{placed:?}");
    assert_eq!(plans, 2);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn consumers_without_room_are_refused_beside_the_others_in_one_transaction() {
    let mut f = fixture();
    f.host(1, 2).await.unwrap();
    let mut request = gang(100..104, query(1, None));
    request.is_atomic = false;
    request.queries.clear();
    for consumer in &mut request.consumers {
        consumer.wanted = Wanted::Candidates(Arc::new([ClaimCandidate {
            allocations: vec![(uuid(1), vec![("VCPU".to_owned(), 1)])],
            mappings: None,
        }]));
    }
    let (placed, plans) = place_while(&f.model, request, async |_, _| {}).await;
    let placed = placed.unwrap();
    let granted: Vec<bool> = placed.consumers.iter().map(std::result::Result::is_ok).collect();
    assert_eq!((granted, plans), (vec![true, true, false, false], 0));
    let refused = placed.consumers[3].as_ref().unwrap_err();
    assert_eq!(codes(refused), [ReasonCode::NoRoom]);
    assert_eq!(f.used(1), 2);
    f.check_snapshot().await;
}

/// A refusal on rows corrects the snapshot, so the second plan finds nothing. Beside a foreign writer no query is
/// refused before all providers were compared. So there is a third plan.
#[actix_web::test]
async fn places_that_a_foreign_writer_took_are_searched_for_again_until_none_is_shown() {
    let mut f = fixture();
    for host in [1, 2] {
        f.host(host, 1).await.unwrap();
        foreign_claim(&mut f, 20 + host, host, 1);
    }
    let mut request = gang(100..101, query(1, None));
    request.is_dry_run = true;
    let (refused, plans) = place_while(&f.model, request, async |_, _| {}).await;
    let Err(Error::ClaimRefused(refusal)) = refused else {
        panic!("{refused:?}");
    };
    let codes = codes(&refusal.consumers[0].reasons);
    assert_eq!((codes, plans), (vec![ReasonCode::NoRoom, ReasonCode::NoCandidate], 3));
    f.check_snapshot().await;
}
