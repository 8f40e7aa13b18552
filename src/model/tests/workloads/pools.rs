//! Hosts whose replicas need room of the same shared disk pool.

use super::*;
use crate::model::{aggregates, traits};
use crate::search::Rank;

/// Four hosts with cores, and two pools of disks: by pool the number, the size and the served hosts.
async fn pools(pools: [(u32, i32, &[u32]); 2]) -> Fixture {
    let mut f = fixture();
    let mut joined: Vec<(u32, Vec<u32>)> = Vec::new();
    for host in 1..=4 {
        f.host(host, 10).await.unwrap();
        let of_host = pools.iter().filter(|(_, _, hosts)| hosts.contains(&host));
        joined.push((host, of_host.map(|(pool, ..)| *pool).collect()));
    }
    for (pool, size, _) in pools {
        let create = Create {
            uuid: uuid(pool),
            name: format!("pool-{pool}"),
            parent: None,
        };
        f.model.submit(create).await.unwrap();
        f.model.submit(adding(pool, "DISK_GB", size)).await.unwrap();
        joined.push((pool, vec![pool]));
    }
    for (provider, of_pools) in joined {
        let join = aggregates::Replace {
            provider: uuid(provider),
            aggregates: of_pools.iter().map(|pool| uuid(900 + pool)).collect(),
            generation: None,
        };
        f.model.submit(join).await.unwrap();
    }
    for (pool, ..) in pools {
        let share = traits::Replace {
            provider: uuid(pool),
            generation: f.generation(pool),
            traits: vec!["MISC_SHARES_VIA_AGGREGATE".to_owned()],
        };
        f.model.submit(share).await.unwrap();
    }
    f
}

/// Replicas with a core and a disk, by preference where least is left.
fn with_disks(count: u32) -> Put {
    let mut role = role("replica", count, 1);
    role.query.rank = Some(Rank::Fullest);
    let resources = &mut role.query.request.groups[0].resources;
    resources.push(("DISK_GB".to_owned(), 1));
    let roles = vec![role];
    put(
        WORKLOAD,
        None,
        Spec {
            roles,
            ..spec(0, Some(Vec::new()))
        },
    )
}

/// As [`place`], where a refusal need not be proven.
async fn place_in_pools(model: &Model, put: Put) -> Result<Report> {
    let search = async |job: PlanJob| job.run(&Interrupt::default());
    put_with(model, put, &SearchSettings::uncut(7), search).await
}

#[actix_web::test]
async fn replicas_whose_best_pool_is_full_take_from_another_on_their_hosts() {
    let mut f = pools([(21, 2, &[1, 2, 3, 4]), (22, 10, &[1, 2, 3, 4])]).await;
    let report = place_in_pools(&f.model, with_disks(4)).await.unwrap();
    assert_eq!(hosts(&report), [1, 2, 3, 4].into());
    assert_eq!((f.used(21), f.used(22)), (2, 2));
    f.check_snapshot().await;
}

#[actix_web::test]
async fn replicas_whose_only_pool_is_full_go_to_other_hosts() {
    let mut f = pools([(21, 1, &[1, 2]), (22, 9, &[3, 4])]).await;
    let report = place_in_pools(&f.model, with_disks(3)).await.unwrap();
    let hosts = hosts(&report);
    assert!(hosts.len() == 3 && hosts.is_superset(&[3, 4].into()), "{hosts:?}");
    assert_eq!((f.used(21), f.used(22)), (1, 2));
    assert!(!report.is_exact, "a choice that was made before may have been worse");
}

#[actix_web::test]
async fn replicas_for_which_no_pool_has_room_are_pending_or_refused() {
    let mut f = pools([(21, 1, &[1, 2]), (22, 9, &[3, 4])]).await;
    let refusal = no_place(place_in_pools(&f.model, with_disks(4)).await);
    assert!(!refusal.is_exact && refusal.missing == 4, "{refusal:?}");
    assert!(refusal.reasons.has(ReasonCode::NoRoom), "{refusal:?}");
    let in_part = Put {
        is_atomic: false,
        ..with_disks(4)
    };
    let report = place_in_pools(&f.model, in_part).await.unwrap();
    assert_eq!(hosts(&report).len(), 3);
    assert_eq!(report.replicas.iter().filter(|it| it.hosts.is_empty()).count(), 1);
    assert!(report.reasons.has(ReasonCode::NoPlace));
    assert_eq!((f.used(21), f.used(22)), (1, 2));
}

#[actix_web::test]
async fn replicas_that_share_a_full_pool_exchange_their_roles() {
    let mut f = pools([(21, 3, &[1, 2]), (22, 1, &[])]).await;
    let with_disk = |name: &str, disk: i64| {
        let mut role = role(name, 1, 1);
        let resources = &mut role.query.request.groups[0].resources;
        resources.push(("DISK_GB".to_owned(), disk));
        role
    };
    let roles = vec![with_disk("primary", 2), with_disk("secondary", 1)];
    let asked = Spec {
        roles,
        ..spec(0, Some(Vec::new()))
    };
    place_in_pools(&f.model, put(WORKLOAD, None, asked.clone()))
        .await
        .unwrap();
    // Each of the two replicas is the larger once.
    for generation in [1, 2] {
        let mut swap = put(WORKLOAD, Some(generation), asked.clone());
        swap.swaps = vec![["0".to_owned(), "1".to_owned()]];
        place_in_pools(&f.model, swap).await.unwrap();
        assert_eq!(f.used(21), 3);
    }
    f.check_snapshot().await;
}

#[actix_web::test]
async fn replicas_within_a_normal_limit_are_claimed_before_those_beyond_it() {
    let mut f = pools([(21, 20, &[1, 2]), (22, 40, &[3])]).await;
    let limit = crate::model::limits::Set {
        class: "DISK_GB".to_owned(),
        generation: None,
        normal: Some("0.5".parse().unwrap()),
    };
    f.model.submit(limit).await.unwrap();
    // The first role has the host with the higher number, so hosts and ids are in opposite orders.
    let roles =
        [("first", 2, "VGPU"), ("second", 1, "FPGA")].map(|(name, host, class)| (role(name, 1, 1), host, class));
    let mut wanted = Vec::new();
    for (mut role, host, class) in roles {
        f.model.submit(adding(host, class, 1)).await.unwrap();
        let resources = &mut role.query.request.groups[0].resources;
        resources.extend([("DISK_GB".to_owned(), 10), (class.to_owned(), 1)]);
        wanted.push(role);
    }
    let asked = Spec {
        roles: wanted,
        ..spec(0, Some(Vec::new()))
    };
    let report = place_in_pools(&f.model, put(WORKLOAD, None, asked)).await.unwrap();
    let over = report.replicas.iter().filter(|it| it.over_normal == ["DISK_GB"]);
    assert_eq!((over.count(), f.used(21)), (1, 20));
    f.check_snapshot().await;
}
