//! Workloads whose replicas are all in one domain.

use super::*;
use crate::model::workloads::WithinRule;

fn within(level: Level, dimension: &str) -> SpecRule {
    SpecRule::Within(WithinRule {
        level,
        dimension: dimension.to_owned(),
    })
}

#[actix_web::test]
async fn found_p14_growing_beyond_the_domain_is_refused_with_its_name() {
    let mut f = cluster(&SITES).await;
    let rules = Some(vec![within(Level::Hard, "fault"), spread(Mode::OneEach, &["upgrade"])]);
    let report = place(&f.model, put(WORKLOAD, None, spec(2, rules.clone())))
        .await
        .unwrap();
    let both = hosts(&report);
    assert!([[1, 2], [3, 4], [5, 6]].map(BTreeSet::from).contains(&both), "{both:?}");
    assert_eq!(report.violations.len(), 0);
    let refusal = no_place(place(&f.model, put(WORKLOAD, Some(1), spec(3, rules))).await);
    let mut reasons = refusal.reasons.kept().iter();
    let reason = reasons.find(|reason| reason.code == ReasonCode::Within).unwrap();
    let domain = reason.domain.clone().unwrap();
    assert_eq!(
        (reason.rule, reason.requested, reason.free),
        (Some(0), Some(1), Some(0))
    );
    assert_eq!(
        reason.detail,
        format!("2 replicas are in {domain}, and all others have to be there, too: 0 of 1 missing replicas.")
    );
    assert_eq!(
        refusal.reasons.counts().find(|(code, _)| *code == ReasonCode::Within),
        Some((ReasonCode::Within, 4))
    );
    f.check_snapshot().await;
}

#[actix_web::test]
async fn found_p14_a_host_keeps_the_domain_that_holds_all_replicas() {
    let f = cluster(&SITES).await;
    let rules = Some(vec![within(Level::Hard, "fault")]);
    let report = place(&f.model, put(WORKLOAD, None, spec(2, rules.clone())))
        .await
        .unwrap();
    let host = *hosts(&report).first().unwrap();
    let other = description(host, Some(1), ("fd:/z", "1"), ProviderState::Up);
    let refused = f.model.submit(other.clone()).await.unwrap_err();
    assert!(matches!(refused, Error::DomainInUse { .. }), "{refused:?}");
    let forced = DescribeAll {
        is_forced: true,
        ..other
    };
    f.model.submit(forced).await.unwrap();
    let found = place(&f.model, put(WORKLOAD, Some(1), spec(2, rules))).await.unwrap();
    let [violation] = &found.violations[..] else {
        panic!("{found:?}")
    };
    assert_eq!(
        (violation.reason.code, violation.level),
        (ReasonCode::Within, Level::Hard)
    );
    assert_eq!(violation.replicas.len(), 1);
}

#[actix_web::test]
async fn found_p14_within_a_host_all_replicas_share_the_host() {
    let f = cluster(&SITES).await;
    let rules = Some(vec![within(Level::Hard, "host")]);
    let report = place(&f.model, put(WORKLOAD, None, spec(10, rules.clone())))
        .await
        .unwrap();
    assert_eq!(hosts(&report).len(), 1);
    let refusal = no_place(place(&f.model, put(WORKLOAD, Some(1), spec(11, rules))).await);
    let mut reasons = refusal.reasons.kept().iter();
    let reason = reasons.find(|reason| reason.code == ReasonCode::Within).unwrap();
    assert_eq!(reason.resource_provider.as_deref(), report.replicas[0].host());
}
