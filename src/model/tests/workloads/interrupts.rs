//! Plans with an early end: for lack of steps, or at the request's deadline.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::*;
use crate::model::planner::in_batch;
use crate::model::workloads::Planned;

/// The plan of a request with a search and several flows, before the write.
async fn plan_job(f: &Fixture) -> PlanJob {
    let job = std::cell::RefCell::new(None);
    let search = async |its_job: PlanJob| -> Result<Planned> {
        *job.borrow_mut() = Some(its_job.clone());
        its_job.run(&Interrupt::default())
    };
    let mut some = put(
        WORKLOAD,
        None,
        spec(9, Some(vec![spread(Mode::MaxDifference, &["fault"])])),
    );
    (some.is_atomic, some.is_dry_run) = (false, true);
    let settings = SearchSettings::uncut(7);
    put_with(&f.model, some, (&settings, &caller()), search).await.unwrap();
    let mut job = job.take().expect("it was planned");
    Arc::make_mut(&mut job.put).is_dry_run = false;
    job
}

#[actix_web::test]
async fn a_plan_without_enough_steps_is_busy_and_never_a_refusal() {
    let f = cluster(&SITES).await;
    let job = plan_job(&f).await;
    let whole = job.run(&Interrupt::default()).unwrap();
    assert!(whole.report.reasons.has(ReasonCode::NoPlace), "three of nine wait");
    let mut ended = 0;
    for steps in 1..10_000 {
        let interrupt = Interrupt::after(steps);
        match job.run(&interrupt) {
            Err(Error::Busy { .. }) => assert!(interrupt.ran_out(), "{steps} steps"),
            Err(error) => panic!("{steps} steps: {error:?}"),
            Ok(planned) => {
                assert_eq!(places(&planned.report), places(&whole.report));
                break;
            }
        }
        ended = steps;
    }
    // Searches, flows and the refusal count steps, each more than one.
    assert!((10..9_999).contains(&ended), "{ended} steps are not enough");
}

/// A peer gives another workload the name while the request is written. Before, the answer was 500.
#[actix_web::test]
async fn a_request_planned_in_the_batch_is_refused_if_a_peer_takes_the_name_first() {
    let mut f = cluster(&SITES).await;
    if Kind::of(&f.conn) == Kind::Sqlite {
        return;
    }
    place(&f.model, put(901, None, spec(1, None))).await.unwrap();
    let job = plan_job(&f).await;
    dialect::begin_write(&mut f.conn).unwrap();
    f.execute(&format!(
        "UPDATE placet_workloads SET name = 'workload-{WORKLOAD}' WHERE uuid = '{}'",
        uuid(901)
    ));
    let (model, deadline) = (f.model.clone(), f.model.writer_deadline());
    let writing = actix_web::rt::spawn(async move {
        let in_batch = |interrupt| in_batch(&job, interrupt, (deadline, LONGEST));
        model
            .submit_in_batch(&caller(), in_batch, deadline, &Arc::default())
            .await
    });
    actix_web::rt::time::sleep(Duration::from_millis(100)).await;
    dialect::commit(&mut f.conn).unwrap();
    let refused = writing.await.unwrap();
    assert!(matches!(refused, Err(Error::DuplicateWorkload { .. })), "{refused:?}");
}

#[actix_web::test]
async fn a_plan_in_the_batch_whose_request_has_gone_is_busy() {
    let f = cluster(&SITES).await;
    let (job, deadline, gone) = (plan_job(&f).await, f.model.writer_deadline(), Interrupt::default());
    gone.set();
    let in_batch = |_| in_batch(&job, gone, (deadline, LONGEST));
    let refused = f
        .model
        .submit_in_batch(&caller(), in_batch, deadline, &Arc::default())
        .await;
    assert!(matches!(refused, Err(Error::Busy { .. })), "{refused:?}");
}

/// The longest search inside the batch in these tests.
const LONGEST: Duration = Duration::from_secs(600);

/// Ends the search when the request no longer waits, as the service does.
struct InterruptOnDrop(Interrupt);

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

#[actix_web::test]
async fn a_request_whose_time_is_up_is_busy_and_its_plan_ends() {
    let (kept, database) = TestDatabase::synced();
    let lock = database.lock_for_serving().unwrap();
    let timeout = Duration::from_secs(2);
    let settings = WriterSettings {
        commit_timeout: timeout,
        ..writer_settings()
    };
    let (model, _running) = Model::start((database, None), &settings, rules(), lock, pools()).unwrap();
    let (end, ended) = mpsc::channel();
    // Plans again and again until a plan is interrupted.
    let search = async |job: PlanJob| {
        let (interrupt, end) = (InterruptOnDrop(Interrupt::default()), end.clone());
        let its_interrupt = interrupt.0.clone();
        let plan = move || {
            loop {
                let planned = job.run(&its_interrupt);
                if its_interrupt.is_set() {
                    let _ = end.send(planned);
                    return Err(Error::Internal {
                        detail: "no request waits for it".to_owned(),
                    });
                }
            }
        };
        tokio::task::spawn_blocking(plan).await.expect("no panic")
    };
    let asked = put(WORKLOAD, None, spec(3, None));
    let refused = put_with(&model, asked, (&SearchSettings::uncut(7), &caller()), search).await;
    assert!(matches!(refused, Err(Error::Busy { .. })), "{refused:?}");
    let planned = ended.recv_timeout(Duration::from_secs(600)).expect("the plan ended");
    // The last plan may have ended just before.
    assert!(
        matches!(planned, Err(Error::Busy { .. } | Error::NoPlace { .. })),
        "{planned:?}"
    );
    drop(kept);
}
