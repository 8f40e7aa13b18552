//! Replicas which take each other's place in one transaction, and the end of a plan after repeated refusals.

use std::cell::RefCell;

use super::interleaving::place_while;
use super::*;
use crate::model::allocations::Release;
use crate::model::workloads::Planned;

/// Two full hosts: replica 0 on host 2 and replica 1 on host 1, both of role `a`.
async fn full() -> Fixture {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    f.host(2, 4).await.unwrap();
    let foreign = super::super::claim(1, 1, "VCPU", 4, Expected::New);
    f.model.submit(foreign).await.unwrap();
    place(&f.model, put(WORKLOAD, None, of_role("a", 1))).await.unwrap();
    f.model.submit(Release { consumer: uuid(1) }).await.unwrap();
    let report = place(&f.model, put(WORKLOAD, Some(1), of_role("a", 2))).await.unwrap();
    assert_eq!(places(&report), [("0".to_owned(), Some(2)), ("1".to_owned(), Some(1))]);
    f
}

fn of_role(name: &str, count: u32) -> Spec {
    Spec {
        roles: vec![role(name, count, 4)],
        ..spec(0, Some(Vec::new()))
    }
}

#[actix_web::test]
async fn replicas_of_a_renamed_role_take_the_full_hosts_of_each_other() {
    let mut f = full().await;
    let renamed = put(WORKLOAD, Some(2), of_role("b", 2));
    let (report, plans) = place_while(&f.model, renamed, async |_, _| {}).await;
    let report = report.unwrap();
    let exchanged = [("0".to_owned(), Some(1)), ("1".to_owned(), Some(2))];
    assert_eq!((places(&report).as_slice(), plans), (exchanged.as_slice(), 1));
    assert_eq!((f.used(1), f.used(2)), (4, 4));
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_refused_exchange_leaves_every_replica_where_it_was() {
    let mut f = full().await;
    let renamed = put(WORKLOAD, Some(2), of_role("b", 2));
    let model = &f.model;
    // A concurrent client takes half of replica 1's allocations: the plan with the old generation is refused.
    let (report, plans) = place_while(model, renamed, async |plan, report| {
        if plan == 1 {
            let mut claim = super::super::claim(1, 1, "VCPU", 2, Expected::Is(1));
            claim.consumers[0].consumer = report.replicas[1].replica.row.consumer.clone();
            model.submit(claim).await.unwrap();
        }
    })
    .await;
    assert_eq!((hosts(&report.unwrap()), plans), ([1, 2].into(), 2));
    assert_eq!((f.used(1), f.used(2)), (4, 4));
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_set_that_is_refused_on_the_state_of_its_plan_is_answered_with_the_reasons() {
    let mut f = full().await;
    f.host(3, 4).await.unwrap();
    let model = &f.model;
    // Like a plan with more free capacity than the writer sees: the plan is made on the first snapshot each time.
    let plans: RefCell<Vec<Planned>> = RefCell::default();
    let search = async |job: PlanJob| -> Result<Planned> {
        let known = plans.borrow().last().cloned();
        let planned = match known {
            Some(known) => known,
            None => {
                let planned = job.run(&Interrupt::default())?;
                let claim = super::super::claim(1, 3, "VCPU", 3, Expected::New);
                model.submit(claim).await.unwrap();
                planned
            }
        };
        plans.borrow_mut().push(planned.clone());
        Ok(planned)
    };
    let three = put(WORKLOAD, Some(2), of_role("a", 3));
    let refused = put_with(model, three, (&SearchSettings::uncut(7), &caller()), search).await;
    let Err(Error::ClaimRefused(refusal)) = refused else {
        panic!("{refused:?}");
    };
    let reasons = refusal.consumers[0].reasons.kept();
    assert_eq!((reasons[0].code, reasons[0].free), (ReasonCode::NoRoom, Some(1)));
    // The first plan did not see the claim, so the refusal of the first plan was a race.
    assert_eq!(plans.borrow().len(), 2);
    assert_eq!(f.used(3), 3);
}

#[actix_web::test]
async fn found_p8_roles_are_exchanged_on_a_host_whose_usage_is_over_the_capacity() {
    let mut f = fixture();
    f.host(1, 16).await.unwrap();
    let asked = Spec {
        roles: vec![role("large", 1, 8), role("small", 1, 4)],
        ..spec(0, Some(vec![spread(Mode::QuorumSafe, &["host"])]))
    };
    place(&f.model, put(WORKLOAD, None, asked.clone())).await.unwrap();
    f.execute("UPDATE inventories SET total = 10");
    comparisons::compare(&f.model, 0, 1000).unwrap();
    for generation in [1, 2] {
        let mut swap = put(WORKLOAD, Some(generation), asked.clone());
        swap.swaps = vec![["0".to_owned(), "1".to_owned()]];
        let report = place(&f.model, swap).await.unwrap();
        assert_eq!((report.row.generation, f.used(1)), (generation + 1, 12));
    }
    f.check_snapshot().await;
}
