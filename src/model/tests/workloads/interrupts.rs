//! Plans with an early end: for lack of steps, or at the request's deadline.

use std::sync::mpsc;
use std::time::Duration;

use super::*;
use crate::model::workloads::Planned;

/// The plan of a request with a search and several flows.
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
    f.model.put_workload_with(some, &settings, search).await.unwrap();
    job.take().expect("it was planned")
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

/// Ends the search when the request no longer waits, as the service does.
pub struct InterruptOnDrop(pub Interrupt);

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
    let refused = model.put_workload_with(asked, &SearchSettings::uncut(7), search).await;
    assert!(matches!(refused, Err(Error::Busy { .. })), "{refused:?}");
    let planned = ended.recv_timeout(Duration::from_secs(600)).expect("the plan ended");
    // The last plan may have ended just before.
    assert!(
        matches!(planned, Err(Error::Busy { .. } | Error::NoPlace { .. })),
        "{planned:?}"
    );
    drop(kept);
}
