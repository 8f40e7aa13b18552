//! `safe`, `quorum_lost` and `survives` of workloads on hosts in each state.

use super::violations::report;
use super::*;
use crate::model::hosts::{self, EndLeases, HostReport, ReportedLease};
use crate::model::workloads::SafetyReport;

/// Whether the workload is safe, whether the quorum is lost, and the fewest failures in the dimension `fault`.
fn figures(safety: &SafetyReport) -> (Option<bool>, Option<bool>, Option<u32>, u32) {
    let [survives] = &safety.survives[..] else {
        panic!("{safety:?}")
    };
    assert_eq!(survives.dimension, "fault");
    (
        safety.is_safe,
        safety.is_quorum_lost,
        survives.domains,
        survives.failures,
    )
}

#[actix_web::test]
async fn found_p9_replicas_on_hosts_that_are_not_up_are_not_alive() {
    for state in [ProviderState::Draining, ProviderState::Off, ProviderState::Lost] {
        let f = cluster(&SITES).await;
        let placed = place(&f.model, stored(901, None, "3 one-each")).await.unwrap();
        assert_eq!(figures(&placed.safety), (Some(true), Some(false), Some(2), 2));
        let expected = [
            (Some(false), Some(false), Some(1), 1),
            (Some(false), Some(true), Some(0), 0),
        ];
        for (host, expected) in hosts(&placed).into_iter().zip(expected) {
            describe(&f.model, host, Some(1), SITES[host as usize - 1], state).await;
            let shown = report(&f.model, 901).await;
            assert_eq!(figures(&shown.safety), expected, "{state:?}");
        }
    }
}

#[actix_web::test]
async fn found_p9_replicas_without_a_place_are_not_alive() {
    let f = cluster(&SITES[..4]).await;
    let partial = Put {
        is_atomic: false,
        ..stored(901, None, "4 one-each")
    };
    let placed = place(&f.model, partial).await.unwrap();
    assert_eq!(placed.placed_and_pending(), (2, 2));
    assert_eq!(figures(&placed.safety), (Some(false), Some(true), Some(0), 0));
}

/// Makes hosts unknown, as the leader does after the end of a lease.
pub async fn lose_lease(f: &mut Fixture, host: u32) {
    f.execute(&format!(
        "INSERT INTO placet_leases (host, created_at, user_id, holder, boot, former_boots, number, digest, term, \
         held_until, health) VALUES ('{}', '2001-01-01 00:00:00', 'u', 'agent', 'b', '', 1, 'd', 60, \
         '2001-01-01 00:01:00', 'up')",
        uuid(host)
    ));
    let hosts = vec![uuid(host)];
    assert_eq!(f.model.submit(EndLeases { hosts }).await.unwrap(), 1);
}

/// Reports for a host of which [`lose_lease`] wrote the lease.
pub async fn revive(f: &Fixture, host: u32) {
    let report = HostReport {
        host: uuid(host),
        user: "u".to_owned(),
        may_report_all: false,
        lease: ReportedLease {
            holder: "agent".to_owned(),
            boot: "b".to_owned(),
            number: 2,
            term: 60,
        },
        digest: "d".to_owned(),
        description: Describe {
            provider: uuid(host),
            name: None,
            generation: None,
            description: Description::default(),
        },
        providers: Vec::new(),
    };
    hosts::report(&f.model, &caller(), report, false).await.unwrap();
}

#[actix_web::test]
async fn replicas_on_hosts_without_a_lease_are_not_alive_stay_and_go_first() {
    let mut f = cluster(&SITES).await;
    let placed = place(&f.model, stored(901, None, "3 one-each")).await.unwrap();
    let expected = [
        (Some(false), Some(false), Some(1), 1),
        (Some(false), Some(true), Some(0), 0),
    ];
    for (host, expected) in hosts(&placed).into_iter().take(2).zip(expected) {
        lose_lease(&mut f, host).await;
        let shown = report(&f.model, 901).await;
        assert_eq!(figures(&shown.safety), expected);
        assert!(
            shown.violations.iter().any(|it| it.reason.code == ReasonCode::State),
            "{shown:?}"
        );
    }
    assert_eq!(hosts(&report(&f.model, 901).await), hosts(&placed), "no replica moves");
    let left = place(&f.model, stored(901, Some(1), "1 one-each")).await.unwrap();
    let alive = hosts(&placed).into_iter().skip(2).collect();
    assert_eq!(hosts(&left), alive, "replicas on unknown hosts go first");
}
