//! Consumers with allocations on several hosts, as Nova leaves these consumers after an evacuation.

use super::super::domains::all_domains;
use super::neighbours::apart_from;
use super::violations::{listed, page, report};
use super::*;
use crate::model::domains;
use crate::model::violations::{Filter, Page};
use crate::model::workloads::ShownHost;

/// Consumer 1 has allocations on host 1, which is lost, and on host 3 of a different site.
async fn evacuated() -> Fixture {
    let f = cluster(&SITES).await;
    let asks = vec![(1, "VCPU", 1), (3, "VCPU", 1)];
    let consumer = super::super::consumer_claim(1, asks, Expected::New);
    f.model.submit(super::super::claim_of(vec![consumer])).await.unwrap();
    describe(&f.model, 1, Some(1), SITES[0], ProviderState::Lost).await;
    f
}

/// A workload with the stored spec `body`, whose first replica is consumer 1.
fn adopting(body: &str) -> Put {
    let mut put = stored(WORKLOAD, None, body);
    put.adopted = vec![Adopted {
        consumer: uuid(1),
        id: Some("0".to_owned()),
        role: None,
    }];
    put
}

fn uuids(shown: &[ShownHost]) -> Vec<&str> {
    shown.iter().map(|host| host.uuid.as_str()).collect()
}

#[actix_web::test]
async fn found_p4_a_replica_counts_on_every_host() {
    let mut f = evacuated().await;
    let refusal = no_place(place(&f.model, adopting("3 one-each")).await);
    assert!(refusal.reasons.has(ReasonCode::Spread), "one site is left: {refusal:?}");
    let placed = place(&f.model, adopting("2 one-each")).await.unwrap();
    assert_eq!(
        uuids(&placed.replicas[0].hosts),
        [uuid(3), uuid(1)],
        "hosts that are up come first"
    );
    let new: u32 = placed.replicas[1].host().unwrap()[24..].parse().unwrap();
    assert!(new > 4, "host {new} is in a site of the first replica");
    assert_eq!(placed.safety.is_safe, Some(false));
    f.check_snapshot().await;
}

#[actix_web::test]
async fn found_p4_a_violation_knows_each_host() {
    let f = evacuated().await;
    place(&f.model, adopting("2 one-each")).await.unwrap();
    let shown = report(&f.model, WORKLOAD).await;
    let [violation] = &shown.violations[..] else {
        panic!("{:?}", shown.violations)
    };
    assert_eq!(violation.reason.code, ReasonCode::State);
    assert_eq!(violation.reason.resource_provider, Some(uuid(1)));
    assert_eq!(violation.replicas, ["0"]);
    assert_eq!(violation.hosts, [uuid(3), uuid(1)]);
    for host in [1, 3] {
        let filter = Filter {
            provider: Some(uuid(host)),
            ..Filter::default()
        };
        let (found, _) = listed(&f.model, Page { filter, ..page(10) }).await;
        assert_eq!(found.len(), 1, "host {host}");
    }
}

#[actix_web::test]
async fn found_p4_a_second_host_of_a_replica_breaks_a_rule() {
    let f = evacuated().await;
    place(&f.model, adopting("2 free Number == 4")).await.unwrap();
    let spread = spec(2, Some(vec![spread(Mode::OneEach, &["fault"])]));
    let report = place(&f.model, put(WORKLOAD, Some(1), spread)).await.unwrap();
    let broken = report.violations.iter().find(|it| it.reason.code == ReasonCode::Spread);
    let broken = broken.expect("hosts 3 and 4 are in one site");
    assert_eq!(broken.reason.domain.as_deref(), Some("fault:fd:/b"));
    assert_eq!(broken.replicas, ["0", "1"]);
    assert_eq!(broken.hosts, [uuid(3), uuid(1), uuid(4)]);
}

#[actix_web::test]
async fn found_p4_rules_of_other_workloads_know_each_host() {
    let f = evacuated().await;
    place(&f.model, adopting("1 free")).await.unwrap();
    let apart = place(&f.model, apart_from(&[WORKLOAD], WORKLOAD + 1, None, 2))
        .await
        .unwrap();
    assert_eq!(hosts(&apart), BTreeSet::from([5, 6]));
    no_place(place(&f.model, apart_from(&[WORKLOAD], WORKLOAD + 2, None, 3)).await);
    let together = SpecRule::Affinity(AffinityRule {
        level: Level::Hard,
        kind: AffinityKind::Affinity,
        workload: uuid(WORKLOAD),
        dimension: "fault".to_owned(),
    });
    let together = put(WORKLOAD + 3, None, spec(3, Some(vec![together])));
    assert_eq!(
        hosts(&place(&f.model, together).await.unwrap()),
        BTreeSet::from([2, 3, 4])
    );
}

#[actix_web::test]
async fn found_p4_the_domains_of_each_host_stay_and_have_the_usage() {
    let f = evacuated().await;
    place(&f.model, adopting("1 one-each")).await.unwrap();
    for (host, generation) in [(1, 2), (3, 1)] {
        let upgrade = SITES[host as usize - 1].1;
        let moved = description(host, Some(generation), ("fd:/z", upgrade), ProviderState::Up);
        let refused = f.model.submit(moved).await.unwrap_err();
        assert!(matches!(refused, Error::DomainInUse { .. }), "host {host}: {refused:?}");
    }
    let snapshot = f.model.snapshot().await.unwrap();
    let (found, _) = domains::page_of(&snapshot, &all_domains("fault"), &Interrupt::default()).unwrap();
    let used = |path: &str| {
        found
            .iter()
            .find(|it| it.path == path)
            .unwrap()
            .usage
            .get("VCPU")
            .copied()
    };
    assert_eq!(
        (used("fd:/a"), used("fd:/b"), used("fd:/c")),
        (Some(1), Some(1), Some(0))
    );
}
