//! The largest legal requests: the costs, and the end by an interrupt.

use std::sync::Arc;

use super::*;
use crate::interrupt::OPERATIONS_A_STEP;
use crate::model::workloads::{Found, Planned};

/// Hosts with room for 1,000 replicas each: a single provider, or a host with two nodes.
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
async fn plan_of(f: &Fixture, count: u32, rules: Vec<SpecRule>) -> PlanJob {
    let job = std::cell::RefCell::new(None);
    let search = async |its_job: PlanJob| -> Result<Planned> {
        *job.borrow_mut() = Some(its_job);
        Err(Error::Internal {
            detail: "the plan is made later".to_owned(),
        })
    };
    let mut asked = put(WORKLOAD, None, spec(count, Some(rules)));
    asked.is_dry_run = true;
    let settings = SearchSettings::uncut(7);
    let _ = put_with(&f.model, asked, (&settings, &caller()), search).await;
    job.take().expect("it was planned")
}

fn on_hosts(level: Level, mode: Mode) -> Vec<SpecRule> {
    vec![SpecRule::Spread(SpreadRule {
        level,
        mode,
        dimensions: vec!["host".to_owned()],
        strict: false,
    })]
}

/// The steps of a plan.
fn steps(job: &PlanJob) -> u64 {
    let interrupt = Interrupt::default();
    let planned = job.run(&interrupt).unwrap();
    assert!(planned.report.is_exact);
    assert_eq!(planned.set.placed.len(), job.put.spec.count() as usize);
    interrupt.spent()
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
            let few = steps(&plan_of(&f, 100, rules.clone()).await);
            let many = steps(&plan_of(&f, 1_000, rules.clone()).await);
            // Ten times the replicas. With the cube of the number, the plan would need a thousand times the steps.
            assert!(many < 20 * few, "{rules:?}: {many} steps, {few}");
        }
    }
}

/// Ends the plan after each of some numbers of steps. No more than `most` steps follow.
fn interrupt_everywhere(job: &PlanJob, most: u64) {
    let whole = steps(job);
    for part in 1..8 {
        let interrupt = Interrupt::after(whole * part / 8);
        let planned = job.run(&interrupt);
        assert!(
            matches!(planned, Err(Error::Busy { .. })),
            "{part} of 8 parts: {planned:?}"
        );
        let after = interrupt.spent() - whole * part / 8;
        assert!(after < most, "{part} of 8 parts of {whole} steps: {after} more");
    }
}

#[actix_web::test]
async fn hostile_01_a_plan_of_a_thousand_replicas_ends_when_it_is_interrupted() {
    for is_nested in [false, true] {
        let f = hosts_of_a_thousand(30, is_nested).await;
        let job = plan_of(&f, 1_000, on_hosts(Level::Soft, Mode::MaxDifference)).await;
        interrupt_everywhere(&job, 10_000);
    }
}

#[actix_web::test]
async fn hostile_08_the_rules_of_other_workloads_are_counted() {
    let f = hosts_of_a_thousand(70, false).await;
    let job = plan_of(&f, 10, Vec::new()).await;
    let apart = |dimension: &str| {
        SpecRule::Affinity(AffinityRule {
            level: Level::Hard,
            kind: AffinityKind::AntiAffinity,
            workload: uuid(WORKLOAD),
            dimension: dimension.to_owned(),
        })
    };
    let referrers = (0..500).map(|referrer| (uuid(1_000 + referrer), spec(1, Some(vec![apart("fault")]))));
    let many = PlanJob {
        found: Arc::new(Found {
            referrers: referrers.collect(),
            ..Found::default()
        }),
        ..job.clone()
    };
    let (few, many_steps) = (steps(&job), steps(&many));
    // Each rule is looked at on each host, and once before.
    let on_hosts = 70 * 500 / OPERATIONS_A_STEP;
    assert!(
        many_steps >= few + on_hosts + 500,
        "{few} steps, {many_steps} with the rules of 500 others"
    );
    interrupt_everywhere(&many, 1_000);
}
