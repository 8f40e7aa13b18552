//! Workloads with several roles: replicas exchange roles, and a lower role makes room for a higher role.

use super::*;

#[actix_web::test]
async fn roles_exchange_on_their_hosts_and_only_if_there_is_room() {
    let mut f = cluster(&SITES[..3]).await;
    let roles = |second: i64| Spec {
        roles: vec![role("primary", 1, 4), role("secondary", 1, second)],
        ..spec(0, Some(Vec::new()))
    };
    let before = place(&f.model, put(WORKLOAD, None, roles(2))).await.unwrap();
    let mut swap = put(WORKLOAD, Some(1), roles(2));
    swap.swaps = vec![["0".to_owned(), "1".to_owned()]];
    let after = place(&f.model, swap.clone()).await.unwrap();
    assert_eq!(places(&before), places(&after));
    let roles_of =
        |report: &Report| -> Vec<String> { report.replicas.iter().map(|it| it.replica.row.role.clone()).collect() };
    assert_eq!(roles_of(&before), ["primary", "secondary"]);
    assert_eq!(roles_of(&after), ["secondary", "primary"]);
    let [first, second] = [0, 1].map(|at: usize| places(&after)[at].1.unwrap());
    assert_eq!((f.used(first), f.used(second)), (2, 4));
    // Replica 0 shall become primary again. Its host has a capacity of 10, and the claim leaves 3 of the needed 4.
    f.model
        .submit(super::super::claim(1, first, "VCPU", 7, Expected::New))
        .await
        .unwrap();
    swap.generation = Some(2);
    let refusal = no_place(place(&f.model, swap).await);
    let [reason] = refusal.reasons.kept() else {
        panic!("{refusal:?}");
    };
    let class = reason.resource_class.as_deref();
    assert_eq!((reason.code, class), (ReasonCode::NoRoom, Some("VCPU")));
    assert_eq!((reason.requested, reason.free), (Some(4), Some(3)));
    assert_eq!(reason.resource_provider, Some(uuid(first)));
    assert_eq!((f.used(first), f.used(second)), (9, 4));
}

#[actix_web::test]
async fn a_role_that_falls_makes_room_for_one_that_rises() {
    let mut f = cluster(&SITES[..2]).await;
    let roles = |primaries: u32, secondaries: u32| Spec {
        roles: vec![role("primary", primaries, 6), role("secondary", secondaries, 9)],
        ..spec(0, Some(Vec::new()))
    };
    place(&f.model, put(WORKLOAD, None, roles(2, 0))).await.unwrap();
    let report = place(&f.model, put(WORKLOAD, Some(1), roles(1, 1))).await.unwrap();
    assert_eq!(hosts(&report), [1, 2].into());
    assert_eq!(BTreeSet::from([f.used(1), f.used(2)]), [6, 9].into());
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM placet_replicas"), 2);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_role_that_a_host_is_not_made_for_is_refused_with_the_condition() {
    let mut f = cluster(&SITES[..2]).await;
    let mut asked = Spec {
        roles: vec![role("primary", 1, 4), role("secondary", 1, 2)],
        ..spec(0, Some(Vec::new()))
    };
    asked.roles[0].query = query(4, "Number == 1");
    place(&f.model, put(WORKLOAD, None, asked.clone())).await.unwrap();
    let mut swap = put(WORKLOAD, Some(1), asked);
    swap.swaps = vec![["0".to_owned(), "1".to_owned()]];
    let refusal = no_place(place(&f.model, swap).await);
    let [reason] = refusal.reasons.kept() else {
        panic!("{refusal:?}");
    };
    assert_eq!(reason.code, ReasonCode::Condition);
    assert_eq!(reason.resource_provider, Some(uuid(2)));
    let detail = "Replica 1 cannot get role primary: it is on a host that does not meet where.";
    assert_eq!(reason.detail, detail);
    assert_eq!((f.used(1), f.used(2)), (4, 2));
}

/// A replica's class is VCPU here, and only primaries load DISK_GB: 1024 of 65,536 on host 1.
#[actix_web::test]
async fn e23_a_host_takes_64_primaries_and_then_secondaries_alone() {
    let mut f = fixture();
    for host in 1..=3 {
        f.host(host, 1_000).await.unwrap();
    }
    f.model.submit(adding(1, "DISK_GB", 65_536)).await.unwrap();
    let mut primary = role("primary", 1, 1);
    let resources = &mut primary.query.request.groups[0].resources;
    resources.push(("DISK_GB".to_owned(), 1024));
    let asked = Spec {
        roles: vec![primary, role("secondary", 2, 1)],
        ..spec(0, Some(Vec::new()))
    };
    for n in 0..64 {
        let report = place(&f.model, put(WORKLOAD + n, None, asked.clone())).await.unwrap();
        assert_eq!(places(&report)[0], ("0".to_owned(), Some(1)));
        assert_eq!(hosts(&report), [1, 2, 3].into());
    }
    let refused = place(&f.model, put(WORKLOAD + 64, None, asked.clone()))
        .await
        .unwrap_err();
    let is_full = matches!(
        &refused,
        Error::NoCapacity { class, needed: 1024, room: 0, .. } if class == "DISK_GB"
    );
    assert!(is_full, "{refused:?}");
    let mut partial = put(WORKLOAD + 64, None, asked);
    partial.is_atomic = false;
    let report = place(&f.model, partial).await.unwrap();
    let of_disk = report.reasons.kept().iter();
    let mut of_disk = of_disk.filter(|it| it.resource_class.as_deref() == Some("DISK_GB"));
    assert!(of_disk.any(|it| (it.code, it.requested) == (ReasonCode::NoRoom, Some(1024))));
    assert_eq!(places(&report)[0], ("0".to_owned(), None));
    assert_eq!(report.replicas.iter().filter(|it| !it.hosts.is_empty()).count(), 2);
    let secondaries = Spec {
        roles: vec![role("secondary", 3, 1)],
        ..spec(0, Some(Vec::new()))
    };
    let report = place(&f.model, put(WORKLOAD + 65, None, secondaries)).await.unwrap();
    assert_eq!(hosts(&report), [1, 2, 3].into());
}
