//! Workloads that do not fit: refused as a whole or placed in part, with the reasons.

use super::*;

#[actix_web::test]
async fn what_does_not_fit_is_refused_as_a_whole_or_waits() {
    let mut f = cluster(&SITES[..2]).await;
    let refusal = no_place(place(&f.model, put(WORKLOAD, None, wish(3, Some(Vec::new())))).await);
    assert_eq!(refusal.missing, 3);
    assert_eq!(figures_of(&refusal, ReasonCode::NoPlace), Some((3, 2)));
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM allocations"), 0);
    let mut some = put(WORKLOAD, None, wish(3, Some(Vec::new())));
    some.is_atomic = false;
    let report = place(&f.model, some).await.unwrap();
    assert_eq!(places(&report).iter().filter(|(_, host)| host.is_none()).count(), 1);
    assert!(report.reasons.has(ReasonCode::NoPlace));
    // Room comes, and the next request finds it.
    f.host(3, 10).await.unwrap();
    let report = place(&f.model, put(WORKLOAD, Some(1), wish(3, Some(Vec::new()))))
        .await
        .unwrap();
    assert_eq!(hosts(&report), [1, 2, 3].into());
    assert!(report.reasons.is_empty());
}

#[actix_web::test]
async fn a_refusal_counts_the_hosts_that_each_condition_removed() {
    let mut f = cluster(&SITES).await;
    describe(&f.model, 1, Some(1), SITES[0], ProviderState::Draining).await;
    f.model
        .submit(super::super::claim(1, 2, "VCPU", 10, Expected::New))
        .await
        .unwrap();
    let mut asked = wish(5, Some(Vec::new()));
    asked.roles[0].query = query(1, "Number != 6");
    let refusal = no_place(place(&f.model, put(WORKLOAD, None, asked)).await);
    let counts: Vec<_> = refusal.reasons.counts().collect();
    let count = |code| counts.iter().find(|(it, _)| *it == code).map(|(_, count)| *count);
    // Hosts 1 and 6 are not what is asked for, host 2 is full; 3, 4, 5 are left.
    assert_eq!(count(ReasonCode::NoCandidate), Some(2), "{counts:?}");
    assert_eq!(count(ReasonCode::State), Some(1));
    assert_eq!(count(ReasonCode::Condition), Some(1));
    assert_eq!(figures_of(&refusal, ReasonCode::NoPlace), Some((5, 3)));
    assert!(count(ReasonCode::NoRoom).is_some());
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_rule_about_a_dimension_that_no_host_has_is_refused_and_those_that_exist_are_named() {
    let f = cluster(&SITES).await;
    place(&f.model, put(WORKLOAD, None, wish(1, None))).await.unwrap();
    let near = NearRule {
        level: Level::Hard,
        kind: NearKind::Apart,
        workload: uuid(WORKLOAD),
        dimension: "falt".to_owned(),
    };
    for (rule, member) in [
        (spread(Mode::OneEach, &["fault", "falt"]), "dimensions"),
        (WishRule::Near(near), "dimension"),
    ] {
        let rules = vec![spread(Mode::OneEach, &["host"]), rule];
        let refused = place(&f.model, put(WORKLOAD + 1, None, wish(2, Some(rules)))).await;
        let Err(Error::BadRequest { detail }) = refused else {
            panic!("{refused:?}");
        };
        let expected =
            format!("rules[1].{member}: no host has a domain in 'falt'. Dimensions are fault, upgrade, host.");
        assert_eq!(detail, expected);
    }
}
