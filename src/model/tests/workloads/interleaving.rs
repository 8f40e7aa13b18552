//! Writes by concurrent clients between the plan of a workload and the write of the workload.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use super::super::lost_plans::keep_invalid;
use super::*;
use crate::model::planner::LOSSES_MAX;
use crate::model::workloads::Planned;

/// Places a workload. After each plan, `change` acts as a concurrent client, with the number of the plan. Returns the
/// number of plans.
pub async fn place_while(model: &Model, put: Put, change: impl AsyncFn(u32, &Report)) -> (Result<Report>, u32) {
    let plans = Cell::new(0);
    let search = async |job: PlanJob| -> Result<Planned> {
        let planned = job.run(&Interrupt::default())?;
        plans.set(plans.get() + 1);
        change(plans.get(), &planned.report).await;
        Ok(planned)
    };
    let placed = put_with(model, put, (&SearchSettings::uncut(7), &caller()), search).await;
    (placed, plans.get())
}

#[actix_web::test]
async fn a_plan_of_a_workload_that_was_created_again_is_made_again() {
    let f = cluster(&SITES).await;
    let peer = f.start_peer();
    let other = peer.as_ref().map_or(&f.model, |(model, _)| model);
    for (n, changing) in [(901, &f.model), (902, other)] {
        place(&f.model, stored(n, None, "2 one-each Number <= 4"))
            .await
            .unwrap();
        let put = stored(n, Some(1), "3 one-each");
        let (report, plans) = place_while(&f.model, put, async |plan, _| {
            if plan == 1 {
                delete(changing, &uuid(n), Some(1), Delete::default(), &caller())
                    .await
                    .unwrap();
                let again = stored(n, None, "2 one-each Number >= 3");
                place(changing, again).await.unwrap();
            }
        })
        .await;
        assert_eq!((hosts(&report.unwrap()).len(), plans), (3, 2));
        let stored = fetch(f.model.reader(false), uuid(n)).await.unwrap();
        let providers = stored.replicas.iter().flat_map(|it| &it.allocations);
        let site = |provider: &str| (provider[24..].parse::<u32>().unwrap() - 1) / 2;
        let sites: BTreeSet<u32> = providers.map(|share| site(&share.provider)).collect();
        assert_eq!(sites.len(), 3, "{sites:?}");
    }
}

/// Found by a reader, as for claims (`lost_plans`).
#[actix_web::test]
async fn a_refusal_of_a_workload_while_the_snapshot_is_invalid_is_not_final() {
    let f = cluster(&SITES).await;
    let model = &f.model;
    let (report, plans) = place_while(model, put(WORKLOAD, None, spec(1, None)), async |plan, report| {
        if plan == 1 {
            keep_invalid(model, Duration::from_secs(1));
            let host = *hosts(report).first().unwrap();
            let taken = super::super::claim(100, host, "VCPU", 10, Expected::New);
            model.submit(taken).await.unwrap();
        }
    })
    .await;
    assert_eq!((hosts(&report.unwrap()).len(), plans), (1, 2));
}

#[actix_web::test]
async fn a_consumer_that_another_program_has_is_refused_after_one_plan() {
    let f = cluster(&SITES).await;
    let workload = uuid::Uuid::parse_str(&uuid(WORKLOAD)).unwrap();
    let mut claim = super::super::claim(1, 1, "VCPU", 1, Expected::New);
    claim.consumers[0].consumer = uuid::Uuid::new_v5(&workload, b"1").to_string();
    let consumer = claim.consumers[0].consumer.clone();
    f.model.submit(claim).await.unwrap();
    let put = put(WORKLOAD, None, spec(3, None));
    let (refused, plans) = place_while(&f.model, put, async |_, _| {}).await;
    let Err(Error::ClaimRefused(refusal)) = refused else {
        panic!("{refused:?}");
    };
    let consumers: Vec<&str> = refusal.consumers.iter().map(|it| it.consumer.as_str()).collect();
    assert_eq!((consumers, plans), (vec![consumer.as_str()], 1));
    let detail = &refusal.consumers[0].reasons.kept()[0].detail;
    assert!(detail.contains("adopt it"), "{detail}");
}

/// After each plan a concurrent client takes the place. The last plan is made in the batch, where no client can.
#[actix_web::test]
async fn a_request_that_loses_each_plan_is_planned_in_the_batch() {
    let mut f = fixture();
    for host in 1..=20 {
        f.host(host, 1).await.unwrap();
    }
    let model = &f.model;
    let (report, plans) = place_while(model, put(WORKLOAD, None, spec(1, None)), async |plan, report| {
        let host = *hosts(report).first().unwrap();
        let claim = super::super::claim(100 + plan, host, "VCPU", 1, Expected::New);
        model.submit(claim).await.unwrap();
    })
    .await;
    assert_eq!((hosts(&report.unwrap()).len(), plans), (1, LOSSES_MAX + 1));
    f.check_snapshot().await;
}

/// Before, the dry run was busy at its deadline.
#[actix_web::test]
async fn a_dry_run_that_loses_each_plan_is_planned_in_the_batch_and_writes_nothing() {
    let mut f = fixture();
    for host in 1..=20 {
        f.host(host, 1).await.unwrap();
    }
    let mut dry = put(WORKLOAD, None, spec(1, None));
    dry.is_dry_run = true;
    let model = &f.model;
    let (report, plans) = place_while(model, dry, async |plan, report| {
        let host = *hosts(report).first().unwrap();
        let claim = super::super::claim(100 + plan, host, "VCPU", 1, Expected::New);
        model.submit(claim).await.unwrap();
    })
    .await;
    assert_eq!((hosts(&report.unwrap()).len(), plans), (1, LOSSES_MAX + 1));
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM placet_workloads"), 0);
    f.check_snapshot().await;
}

/// As above, but nothing is left for the plan in the batch.
#[actix_web::test]
async fn a_request_that_finds_no_place_in_the_batch_is_refused() {
    let mut f = fixture();
    for host in 1..=LOSSES_MAX + 1 {
        f.host(host, 1).await.unwrap();
    }
    let model = &f.model;
    let (refused, plans) = place_while(model, put(WORKLOAD, None, spec(1, None)), async |plan, report| {
        let host = *hosts(report).first().unwrap();
        let claim = super::super::claim(100 + plan, host, "VCPU", 1, Expected::New);
        model.submit(claim).await.unwrap();
    })
    .await;
    let is_refused = matches!(refused, Err(Error::NoPlace { .. } | Error::NoCapacity { .. }));
    assert_eq!((is_refused, plans), (true, LOSSES_MAX + 1), "{refused:?}");
    f.check_snapshot().await;
}

/// Before, the request was busy at its deadline, and no other command was written until then.
#[actix_web::test]
async fn a_consumer_that_another_program_makes_before_the_plan_in_the_batch_is_refused() {
    let mut f = fixture();
    for host in 1..=20 {
        f.host(host, 1).await.unwrap();
    }
    let model = &f.model;
    let (refused, plans) = place_while(model, put(WORKLOAD, None, spec(1, None)), async |plan, report| {
        let host = *hosts(report).first().unwrap();
        let mut claim = super::super::claim(100 + plan, host, "VCPU", 1, Expected::New);
        if plan > LOSSES_MAX {
            claim.consumers[0].consumer = report.replicas[0].replica.row.consumer.clone();
        }
        model.submit(claim).await.unwrap();
    })
    .await;
    let Err(Error::ClaimRefused(refusal)) = refused else {
        panic!("{refused:?}");
    };
    let detail = &refusal.consumers[0].reasons.kept()[0].detail;
    assert!(detail.contains("adopt it"), "{detail}");
    assert_eq!(plans, LOSSES_MAX + 1);
    f.check_snapshot().await;
}

/// The row is locked after the last plan beside the writer.
#[actix_web::test]
async fn a_plan_in_the_batch_places_a_workload_beside_a_row_that_was_not_known_to_be_held() {
    let mut f = fixture();
    if Kind::of(&f.conn) == Kind::Sqlite {
        return;
    }
    for host in 1..=20 {
        f.host(host, 1).await.unwrap();
    }
    let (model, held) = (f.model.clone(), Cell::new(0));
    let fixture = RefCell::new(&mut f);
    let (report, plans) = place_while(&model, put(WORKLOAD, None, spec(1, None)), async |plan, report| {
        let host = *hosts(report).first().unwrap();
        if plan > LOSSES_MAX {
            held.set(host);
            return fixture.borrow_mut().hold(&[host]);
        }
        let claim = super::super::claim(100 + plan, host, "VCPU", 1, Expected::New);
        model.submit(claim).await.unwrap();
    })
    .await;
    f.release_rows();
    assert_eq!((hosts(&report.unwrap()).len(), plans), (1, LOSSES_MAX + 1));
    assert_eq!(f.used(held.get()), 0);
    f.check_snapshot().await;
}
