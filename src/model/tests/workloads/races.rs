//! Workloads against each other and against claims of OpenStack's routes on the same hosts.

use super::super::replays::Rng;
use super::*;
use crate::model::allocations::Release;

/// The invariants at every commit, in SQL.
fn check(f: &mut Fixture) {
    let over = "SELECT COUNT(*) AS n FROM (SELECT i.resource_provider_id FROM inventories i JOIN allocations a ON \
                a.resource_provider_id = i.resource_provider_id AND a.resource_class_id = i.resource_class_id \
                GROUP BY i.resource_provider_id, i.resource_class_id, i.total HAVING SUM(a.used) > i.total) t";
    assert_eq!(f.number(over), 0, "no host is oversubscribed");
    let orphans = "SELECT COUNT(*) AS n FROM placet_replicas r LEFT JOIN placet_workloads w ON w.uuid = r.workload \
                   WHERE w.uuid IS NULL";
    assert_eq!(f.number(orphans), 0, "every replica has its workload");
    let twice = "SELECT COUNT(*) AS n FROM (SELECT a.consumer_id FROM allocations a JOIN placet_replicas r ON \
                 r.consumer_id = a.consumer_id GROUP BY a.consumer_id HAVING COUNT(*) > 1) t";
    assert_eq!(f.number(twice), 0, "no replica has two places");
    let one_host = "SELECT COUNT(*) AS n FROM (SELECT r.workload, a.resource_provider_id FROM placet_replicas r JOIN \
                    allocations a ON a.consumer_id = r.consumer_id GROUP BY r.workload, a.resource_provider_id \
                    HAVING COUNT(*) > 1) t";
    assert_eq!(f.number(one_host), 0, "no two replicas of a workload are on one host");
}

/// The number of placed replicas, by workload, from the workload's last answer.
async fn run(model: &Model, seed: u64, first: u32) -> Vec<(u32, usize)> {
    let mut rng = Rng::new(seed);
    let mut known: Vec<(u32, i64, usize)> = Vec::new();
    for step in 0..25 {
        let n = first + rng.below(3) as u32;
        let at = known.iter().position(|(it, ..)| *it == n);
        let generation = at.map(|at| known[at].1);
        match rng.below(5) {
            0 if at.is_some() => {
                delete(model, &uuid(n), generation, Delete::default(), &caller())
                    .await
                    .unwrap();
                known.retain(|(it, ..)| *it != n);
            }
            1 => {
                let consumer = first + 100 + step;
                let claim = super::super::claim(consumer, 1 + rng.below(6) as u32, "VCPU", 2, Expected::New);
                if model.submit(claim).await.is_ok() && rng.below(2) == 0 {
                    model
                        .submit(Release {
                            consumer: uuid(consumer),
                        })
                        .await
                        .unwrap();
                }
            }
            _ => {
                let count = rng.below(5) as u32;
                let mut put = put(
                    n,
                    generation,
                    spec(count, Some(vec![spread(Mode::MaxDifference, &["fault"])])),
                );
                put.is_atomic = rng.below(2) == 0;
                match place(model, put).await {
                    Ok(report) => {
                        let placed = report.replicas.iter().filter(|it| it.replica.is_placed()).count();
                        assert!(
                            report.violations.is_empty(),
                            "seed {seed} step {step}: {:?}",
                            report.violations
                        );
                        known.retain(|(it, ..)| *it != n);
                        known.push((n, report.row.generation, placed));
                    }
                    Err(Error::NoPlace { .. } | Error::NoCapacity { .. }) => {}
                    Err(error) => panic!("seed {seed} step {step}: {error:?}"),
                }
            }
        }
    }
    known.into_iter().map(|(n, _, placed)| (n, placed)).collect()
}

#[actix_web::test]
async fn concurrent_workloads_and_claims_keep_every_rule() {
    let seeds: u64 = std::env::var("PLACET_SEEDS")
        .ok()
        .and_then(|it| it.parse().ok())
        .unwrap_or(3);
    for seed in 0..seeds {
        println!("seed {seed}");
        let mut f = cluster(&SITES).await;
        let peer = f.start_peer();
        let found = {
            let other = peer.as_ref().map_or(&f.model, |(model, _)| model);
            let (one, two, three, four) = tokio::join!(
                run(&f.model, seed * 10, 1_000),
                run(other, seed * 10 + 1, 2_000),
                run(&f.model, seed * 10 + 2, 3_000),
                run(other, seed * 10 + 3, 4_000),
            );
            [one, two, three, four].concat()
        };
        check(&mut f);
        for (n, placed) in found {
            let sql = format!(
                "SELECT COUNT(*) AS n FROM placet_replicas r JOIN allocations a ON a.consumer_id = r.consumer_id WHERE \
                 r.workload = '{}'",
                uuid(n)
            );
            assert_eq!(f.number(&sql), placed as i64, "seed {seed}, workload {n}");
        }
        f.check_snapshot().await;
    }
}

#[actix_web::test]
async fn of_requests_with_the_same_generation_one_is_granted() {
    let mut f = cluster(&SITES).await;
    let answers = tokio::join!(
        place(&f.model, put(WORKLOAD, None, spec(2, None))),
        place(&f.model, put(WORKLOAD, None, spec(3, None))),
        place(&f.model, put(WORKLOAD, None, spec(4, None))),
    );
    let answers = [answers.0, answers.1, answers.2];
    assert_eq!(answers.iter().filter(|it| it.is_ok()).count(), 1, "{answers:?}");
    let refused = answers.iter().filter_map(|it| it.as_ref().err());
    assert!(
        refused
            .into_iter()
            .all(|it| matches!(it, Error::StaleGeneration { .. }))
    );
    check(&mut f);
}
