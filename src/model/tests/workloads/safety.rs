//! `safe`, `quorum_lost` and `survives` of workloads on hosts in each state.

use super::violations::report;
use super::*;
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
