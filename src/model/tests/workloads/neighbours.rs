//! Rules between two workloads: both workloads keep the rules, in turn and at the same time.

use super::interleaving::place_while;
use super::*;

pub fn apart(other: &str, dimension: &str) -> SpecRule {
    SpecRule::Affinity(AffinityRule {
        level: Level::Hard,
        kind: AffinityKind::AntiAffinity,
        workload: other.to_owned(),
        dimension: dimension.to_owned(),
    })
}

/// A workload apart from `others` by fault domain. The body has the uuids of `others`, a line for each.
pub fn apart_from(others: &[u32], n: u32, generation: Option<i64>, count: u32) -> Put {
    let others: Vec<String> = others.iter().map(|other| uuid(*other)).collect();
    let body = others.join("\n");
    let spec = Spec {
        roles: vec![role("replica", count, 1)],
        ..read(&body).unwrap()
    };
    Put {
        body,
        ..put(n, generation, spec)
    }
}

impl Put {
    fn in_part(self) -> Put {
        Put {
            is_atomic: false,
            ..self
        }
    }
}

fn sites(report: &Report) -> BTreeSet<u32> {
    hosts(report).into_iter().map(|host| (host - 1) / 2).collect()
}

const FORCED: Delete = Delete {
    is_forced: true,
    is_dry_run: false,
};
const FIRST: u32 = WORKLOAD;
const SECOND: u32 = WORKLOAD + 1;

#[actix_web::test]
async fn workloads_are_together_or_apart_by_host_and_by_domain() {
    let f = cluster(&SITES).await;
    let first = place(
        &f.model,
        put(WORKLOAD, None, spec(2, Some(vec![spread(Mode::OneEach, &["fault"])]))),
    )
    .await
    .unwrap();
    let affinity = |kind, dimension: &str| {
        Some(vec![SpecRule::Affinity(AffinityRule {
            level: Level::Hard,
            kind,
            workload: uuid(WORKLOAD),
            dimension: dimension.to_owned(),
        })])
    };
    let mut n = WORKLOAD;
    let mut place = |count, rules| {
        n += 1;
        place(&f.model, put(n, None, spec(count, rules)))
    };
    assert_eq!(
        hosts(&place(2, affinity(AffinityKind::Affinity, "host")).await.unwrap()),
        hosts(&first)
    );
    let site = |host: u32| (host - 1) / 2;
    let sites: BTreeSet<u32> = hosts(&first).into_iter().map(site).collect();
    let together = hosts(&place(4, affinity(AffinityKind::Affinity, "fault")).await.unwrap());
    assert_eq!(together.into_iter().map(site).collect::<BTreeSet<_>>(), sites);
    let apart = hosts(&place(2, affinity(AffinityKind::AntiAffinity, "fault")).await.unwrap());
    assert!(apart.into_iter().all(|host| !sites.contains(&site(host))));
    let refusal = no_place(place(3, affinity(AffinityKind::AntiAffinity, "fault")).await);
    assert!(refusal.reasons.has(ReasonCode::Apart));
    let refusal = no_place(place(3, affinity(AffinityKind::Affinity, "host")).await);
    assert!(refusal.reasons.has(ReasonCode::Together));
}

#[actix_web::test]
async fn a_workload_keeps_the_rules_of_those_that_name_it() {
    let f = cluster(&SITES).await;
    let one = place(&f.model, apart_from(&[], FIRST, None, 1)).await.unwrap();
    let other = place(&f.model, apart_from(&[FIRST], SECOND, None, 2)).await.unwrap();
    assert!(sites(&one).is_disjoint(&sites(&other)));
    // The first workload has no rule about the second, and keeps the second's rule all the same.
    let refusal = no_place(place(&f.model, apart_from(&[], FIRST, Some(1), 6)).await);
    assert!(refusal.reasons.has(ReasonCode::Apart), "{refusal:?}");
    let many = apart_from(&[], FIRST, Some(1), 6).in_part();
    let many = place(&f.model, many).await.unwrap();
    assert!(sites(&many).is_disjoint(&sites(&other)), "{many:?}");
    assert_eq!(hosts(&many).len(), 6 - 2 * sites(&other).len());
    assert!(many.violations.is_empty(), "{:?}", many.violations);
    // Without the rule the first workload has places there.
    place(&f.model, apart_from(&[], SECOND, Some(1), 2)).await.unwrap();
    assert_eq!(
        place(&f.model, apart_from(&[], FIRST, Some(2), 6))
            .await
            .unwrap()
            .replicas
            .len(),
        6
    );
}

#[actix_web::test]
async fn a_deleted_workload_that_is_created_again_keeps_the_rules_of_those_that_name_it() {
    let f = cluster(&SITES).await;
    place(&f.model, apart_from(&[], FIRST, None, 0)).await.unwrap();
    let other = place(&f.model, apart_from(&[FIRST], SECOND, None, 3)).await.unwrap();
    delete(&f.model, &uuid(FIRST), Some(1), FORCED, &caller())
        .await
        .unwrap();
    let again = apart_from(&[], FIRST, None, 6).in_part();
    let again = place(&f.model, again).await.unwrap();
    assert!(sites(&again).is_disjoint(&sites(&other)), "{again:?}");
}

#[actix_web::test]
async fn a_domain_above_that_of_another_workload_is_too_near_to_it() {
    let f = cluster(&[("fd:/a/r1", "1"), ("fd:/a", "2"), ("fd:/b", "1")]).await;
    place(&f.model, apart_from(&[], FIRST, None, 0)).await.unwrap();
    let mut second = apart_from(&[FIRST], SECOND, None, 1);
    second.spec.roles[0].query = query(1, "Number == 1");
    place(&f.model, second).await.unwrap();
    // A replica of the first on fd:/a would have the second workload, in fd:/a/r1, inside the replica's domain.
    let many = apart_from(&[], FIRST, Some(1), 3).in_part();
    assert_eq!(hosts(&place(&f.model, many).await.unwrap()), [3].into());
}

#[actix_web::test]
async fn two_workloads_that_are_placed_in_the_same_moment_keep_the_rule_between_them() {
    let f = cluster(&SITES).await;
    let peer = f.start_peer();
    let other = peer.as_ref().map_or(&f.model, |(model, _)| model);
    for round in 0..20 {
        let (first, second) = (FIRST + 2 * round, SECOND + 2 * round);
        place(&f.model, apart_from(&[], first, None, 0)).await.unwrap();
        place(&f.model, apart_from(&[first], second, None, 0)).await.unwrap();
        // In every second round only the second workload names the first.
        let of_first = [second];
        let of_first = &of_first[..round as usize % 2];
        let (one, two) = tokio::join!(
            place(&f.model, apart_from(of_first, first, Some(1), 2)),
            place(other, apart_from(&[first], second, Some(1), 2)),
        );
        let (one, two) = (one.unwrap(), two.unwrap());
        let (hosts, sites) = ((hosts(&one), hosts(&two)), (sites(&one), sites(&two)));
        assert!(sites.0.is_disjoint(&sites.1), "round {round}: on {hosts:?}");
        for n in [first, second] {
            delete(&f.model, &uuid(n), Some(2), FORCED, &caller()).await.unwrap();
        }
    }
}

/// The new workload has generation 1 again.
#[actix_web::test]
async fn a_workload_that_is_created_again_is_another_one_to_those_that_name_it() {
    let f = cluster(&SITES).await;
    let peer = f.start_peer();
    let other = peer.as_ref().map_or(&f.model, |(model, _)| model);
    for (round, changing) in [(0, &f.model), (1, other)] {
        let (first, second) = (FIRST + 2 * round, SECOND + 2 * round);
        place(&f.model, apart_from(&[], first, None, 0)).await.unwrap();
        place(&f.model, apart_from(&[first], second, None, 0)).await.unwrap();
        let put = apart_from(&[first], second, Some(1), 2);
        let again_at = std::cell::Cell::new(0);
        let (report, plans) = place_while(&f.model, put, async |plan, report| {
            if plan == 1 {
                again_at.set(*hosts(report).first().unwrap());
                delete(changing, &uuid(first), Some(1), FORCED, &caller())
                    .await
                    .unwrap();
                let mut again = apart_from(&[], first, None, 1);
                again.spec.roles[0].query = query(1, &format!("Number == {}", again_at.get()));
                place(changing, again).await.unwrap();
            }
        })
        .await;
        let site = (again_at.get() - 1) / 2;
        assert!(
            !sites(&report.unwrap()).contains(&site),
            "round {round}: in site {site}"
        );
        assert_eq!(plans, 2);
    }
}

#[actix_web::test]
async fn a_put_whose_neighbours_change_during_two_plans_is_planned_a_third_time() {
    let f = cluster(&SITES).await;
    place(&f.model, apart_from(&[], FIRST, None, 0)).await.unwrap();
    let put = apart_from(&[FIRST], SECOND, None, 2);
    let (report, plans) = place_while(&f.model, put, async |plan, _| {
        if plan <= 2 {
            let known = Some(i64::from(plan));
            let mut renamed = apart_from(&[], FIRST, known, 0);
            renamed.name = format!("renamed-{plan}");
            place(&f.model, renamed).await.unwrap();
        }
    })
    .await;
    // The consumers were refused twice, but belong to no foreign writer.
    assert_eq!((hosts(&report.unwrap()).len(), plans), (2, 3));
}

#[actix_web::test]
async fn a_workload_that_a_rule_names_is_deleted_only_by_force() {
    let mut f = cluster(&SITES).await;
    place(&f.model, apart_from(&[], FIRST, None, 1)).await.unwrap();
    place(&f.model, apart_from(&[FIRST], SECOND, None, 2)).await.unwrap();
    for is_dry_run in [true, false] {
        let how = Delete {
            is_forced: false,
            is_dry_run,
        };
        let refused = delete(&f.model, &uuid(FIRST), None, how, &caller()).await.unwrap_err();
        let Error::WorkloadInUse { reasons, .. } = &refused else {
            panic!("{refused:?}")
        };
        let [reason] = reasons.kept() else {
            panic!("{reasons:?}")
        };
        assert!(reason.detail.contains(&uuid(SECOND)), "{}", reason.detail);
    }
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM placet_workloads"), 2);
    // Without the rule the first workload may go. So may the second, which no rule names.
    place(&f.model, apart_from(&[], SECOND, Some(1), 2)).await.unwrap();
    for n in [FIRST, SECOND] {
        delete(&f.model, &uuid(n), None, Delete::default(), &caller())
            .await
            .unwrap();
    }
    f.check_snapshot().await;
}

/// On the hosts of the first workload.
pub fn together_with_first() -> SpecRule {
    SpecRule::Affinity(AffinityRule {
        level: Level::Hard,
        kind: AffinityKind::Affinity,
        workload: uuid(FIRST),
        dimension: "host".to_owned(),
    })
}

/// Together with the first workload, by host.
fn together(generation: Option<i64>, count: u32) -> Put {
    Put {
        body: format!("together {count}"),
        ..put(SECOND, generation, spec(count, Some(vec![together_with_first()])))
    }
}

#[actix_web::test]
async fn a_rule_stays_whose_workload_was_deleted_by_force() {
    let f = cluster(&SITES).await;
    place(&f.model, apart_from(&[], FIRST, None, 2)).await.unwrap();
    place(&f.model, together(None, 2)).await.unwrap();
    delete(&f.model, &uuid(FIRST), None, FORCED, &caller()).await.unwrap();
    // Placed replicas stay, and the violation gives the reason.
    let report = place(&f.model, together(Some(1), 2)).await.unwrap();
    assert_eq!(hosts(&report).len(), 2);
    let detail = &report.violations[0].reason.detail;
    assert!(detail.starts_with("The other workload does not exist"), "{detail}");
    // The deleted workload is near to no host, so a third replica has no place.
    let refusal = no_place(place(&f.model, together(Some(1), 3)).await);
    assert!(refusal.reasons.has(ReasonCode::Together), "{refusal:?}");
    // A new rule about the deleted workload is a mistake.
    let mut other = together(None, 1);
    other.uuid = uuid(SECOND + 1);
    other.name = "other".to_owned();
    let refused = place(&f.model, other).await.unwrap_err().to_string();
    assert!(refused.starts_with("rules[0].workload: "), "{refused}");
    let mut other = together(Some(1), 2);
    other.spec.rules = Some(vec![SpecRule::Affinity(AffinityRule {
        level: Level::Hard,
        kind: AffinityKind::AntiAffinity,
        workload: uuid(FIRST),
        dimension: "host".to_owned(),
    })]);
    let refused = place(&f.model, other).await.unwrap_err().to_string();
    assert!(refused.starts_with("rules[0].workload: "), "{refused}");
    // A rule of kind `Apart` is kept, and holds again when the workload exists again.
    place(&f.model, apart_from(&[], FIRST, None, 3)).await.unwrap();
    place(&f.model, together(Some(1), 3)).await.unwrap();
}

#[actix_web::test]
async fn a_workload_is_not_deleted_while_a_rule_about_it_is_made() {
    let f = cluster(&SITES).await;
    let peer = f.start_peer();
    let other = peer.as_ref().map_or(&f.model, |(model, _)| model);
    for (round, changing) in [(0, &f.model), (1, other)] {
        let (first, second) = (FIRST + 2 * round, SECOND + 2 * round);
        place(&f.model, apart_from(&[], first, None, 1)).await.unwrap();
        for count in [0, 2] {
            let (named, put) = (uuid(first), apart_from(&[first], second, None, count));
            let first_caller = caller();
            let deletion = delete(changing, &named, None, Delete::default(), &first_caller);
            let (deleted, placed) = tokio::join!(deletion, place(&f.model, put));
            match (deleted, placed) {
                (Err(Error::WorkloadInUse { .. }), Ok(_)) => {
                    delete(&f.model, &uuid(second), None, Delete::default(), &caller())
                        .await
                        .unwrap();
                }
                (Ok(_), Err(Error::BadRequest { .. })) => {
                    place(&f.model, apart_from(&[], first, None, 1)).await.unwrap();
                }
                both => panic!("round {round}, {count} replicas: {both:?}"),
            }
        }
        // The plan saw the workload, which is deleted before the rule is written, with a replica and without.
        for count in [0, 2] {
            let put = apart_from(&[first], second, None, count);
            let (refused, plans) = place_while(&f.model, put, async |_, _| {
                delete(changing, &uuid(first), None, Delete::default(), &caller())
                    .await
                    .unwrap();
            })
            .await;
            assert!(matches!(refused, Err(Error::BadRequest { .. })), "{refused:?}");
            assert_eq!(plans, 1);
            place(&f.model, apart_from(&[], first, None, 1)).await.unwrap();
        }
    }
}

/// A workload with an old rule and the workload of the rule, created again, are placed at the same time.
#[actix_web::test]
async fn a_workload_that_is_created_again_and_one_whose_rule_names_it_see_each_other() {
    let f = cluster(&SITES).await;
    let peer = f.start_peer();
    let other = peer.as_ref().map_or(&f.model, |(model, _)| model);
    for round in 0..10 {
        let (first, second) = (FIRST + 2 * round, SECOND + 2 * round);
        place(&f.model, apart_from(&[], first, None, 0)).await.unwrap();
        place(&f.model, apart_from(&[first], second, None, 0)).await.unwrap();
        delete(&f.model, &uuid(first), None, FORCED, &caller()).await.unwrap();
        let (one, two) = tokio::join!(
            place(&f.model, apart_from(&[], first, None, 2)),
            place(other, apart_from(&[first], second, Some(1), 2)),
        );
        let (one, two) = (one.unwrap(), two.unwrap());
        let (hosts, sites) = ((hosts(&one), hosts(&two)), (sites(&one), sites(&two)));
        assert!(sites.0.is_disjoint(&sites.1), "round {round}: on {hosts:?}");
        for n in [second, first] {
            delete(&f.model, &uuid(n), None, Delete::default(), &caller())
                .await
                .unwrap();
        }
    }
}
