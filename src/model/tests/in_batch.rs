//! Calls planned inside the writer's batch: plans that end early, requests without a client, and a snapshot without
//! the right to decide.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use super::placing::{gang, query};
use super::*;
use crate::db::boot_instant::BootInstant;
use crate::model::batch::command::Answer;
use crate::model::claims::{self, ClaimPlanJob, PlannedCall};
use crate::model::planner::in_batch;
use crate::model::planner::in_batch::PlanInBatch;
use crate::model::resource_classes::Ensure;
use crate::search::{Interrupt, SearchSettings};

const HOSTS: u32 = 20;
/// The longest search inside the batch in these tests.
const LONGEST: Duration = Duration::from_secs(600);

/// Hosts with one VCPU each, and the search of a call for 30 consumers, which the interrupt of the settings may end.
async fn hosts_and_job(is_atomic: bool, interrupt: Interrupt) -> (Fixture, ClaimPlanJob) {
    let mut f = fixture();
    for host in 1..=HOSTS {
        f.host(host, 1).await.unwrap();
    }
    let job = RefCell::new(None);
    let search = async |its_job: ClaimPlanJob| -> Result<PlannedCall> {
        *job.borrow_mut() = Some(its_job.clone());
        its_job.run(&Interrupt::default())
    };
    let consumers = if is_atomic { HOSTS } else { 30 };
    let mut request = gang(100..100 + consumers, query(1, None));
    (request.is_atomic, request.is_dry_run) = (is_atomic, true);
    let settings = SearchSettings {
        interrupt,
        ..SearchSettings::uncut(7)
    };
    let answer = claims::place_with(&f.model, request, (&settings, &caller()), search).await;
    answer.unwrap();
    (f, job.take().expect("it was planned"))
}

fn call(job: &ClaimPlanJob, interrupt: Interrupt, deadline: BootInstant) -> PlanInBatch {
    let mut job = job.clone();
    Arc::make_mut(&mut job.request).is_dry_run = false;
    in_batch(&job, interrupt, (deadline, LONGEST))
}

async fn submit(model: &Model, call: PlanInBatch) -> Result<Option<(Answer, Option<Answer>)>> {
    let deadline = model.writer_deadline();
    model
        .submit_in_batch(&caller(), |_| call, deadline, &Arc::default())
        .await
}

#[actix_web::test]
async fn a_plan_without_enough_steps_is_busy_and_never_a_part() {
    let (_f, job) = hosts_and_job(false, Interrupt::default()).await;
    let has_ended = |steps: &u64| match job.run(&Interrupt::after(*steps)) {
        Err(Error::Busy { .. }) => false,
        Err(error) => panic!("{steps} steps: {error:?}"),
        Ok(plan) => {
            assert_eq!(
                (plan.refused.len(), plan.command.consumers.len()),
                (30, HOSTS as usize),
                "{steps} steps"
            );
            true
        }
    };
    let steps = (1..10_000).find(has_ended).expect("10,000 steps are enough");
    // Each consumer is a step.
    assert!(steps > 30, "{steps}");
}

#[actix_web::test]
async fn a_call_whose_plan_in_the_batch_is_ended_is_busy_and_claims_nothing() {
    let (stop, gone) = (Interrupt::default(), Interrupt::default());
    let (mut f, job) = hosts_and_job(true, stop.clone()).await;
    let later = BootInstant::now() + Duration::from_secs(600);
    gone.set();
    let is_late = call(&job, Interrupt::default(), BootInstant::now());
    let is_gone = call(&job, gone, later);
    let is_stopped = call(&job, Interrupt::default(), later);
    for (case, ended) in [("late", is_late), ("gone", is_gone), ("stopped", is_stopped)] {
        if case == "stopped" {
            stop.set();
        }
        let refused = submit(&f.model, ended).await;
        assert!(matches!(refused, Err(Error::Busy { .. })), "{case}: {refused:?}");
        assert_eq!(f.number("SELECT COUNT(*) AS n FROM consumers"), 0, "{case}");
    }
}

/// All writes of the process wait for a search inside the batch.
#[actix_web::test]
async fn hostile_12_a_long_search_inside_the_batch_is_given_up_and_the_call_is_planned_again() {
    let (mut f, mut job) = hosts_and_job(true, Interrupt::default()).await;
    Arc::make_mut(&mut job.request).is_dry_run = false;
    let later = BootInstant::now() + Duration::from_secs(600);
    let given_up = in_batch(&job, Interrupt::default(), (later, Duration::ZERO));
    assert!(matches!(submit(&f.model, given_up).await, Ok(None)));
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM consumers"), 0);
    assert!(matches!(
        submit(&f.model, call(&job, Interrupt::default(), later)).await,
        Ok(Some(_))
    ));
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM consumers"), i64::from(HOSTS));
}

#[actix_web::test]
async fn the_plan_in_the_batch_of_a_dropped_request_is_ended() {
    let (f, job) = hosts_and_job(true, Interrupt::default()).await;
    let deadline = f.model.writer_deadline();
    let kept = RefCell::new(None);
    let keeping = |interrupt: Interrupt| {
        *kept.borrow_mut() = Some(interrupt.clone());
        call(&job, interrupt, deadline)
    };
    let avoided = Arc::default();
    let caller = caller();
    let submitted = f.model.submit_in_batch(&caller, keeping, deadline, &avoided);
    let _ = tokio::time::timeout(Duration::ZERO, submitted).await;
    assert!(kept.take().is_some_and(|interrupt| interrupt.has_ended()));
}

/// Before, the writer repeated the attempt until the reload, and no command was written.
#[actix_web::test]
async fn the_writer_gives_up_a_plan_while_the_snapshot_may_not_decide() {
    let (f, job) = hosts_and_job(true, Interrupt::default()).await;
    for round in 0..10 {
        // After a reload, the next reload waits for 0.18 s. The command wakes the thread that reloads.
        f.model.store.note_foreign_commit();
        let name = format!("CUSTOM_{round}");
        f.model.submit(Ensure { name }).await.unwrap();
        while !f.model.store.may_decide() {
            actix_web::rt::time::sleep(Duration::from_millis(1)).await;
        }
        f.model.store.note_foreign_commit();
        let submitted = submit(&f.model, call(&job, Interrupt::default(), f.model.writer_deadline())).await;
        if submitted.unwrap().is_none() {
            return;
        }
    }
    panic!("each attempt waited for the reload");
}
