//! Hosts whose replicas need room of the same shared disk pool.

use super::super::call_usage::{fixed, pair, set_total};
use super::super::choices::{claimed, first_of, reasons, refusal};
use super::super::domains::all_domains;
use super::*;
use crate::model::workloads::WithinRule;
use crate::model::{aggregates, traits};
use crate::search::Rank;

/// Four hosts with cores, and two pools of disks: by pool the number, the size and the served hosts.
pub(super) async fn pools(pools: [(u32, i32, &[u32]); 2]) -> Fixture {
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

/// A role of one replica with a core and disk space.
pub(super) fn with_disk(name: &str, disk: i64) -> Role {
    let mut role = role(name, 1, 1);
    let resources = &mut role.query.request.groups[0].resources;
    resources.push(("DISK_GB".to_owned(), disk));
    role
}

/// Replicas with a core and a disk, by preference where least is left.
pub(super) fn with_disks(count: u32) -> Put {
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
pub(super) async fn place_in_pools(model: &Model, put: Put) -> Result<Report> {
    let search = async |job: PlanJob| job.run(&Interrupt::default());
    put_with(model, put, (&SearchSettings::uncut(7), &caller()), search).await
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

/// The pool of zone a has room for one of two replicas, and each host of the zone for each replica alone.
#[actix_web::test]
async fn found_p14_a_zone_whose_pool_is_too_small_gives_way_to_another_zone() {
    let in_zone = SpecRule::Within(WithinRule {
        level: Level::Hard,
        dimension: "fault".to_owned(),
    });
    for seed in 0..6 {
        let mut f = pools([(21, 1, &[1, 2]), (22, 9, &[3, 4])]).await;
        for (host, zone) in [(1, "fd:/a"), (2, "fd:/a"), (3, "fd:/b"), (4, "fd:/b")] {
            describe(&f.model, host, None, (zone, "-"), ProviderState::Up).await;
        }
        let asked = Spec {
            rules: Some(vec![in_zone.clone()]),
            ..with_disks(2).spec
        };
        let report = place_in_pools(&f.model, put(WORKLOAD + seed, None, asked))
            .await
            .unwrap();
        assert_eq!(hosts(&report), [3, 4].into(), "seed {seed}");
        assert_eq!((f.used(21), f.used(22)), (0, 2));
        let three = Spec {
            rules: Some(vec![in_zone.clone()]),
            ..with_disks(3).spec
        };
        let refusal = no_place(place_in_pools(&f.model, put(WORKLOAD + 90, None, three)).await);
        assert_eq!(refusal.missing, 3);
    }
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

#[actix_web::test]
async fn found_p20_the_sum_of_the_free_amounts_says_that_it_counts_pools() {
    let f = pools([(21, 3, &[1, 2]), (22, 4, &[3])]).await;
    let mut asked = with_disks(1);
    asked.spec.roles[0].query.request.groups[0].resources[1].1 = 5;
    let sentences = async |f: &Fixture| {
        let refusal = no_place(place_in_pools(&f.model, asked.clone()).await);
        let reasons = refusal.reasons.kept().iter();
        let of_role = reasons.filter(|it| it.detail.contains("free in sum")).map(|it| {
            let at = it.detail.find("The hosts").unwrap();
            it.detail[at..].to_owned()
        });
        of_role.collect::<Vec<_>>()
    };
    let with_pools = "The hosts that the role may use and all sharing providers have 7 free in sum.";
    assert_eq!(sentences(&f).await, [with_pools]);
}

/// A replica with a disk alone.
fn disk_alone() -> Put {
    let mut asked = with_disks(1);
    asked.spec.roles[0].query.request.groups[0].resources = vec![("DISK_GB".to_owned(), 1)];
    asked
}

#[actix_web::test]
async fn found_p13_a_role_that_only_a_pool_could_serve_is_refused_in_words() {
    let mut f = pools([(21, 20, &[1, 2]), (22, 40, &[3])]).await;
    for is_atomic in [true, false] {
        let asked = Put {
            is_atomic,
            ..disk_alone()
        };
        let reasons = match place_in_pools(&f.model, asked).await {
            Err(Error::NoPlace { refusal }) if is_atomic => refusal.reasons.clone(),
            Ok(report) if !is_atomic => report.reasons,
            other => panic!("{other:?}"),
        };
        let [first, second, ..] = reasons.kept() else {
            panic!("{reasons:?}")
        };
        assert!(first.detail.contains("Of 4 hosts, 0 may take one."), "{first:?}");
        assert!(
            second.detail.contains("Only sharing providers can serve role replica"),
            "{second:?}"
        );
        assert_eq!(second.provider_name.as_deref(), Some("pool-21"));
        assert_eq!((f.used(21), f.used(22)), (0, 0));
    }
    // A host with a disk of its own serves the role.
    f.model.submit(adding(4, "DISK_GB", 5)).await.unwrap();
    let mut asked = disk_alone();
    asked.uuid = uuid(WORKLOAD + 1);
    asked.name = "own disk".to_owned();
    let report = place_in_pools(&f.model, asked).await.unwrap();
    assert_eq!(hosts(&report), [4].into());
}

#[actix_web::test]
async fn found_p13_equal_roles_that_only_a_pool_could_serve_have_one_reason() {
    let f = pools([(21, 20, &[1, 2]), (22, 40, &[3])]).await;
    let mut asked = disk_alone();
    let role = asked.spec.roles.remove(0);
    let named = |name: &str| Role {
        name: name.to_owned(),
        ..role.clone()
    };
    asked.spec.roles = ["first", "second", "third"].map(named).into();
    let refused = no_place(place_in_pools(&f.model, asked).await);
    let kept = refused.reasons.kept().iter();
    let of_pools = kept.filter(|it| it.detail.contains("Only sharing providers can serve role first"));
    let providers: Vec<Option<String>> = of_pools.map(|it| it.resource_provider.clone()).collect();
    assert_eq!(providers, [Some(uuid(21))]);
    let details = refused.reasons.kept().iter().map(|it| &it.detail);
    assert_eq!(details.filter(|it| it.contains("Only sharing providers")).count(), 1);
}

#[actix_web::test]
async fn found_p13_the_domains_of_a_pool_change_below_replicas() {
    let mut f = pools([(21, 20, &[1, 2]), (22, 40, &[])]).await;
    for (provider, path) in [(1, "fd:/a"), (2, "fd:/b"), (21, "fd:/a")] {
        describe(&f.model, provider, None, (path, "-"), ProviderState::Up).await;
    }
    let body = "2 even+class:DISK_GB";
    place_in_pools(&f.model, stored(WORKLOAD, None, body)).await.unwrap();
    assert_eq!(f.used(21), 2);
    for (generation, path) in [(1, "fd:/c"), (2, "-")] {
        describe(&f.model, 21, Some(generation), (path, "-"), ProviderState::Up).await;
    }
    let host = description(1, Some(1), ("fd:/c", "-"), ProviderState::Up);
    assert!(matches!(f.model.submit(host).await, Err(Error::DomainInUse { .. })));
    f.check_snapshot().await;
}

#[actix_web::test]
async fn found_p8_a_gang_keeps_the_usage_of_a_pool_over_its_capacity() {
    for is_giver_first in [true, false] {
        let mut f = pools([(21, 16, &[1, 2]), (22, 1, &[])]).await;
        let has = vec![(1, "VCPU", 1), (21, "DISK_GB", 16)];
        let consumer = super::super::consumer_claim(1, has, Expected::New);
        f.model.submit(super::super::claim_of(vec![consumer])).await.unwrap();
        set_total(&mut f, 21, "DISK_GB", 10);
        let call = |amount: i64| {
            let giver = fixed(1, Expected::Is(1), &[(1, "VCPU", 1), (21, "DISK_GB", 8)]);
            let taker = fixed(2, Expected::New, &[(2, "VCPU", 1), (21, "DISK_GB", amount)]);
            first_of(pair(giver, taker, is_giver_first))
        };
        let refused = refusal(f.model.submit(call(9)).await.unwrap_err());
        let expected = [(ReasonCode::NoRoom, Some(0), Some(9), Some(2))];
        assert_eq!(reasons(&refused, usize::from(is_giver_first)), expected);
        assert_eq!((f.used(2), f.used(21)), (0, 16));
        claimed(f.model.submit(call(8)).await);
        assert_eq!((f.used(2), f.used(21)), (1, 16));
        f.check_snapshot().await;
    }
}

#[actix_web::test]
async fn found_p13_domains_and_sums_count_no_pool_as_a_host() {
    let f = pools([(21, 20, &[1, 2]), (22, 40, &[3])]).await;
    for provider in [1, 2, 21] {
        describe(&f.model, provider, None, ("fd:/a", "-"), ProviderState::Up).await;
    }
    describe(&f.model, 22, None, ("-", "pools"), ProviderState::Up).await;
    let snapshot = f.model.snapshot().await.unwrap();
    let page = |dimension: &str| {
        let page = all_domains(dimension);
        crate::model::domains::page_of(&snapshot, &page, &Interrupt::default())
            .unwrap()
            .0
    };
    let fault = page("fault");
    let domain = fault.iter().find(|it| it.path == "fd:/a").unwrap();
    assert_eq!((domain.hosts, domain.eligible_hosts), (2, 2));
    assert_eq!(
        domain.capacity.keys().map(|class| &**class).collect::<Vec<_>>(),
        ["VCPU"]
    );
    assert_eq!(page("upgrade"), []);
    assert!(!snapshot.has_dimension("upgrade"));
    assert_eq!(crate::search::totals(&snapshot, 10).hosts, [4, 0, 0, 0, 0]);
    assert_eq!(crate::search::totals(&snapshot, 10).pools, [2, 0, 0, 0, 0]);
    let workload = put(WORKLOAD, None, spec(2, Some(vec![spread(Mode::OneEach, &["upgrade"])])));
    assert!(matches!(place(&f.model, workload).await, Err(Error::BadRequest { .. })));
}
