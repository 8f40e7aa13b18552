//! Pools that are not up, and replicas on a pool alone.

use super::pools::{place_in_pools, pools, with_disk, with_disks};
use super::violations::report;
use super::*;

/// Codes of the violations, with the provider and the replicas.
async fn broken(f: &Fixture) -> Vec<(ReasonCode, Option<String>, Vec<String>)> {
    let shown = report(&f.model, WORKLOAD).await;
    let found = shown.violations.into_iter();
    found
        .map(|it| (it.reason.code, it.reason.resource_provider, it.replicas))
        .collect()
}

#[actix_web::test]
async fn found_p7_replicas_on_a_pool_that_is_not_up_break_the_state() {
    let f = pools([(21, 20, &[1, 2]), (22, 40, &[])]).await;
    let body = "1 free+class:DISK_GB";
    place_in_pools(&f.model, stored(WORKLOAD, None, body)).await.unwrap();
    assert_eq!(broken(&f).await, []);
    let mut generation = None;
    for state in [ProviderState::Draining, ProviderState::Off, ProviderState::Lost] {
        describe(&f.model, 21, generation, ("-", "-"), state).await;
        generation = Some(generation.unwrap_or(0) + 1);
        let found = broken(&f).await;
        assert!(
            matches!(&found[..], [(ReasonCode::State, Some(_), ids)] if ids == &["0"]),
            "{state:?}: {found:?}"
        );
    }
    describe(&f.model, 21, generation, ("-", "-"), ProviderState::Up).await;
    assert_eq!(broken(&f).await, []);
}

#[actix_web::test]
async fn found_p7_a_second_pool_does_not_hide_the_state_of_the_pool_of_a_replica() {
    let mut f = pools([(21, 20, &[1, 2]), (22, 40, &[1, 2])]).await;
    place_in_pools(&f.model, stored(WORKLOAD, None, "1 free+class:DISK_GB"))
        .await
        .unwrap();
    let pool = if f.used(21) == 1 { 21 } else { 22 };
    describe(&f.model, pool, None, ("-", "-"), ProviderState::Draining).await;
    let expected = (ReasonCode::State, Some(uuid(pool)), vec!["0".to_owned()]);
    assert_eq!(broken(&f).await, [expected]);
}

#[actix_web::test]
async fn found_p7_a_pool_without_room_is_named_by_a_swap_that_fails() {
    let mut f = pools([(21, 3, &[1, 2]), (22, 1, &[])]).await;
    let asked = |primary: i64| Spec {
        roles: vec![with_disk("primary", primary), with_disk("secondary", 1)],
        ..spec(0, Some(Vec::new()))
    };
    place_in_pools(&f.model, put(WORKLOAD, None, asked(2))).await.unwrap();
    let mut swap = put(WORKLOAD, Some(1), asked(4));
    swap.swaps = vec![["0".to_owned(), "1".to_owned()]];
    let refusal = no_place(place_in_pools(&f.model, swap).await);
    let mut reasons = refusal.reasons.kept().iter();
    let reason = reasons.find(|it| it.code == ReasonCode::NoRoom).unwrap();
    assert_eq!(reason.resource_provider, Some(uuid(21)));
    assert_eq!(f.used(21), 3);
}

#[actix_web::test]
async fn found_p6_the_answer_says_that_nova_still_claims_from_a_pool_that_is_not_up() {
    let f = pools([(21, 20, &[1, 2]), (22, 40, &[3])]).await;
    let answer = async |provider: u32, generation: Option<i64>, state: ProviderState| {
        let new = description(provider, generation, ("-", "-"), state);
        f.model.submit(new).await.unwrap()[0].nova_still_claims
    };
    for (at, state) in [ProviderState::Draining, ProviderState::Off, ProviderState::Lost]
        .into_iter()
        .enumerate()
    {
        let generation = (at > 0).then_some(at as i64);
        assert!(answer(21, generation, state).await);
        assert!(!answer(1, generation, state).await, "Nova forbids the trait of a host");
    }
    assert!(!answer(22, None, ProviderState::Up).await);
}

/// Adopts consumer 1, which has a disk of pool 21 alone.
async fn adopt_from_pool(f: &Fixture, mut asked: Put) -> Report {
    let claim = super::super::claim(1, 21, "DISK_GB", 1, Expected::New);
    f.model.submit(claim).await.unwrap();
    asked.adopted = vec![Adopted {
        consumer: uuid(1),
        id: None,
        role: None,
    }];
    place_in_pools(&f.model, asked).await.unwrap()
}

#[actix_web::test]
async fn found_p13_a_replica_on_a_pool_alone_is_alive_and_one_violation_names_the_pool() {
    let f = pools([(21, 20, &[1, 2]), (22, 40, &[3])]).await;
    let answer = adopt_from_pool(&f, stored(WORKLOAD, None, "1 free+min")).await;
    let shown = report(&f.model, WORKLOAD).await;
    assert_eq!(format!("{:?}", answer.violations), format!("{:?}", shown.violations));
    assert_eq!((shown.placed_and_pending(), shown.replicas[0].host()), ((1, 0), None));
    let on_pool = |code| (code, Some(uuid(21)), vec!["0".to_owned()]);
    let of_min = (ReasonCode::Min, None, vec!["0".to_owned()]);
    let mut generation = None;
    for state in [
        ProviderState::Up,
        ProviderState::Draining,
        ProviderState::Off,
        ProviderState::Lost,
        ProviderState::Up,
    ] {
        describe(&f.model, 21, generation, ("-", "-"), state).await;
        generation = Some(generation.unwrap_or(0) + 1);
        let lost = report(&f.model, WORKLOAD).await.safety.is_quorum_lost;
        let expected = if state == ProviderState::Up {
            (vec![on_pool(ReasonCode::NoCandidate)], Some(false))
        } else {
            (vec![on_pool(ReasonCode::State), of_min.clone()], Some(true))
        };
        assert_eq!((broken(&f).await, lost), expected, "{state:?}");
    }
}

#[actix_web::test]
async fn found_p13_a_request_in_part_counts_no_replica_on_a_pool_that_is_lost() {
    let f = pools([(21, 20, &[]), (22, 40, &[1, 2, 3])]).await;
    adopt_from_pool(&f, stored(WORKLOAD, None, "1 free+min")).await;
    describe(&f.model, 21, None, ("-", "-"), ProviderState::Lost).await;
    let in_part = || {
        let mut asked = with_disks(6);
        asked.generation = Some(1);
        asked.spec.min = Some(5);
        asked.is_atomic = false;
        asked
    };
    // Three hosts have a disk, and the replica on the pool is the fourth of the six.
    let refusal = no_place(place_in_pools(&f.model, in_part()).await);
    assert_eq!(figures_of(&refusal, ReasonCode::Min), Some((5, 3)));
    describe(&f.model, 21, Some(1), ("-", "-"), ProviderState::Up).await;
    let refusal = no_place(place_in_pools(&f.model, in_part()).await);
    assert_eq!(figures_of(&refusal, ReasonCode::Min), Some((5, 4)));
}

#[actix_web::test]
async fn found_p13_a_replica_on_a_pool_alone_counts_in_the_n_of_the_rules() {
    let f = pools([(21, 20, &[1, 2, 3, 4]), (22, 40, &[])]).await;
    for (host, path) in [(1, "fd:/a"), (2, "fd:/a"), (3, "fd:/b"), (4, "fd:/c")] {
        describe(&f.model, host, None, (path, "-"), ProviderState::Up).await;
    }
    f.model
        .submit(super::super::claim(2, 4, "VCPU", 10, Expected::New))
        .await
        .unwrap();
    // Four replicas in three domains: L is 2. Of three replicas L would be 1, and domain c has no room.
    let rules = Some(vec![spread(Mode::QuorumSafe, &["fault"])]);
    let answer = adopt_from_pool(&f, put(WORKLOAD, None, spec(4, rules))).await;
    assert_eq!(hosts(&answer), [1, 2, 3].into());
    let counts: Vec<u32> = answer.spread[0].counts.values().copied().collect();
    assert_eq!((answer.spread[0].limit, counts), (Some(2), vec![2, 1, 0]));
    let codes: Vec<ReasonCode> = answer.violations.iter().map(|it| it.reason.code).collect();
    assert_eq!(codes, [ReasonCode::NoCandidate]);
}

#[actix_web::test]
async fn found_p13_a_replica_on_a_pool_alone_may_fail_with_any_domain() {
    let f = pools([(21, 20, &[1, 2, 3, 4]), (22, 40, &[])]).await;
    for (host, path) in [(1, "fd:/a"), (2, "fd:/b"), (3, "fd:/c"), (4, "fd:/d")] {
        describe(&f.model, host, None, (path, "-"), ProviderState::Up).await;
    }
    let figures = |report: &Report| {
        let survives = report.safety.survives[0].failures;
        (report.safety.is_quorum_lost, report.safety.is_safe, survives)
    };
    // Without a domain and the pool, two of four are left. All four are alive, so a domain alone leaves three.
    let answer = adopt_from_pool(&f, stored(WORKLOAD, None, "4 even")).await;
    assert_eq!(figures(&answer), (Some(false), Some(false), 2));
    let answer = place_in_pools(&f.model, stored(WORKLOAD, Some(1), "5 even"))
        .await
        .unwrap();
    assert_eq!(figures(&answer), (Some(false), Some(true), 3));
    assert_eq!(figures(&report(&f.model, WORKLOAD).await), figures(&answer));
}
