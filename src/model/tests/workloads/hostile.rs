//! The largest requests that are legal: what they cost, and that an interrupt ends them.

use std::sync::mpsc;
use std::time::Duration;

use super::*;
use crate::model::workloads::Planned;

/// Hosts with room for 1,000 replicas each: one provider, or two nodes below one.
async fn hosts_of_a_thousand(hosts: u32, is_nested: bool) -> Fixture {
    let mut f = fixture();
    for host in 1..=hosts {
        if !is_nested {
            f.host(host, 1_000).await.unwrap();
            continue;
        }
        for (provider, parent) in [(host, None), (100 + host, Some(host)), (200 + host, Some(host))] {
            let create = Create {
                uuid: uuid(provider),
                name: format!("provider-{provider}"),
                parent: parent.map(uuid),
            };
            f.model.submit(create).await.unwrap();
            if parent.is_some() {
                f.model.submit(adding(provider, "VCPU", 500)).await.unwrap();
            }
        }
    }
    f
}

/// The plan of a request for this number of replicas.
async fn plan_of(f: &Fixture, count: u32, rules: Vec<WishRule>) -> PlanJob {
    let job = std::cell::RefCell::new(None);
    let search = async |its_job: PlanJob| -> Result<Planned> {
        *job.borrow_mut() = Some(its_job);
        Err(Error::Internal {
            detail: "the plan is made later".to_owned(),
        })
    };
    let mut asked = put(WORKLOAD, None, wish(count, Some(rules)));
    asked.is_dry_run = true;
    let settings = SearchSettings::uncut(7);
    let _ = f.model.put_workload_with(asked, &settings, &caller(), search).await;
    job.take().expect("it was planned")
}

fn on_hosts(level: Level, mode: Mode) -> Vec<WishRule> {
    vec![WishRule::Spread(SpreadRule {
        level,
        mode,
        dimensions: vec!["host".to_owned()],
        strict: false,
    })]
}

/// The processor time of this thread, in seconds, and the steps.
fn cost(job: &PlanJob) -> (f64, u64) {
    let now = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
    };
    let (interrupt, start) = (Interrupt::default(), now());
    let planned = job.run(&interrupt).unwrap();
    assert!(planned.report.is_exact);
    assert_eq!(planned.set.placed.len(), job.put.wish.count() as usize);
    (now() - start, interrupt.spent())
}

#[actix_web::test]
async fn hostile_01_a_thousand_replicas_on_few_hosts_cost_as_much_each_as_a_hundred() {
    for (hosts, is_nested) in [(3, false), (30, false), (3, true)] {
        let f = hosts_of_a_thousand(hosts, is_nested).await;
        let rules = [
            on_hosts(Level::Soft, Mode::MaxDifference),
            on_hosts(Level::Prefer, Mode::Adaptive),
            on_hosts(Level::Hard, Mode::MaxDifference),
        ];
        for rules in &rules {
            let few = cost(&plan_of(&f, 100, rules.clone()).await);
            let many = cost(&plan_of(&f, 1_000, rules.clone()).await);
            // Ten times the replicas. With the cube of their number it would be a thousand times.
            assert!(many.0 < 100.0 * few.0, "{rules:?}: {many:?} seconds and steps, {few:?}");
            assert!(many.1 < 20 * few.1, "{rules:?}: {many:?} seconds and steps, {few:?}");
        }
    }
}

/// A plan that is interrupted ends after some milliseconds, and this is a thousand times more.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// Sets the interrupt of a plan when it has begun. Returns how many steps it takes after that.
fn steps_after_an_interrupt(job: PlanJob) -> u64 {
    let interrupt = Interrupt::default();
    let its_interrupt = interrupt.clone();
    let (end, ended) = mpsc::channel();
    let planning = std::thread::spawn(move || {
        let planned = job.run(&its_interrupt);
        end.send(()).unwrap();
        planned.is_err()
    });
    while interrupt.spent() < 100 {
        std::hint::spin_loop();
    }
    interrupt.set();
    let at = interrupt.spent();
    ended.recv_timeout(ENDS_WITHIN).expect("the plan ended");
    assert!(planning.join().unwrap(), "it was not complete");
    interrupt.spent() - at
}

#[actix_web::test]
async fn hostile_01_a_plan_of_a_thousand_replicas_ends_when_it_is_interrupted() {
    for is_nested in [false, true] {
        let f = hosts_of_a_thousand(30, is_nested).await;
        let job = plan_of(&f, 1_000, on_hosts(Level::Soft, Mode::MaxDifference)).await;
        let steps = steps_after_an_interrupt(job);
        assert!(steps < 10_000, "{steps} steps");
    }
}
