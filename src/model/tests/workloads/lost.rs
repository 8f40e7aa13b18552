//! Replicas on lost hosts, and on hosts that are unknown for longer than `lost_after`: `replace=lost` places the
//! replicas again.

use chrono::{TimeDelta, Utc};

use super::interleaving::place_while;
use super::pools::{pools, with_disks};
use super::safety::{lose_lease, revive};
use super::violations::report;
use super::*;
use crate::model::workloads::Planned;

const LOST: ProviderState = ProviderState::Lost;

fn replacing(put: Put) -> Put {
    Put {
        replaces_lost: true,
        ..put
    }
}

/// Sets the state of a host of [`SITES`], which has been described once.
async fn set_state(f: &Fixture, host: u32, generation: i64, state: ProviderState) {
    describe(&f.model, host, Some(generation), SITES[host as usize - 1], state).await;
}

/// The end of the lease becomes this number of seconds ago.
fn set_lease_end(f: &mut Fixture, host: u32, seconds: i64) {
    let end = (Utc::now() - TimeDelta::seconds(seconds)).format("%Y-%m-%d %H:%M:%S%.3f");
    let host = uuid(host);
    f.execute(&format!(
        "UPDATE placet_leases SET held_until = '{end}' WHERE host = '{host}'"
    ));
}

#[actix_web::test]
async fn replicas_on_lost_hosts_are_placed_again_if_the_request_says_so() {
    let mut f = cluster(&SITES).await;
    let placed = place(&f.model, stored(901, None, "3 one-each")).await.unwrap();
    let before = hosts(&placed);
    let lost = *before.first().unwrap();
    set_state(&f, lost, 1, LOST).await;
    let same = place(&f.model, stored(901, Some(1), "3 one-each")).await.unwrap();
    assert_eq!(
        (same.row.generation, hosts(&same)),
        (1, before.clone()),
        "nothing moves"
    );
    let foreseen = Put {
        is_dry_run: true,
        ..replacing(stored(901, Some(1), "3 one-each"))
    };
    let foreseen = place(&f.model, foreseen).await.unwrap();
    assert_eq!(hosts(&report(&f.model, 901).await), before, "a dry run moves nothing");
    let replaced = place(&f.model, replacing(stored(901, Some(1), "3 one-each")))
        .await
        .unwrap();
    assert_eq!(places(&replaced), places(&foreseen));
    assert_eq!(
        (replaced.row.generation, replaced.violations.len()),
        (2, 0),
        "{replaced:?}"
    );
    let stayed: BTreeSet<u32> = hosts(&replaced).intersection(&before).copied().collect();
    assert_eq!(stayed.len(), 2, "the replicas on hosts that are up stay");
    assert_eq!((f.used(lost), hosts(&replaced).contains(&lost)), (0, false));
    let again = place(&f.model, replacing(stored(901, Some(2), "3 one-each")))
        .await
        .unwrap();
    assert_eq!(again.row.generation, 2, "no replica is on a lost host any more");
    f.check_snapshot().await;
}

#[actix_web::test]
async fn an_atomic_replacement_without_room_changes_nothing_and_else_the_replica_is_pending() {
    let mut f = cluster(&SITES).await;
    let placed = place(&f.model, stored(901, None, "3 one-each")).await.unwrap();
    let lost = *hosts(&placed).first().unwrap();
    assert!(lost <= 2, "the first site has a replica");
    for host in [1, 2] {
        set_state(&f, host, 1, LOST).await;
    }
    let put = replacing(stored(901, Some(1), "3 one-each"));
    no_place(place(&f.model, put.clone()).await);
    assert_eq!((f.used(lost), hosts(&report(&f.model, 901).await)), (1, hosts(&placed)));
    let partial = Put {
        is_atomic: false,
        ..put
    };
    let replaced = place(&f.model, partial).await.unwrap();
    assert_eq!((replaced.placed_and_pending(), f.used(lost)), ((2, 1), 0));
    f.check_snapshot().await;
}

#[actix_web::test]
async fn replicas_give_up_the_room_of_pools_and_leave_first_when_the_number_falls() {
    let mut f = pools([(5, 2, &[1, 2, 3, 4]), (6, 1, &[])]).await;
    let one_each = Some(vec![spread(Mode::OneEach, &["host"])]);
    let put = with_disks(2);
    let spec = Spec {
        rules: one_each,
        ..put.spec.clone()
    };
    let put = Put { spec, ..put };
    let placed = place(&f.model, put.clone()).await.unwrap();
    assert_eq!(f.used(5), 2, "the pool is full");
    let lost = *hosts(&placed).first().unwrap();
    describe(&f.model, lost, None, ("-", "-"), LOST).await;
    let again = Put {
        generation: Some(1),
        ..replacing(put.clone())
    };
    let replaced = place(&f.model, again).await.unwrap();
    assert!(!hosts(&replaced).contains(&lost), "{replaced:?}");
    assert_eq!(f.used(5), 2);
    let lost = *hosts(&replaced).first().unwrap();
    describe(&f.model, lost, None, ("-", "-"), LOST).await;
    let mut fewer = Put {
        generation: Some(2),
        ..replacing(put)
    };
    fewer.spec.roles[0].count = 1;
    let left = place(&f.model, fewer).await.unwrap();
    assert_eq!(
        (left.replicas.len(), f.used(5), hosts(&left).contains(&lost)),
        (1, 1, false)
    );
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_replica_of_a_lost_host_that_exchanges_its_role_is_placed_with_the_new_role() {
    let mut f = cluster(&SITES).await;
    let two_roles = || {
        let roles = vec![role("large", 1, 3), role("small", 1, 1)];
        let rules = Some(vec![spread(Mode::OneEach, &["host"])]);
        Spec {
            roles,
            ..spec(0, rules)
        }
    };
    let placed = place(&f.model, put(WORKLOAD, None, two_roles())).await.unwrap();
    let at = places(&placed);
    let lost = at[0].1.unwrap();
    set_state(&f, lost, 1, LOST).await;
    let swapped = Put {
        swaps: vec![["0".to_owned(), "1".to_owned()]],
        ..replacing(put(WORKLOAD, Some(1), two_roles()))
    };
    let swapped = place(&f.model, swapped).await.unwrap();
    let roles: Vec<&str> = swapped.replicas.iter().map(|it| it.replica.row.role.as_str()).collect();
    assert_eq!(roles, ["small", "large"]);
    let now: Vec<u32> = places(&swapped).into_iter().filter_map(|(_, host)| host).collect();
    assert_eq!(now[1], at[1].1.unwrap(), "the replica on a host that is up stays");
    assert_eq!((f.used(now[0]), f.used(now[1]), f.used(lost)), (1, 3, 0));
    f.check_snapshot().await;
}

/// The replica stays: the report of the host came after the plan.
#[actix_web::test]
async fn a_host_that_comes_back_after_the_plan_keeps_its_replica() {
    for state in [LOST, ProviderState::Unknown] {
        let mut f = cluster(&SITES).await;
        let after = |generation| {
            let mut put = stored(901, generation, "3 one-each");
            put.spec.lost_after = Some(600);
            put
        };
        let placed = place(&f.model, after(None)).await.unwrap();
        let lost = *hosts(&placed).first().unwrap();
        if state == LOST {
            set_state(&f, lost, 1, LOST).await;
        } else {
            lose_lease(&mut f, lost).await;
        }
        let (replaced, plans) = place_while(&f.model, replacing(after(Some(1))), async |plan, planned| {
            assert_eq!(hosts(planned).contains(&lost), plan > 1, "{state:?}");
            if plan == 1 && state == LOST {
                set_state(&f, lost, 2, ProviderState::Up).await;
            } else if plan == 1 {
                revive(&f, lost).await;
            }
        })
        .await;
        let replaced = replaced.unwrap();
        assert_eq!((plans, replaced.row.generation), (2, 1), "{state:?}");
        assert_eq!(hosts(&replaced), hosts(&placed), "{state:?}");
        f.check_snapshot().await;
    }
}

/// Places V16: a lease of 30 s, and `lost_after` 600 s.
#[actix_web::test]
async fn places_v16_a_host_is_lost_for_a_workload_after_the_time_that_it_names() {
    let mut f = cluster(&NINE[..5]).await;
    let put = |generation, lost_after| {
        let rules = Some(vec![spread(Mode::OneEach, &["host"])]);
        let spec = Spec {
            lost_after,
            ..spec(3, rules)
        };
        replacing(put(WORKLOAD, generation, spec))
    };
    let placed = place(&f.model, put(None, Some(600))).await.unwrap();
    let silent = *hosts(&placed).first().unwrap();
    lose_lease(&mut f, silent).await;
    for (generation, ago, lost_after, is_replaced) in [
        (1, 1, Some(600), false),
        (1, 599, Some(600), false),
        (1, 100_000, None, false),
        (2, 601, Some(600), true),
    ] {
        set_lease_end(&mut f, silent, ago);
        let now = place(&f.model, put(Some(generation), lost_after)).await.unwrap();
        let case = format!("{ago} s, {lost_after:?}: {now:?}");
        assert_eq!(hosts(&now).contains(&silent), !is_replaced, "{case}");
        assert_eq!(now.replicas.len(), hosts(&now).len(), "{case}");
        let has_violation = now.violations.iter().any(|it| it.reason.code == ReasonCode::State);
        assert_eq!(has_violation, !is_replaced, "{case}");
    }
    f.check_snapshot().await;
}

/// Places V17: two of three hosts are silent.
#[actix_web::test]
async fn places_v17_a_workload_without_quorum_stays_until_its_hosts_are_lost() {
    let mut f = cluster(&NINE[..5]).await;
    let put = |generation| {
        let rules = Some(vec![spread(Mode::OneEach, &["host"])]);
        let spec = Spec {
            lost_after: Some(600),
            ..spec(3, rules)
        };
        replacing(put(WORKLOAD, generation, spec))
    };
    let placed = place(&f.model, put(None)).await.unwrap();
    let silent: Vec<u32> = hosts(&placed).into_iter().take(2).collect();
    for host in &silent {
        lose_lease(&mut f, *host).await;
        set_lease_end(&mut f, *host, 1);
    }
    let shown = place(&f.model, put(Some(1))).await.unwrap();
    assert_eq!(
        (shown.safety.is_quorum_lost, hosts(&shown)),
        (Some(true), hosts(&placed))
    );
    for host in &silent {
        set_lease_end(&mut f, *host, 601);
    }
    let replaced = place(&f.model, put(Some(1))).await.unwrap();
    assert_eq!(
        (replaced.safety.is_quorum_lost, replaced.row.generation),
        (Some(false), 2)
    );
    assert!(
        silent.iter().all(|host| !hosts(&replaced).contains(host)),
        "{replaced:?}"
    );
    assert_eq!(hosts(&replaced).len(), 3);
    f.check_snapshot().await;
}

/// Places E12: two of three sites are unknown, later lost, and come back.
#[actix_web::test]
async fn places_e12_the_rest_of_a_cloud_takes_the_replicas_of_two_lost_sites() {
    let mut f = cluster(&NINE).await;
    let only = "3 default Number == 1 || Number == 5 || Number == 9";
    place(&f.model, stored(901, None, only)).await.unwrap();
    for host in 4..=9 {
        lose_lease(&mut f, host).await;
    }
    let unknown = place(&f.model, replacing(stored(901, Some(1), "3 default")))
        .await
        .unwrap();
    assert_eq!(
        hosts(&unknown),
        BTreeSet::from([1, 5, 9]),
        "an unknown host is not lost"
    );
    let generation = unknown.row.generation;
    let set_state = async |state, generation| {
        for host in 4..=9 {
            describe(&f.model, host, Some(generation), NINE[host as usize - 1], state).await;
        }
    };
    set_state(LOST, 1).await;
    let replaced = place(&f.model, replacing(stored(901, Some(generation), "3 default")))
        .await
        .unwrap();
    assert_eq!(hosts(&replaced), BTreeSet::from([1, 2, 3]));
    assert!(replaced.violations.is_empty(), "{replaced:?}");
    set_state(ProviderState::Up, 2).await;
    for host in 4..=9 {
        revive(&f, host).await;
    }
    let back = report(&f.model, 901).await;
    assert_eq!(hosts(&back), BTreeSet::from([1, 2, 3]), "no replica moves by itself");
    let spread = back.violations.iter().filter(|it| it.reason.code == ReasonCode::Spread);
    let spread: Vec<_> = spread.map(|it| (it.reason.requested, it.reason.free)).collect();
    assert_eq!(spread, [(Some(3), Some(1))], "{back:?}");
}

/// A plan names the hosts whose replicas give up their places. Without `replace=lost` a plan names none.
#[actix_web::test]
async fn only_a_replacement_compares_the_states_of_lost_hosts() {
    let f = cluster(&SITES).await;
    let placed = place(&f.model, stored(901, None, "3 one-each")).await.unwrap();
    set_state(&f, *hosts(&placed).first().unwrap(), 1, LOST).await;
    for (is_replacing, count) in [(false, 0), (true, 1)] {
        let put = Put {
            replaces_lost: is_replacing,
            ..stored(901, Some(1), "3 one-each")
        };
        let mut job = PlanJob::new(&f.model, put, &SearchSettings::uncut(7));
        crate::model::planner::PlannedRequest::prepare(&mut job, &f.model, &Default::default(), false)
            .await
            .unwrap();
        let planned: Planned = job.run(&Interrupt::default()).unwrap();
        assert_eq!(planned.set.lost.len(), count);
    }
}
