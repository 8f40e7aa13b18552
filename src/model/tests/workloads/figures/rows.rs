//! Rows of the requirements about room, types and the members of an answer: places A7, A9 and A31.

use super::*;
use crate::model::tests::domains::domains_of;

/// Places A7: each of 20 zones has two of 40 replicas. Without a zone the other 19 carry 100/19 percent each.
#[actix_web::test]
async fn found_p20_a7_twenty_zones_with_forty_replicas_have_two_each() {
    let paths: Vec<String> = (0..60).map(|host| format!("fd:/z{:02}", host / 3)).collect();
    let at: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "-")).collect();
    let f = cluster(&at).await;
    let report = place(&f.model, put(WORKLOAD, None, spec(40, None))).await.unwrap();
    assert_eq!(counts(&report, "fault"), [2; 20]);
    assert_eq!((modes(&report), report.spread[0].limit), (vec![MaxDifference], Some(2)));
    let found = domains_of(&f.model, "fault", "").await;
    let zones = found.iter().filter(|it| it.path.starts_with("fd:/"));
    assert_eq!(zones.map(|it| it.loss.siblings).collect::<Vec<_>>(), [20; 20]);
}

/// Places A31: 15 hosts with 1 free have 15 in sum, and no place for 15.
#[actix_web::test]
async fn found_p20_a31_fifteen_hosts_with_one_free_refuse_fifteen_and_say_the_sum() {
    let mut f = fixture();
    for host in 1..=15 {
        f.host(host, 20).await.unwrap();
        let claim = super::super::super::claim(100 + host, host, "VCPU", 19, Expected::New);
        f.model.submit(claim).await.unwrap();
    }
    let asked = Spec {
        roles: vec![role("replica", 1, 15)],
        ..spec(0, None)
    };
    let refusal = no_place(place(&f.model, put(WORKLOAD, None, asked)).await);
    assert_eq!(figures_of(&refusal, ReasonCode::NoPlace), Some((1, 0)));
    assert_eq!(figures_of(&refusal, ReasonCode::NoRoom), Some((15, 1)));
    let details: Vec<&str> = refusal.reasons.kept().iter().map(|it| &*it.detail).collect();
    let sum = "Role replica: 15 hosts have too little room for VCPU: 15 requested, at most 1 free, on host-1. The hosts \
               that the role may use have 15 free in sum.";
    assert!(details.contains(&sum), "{details:?}");
    // One more has no room in sum, and is refused before.
    let asked = Spec {
        roles: vec![role("replica", 1, 16)],
        ..spec(0, None)
    };
    let refused = place(&f.model, put(WORKLOAD, None, asked)).await;
    let figures = (16, 15);
    assert!(matches!(refused, Err(Error::NoCapacity { needed, room, .. }) if (needed, room) == figures));
}

/// Places A9: nine nodes, each of a type of its own.
#[actix_web::test]
async fn found_p20_a9_nine_nodes_of_nine_types() {
    let racks = (1..=9).map(|n| format!("fd:/DC0{}/Rack0{}", (n - 1) / 3 + 1, (n - 1) % 3 + 1));
    let racks: Vec<String> = racks.collect();
    let upgrades = (1..=9).map(|n| format!("UpgradeDomain{}", (n - 1) % 3 + 1));
    let upgrades: Vec<String> = upgrades.collect();
    let mut f = fixture();
    for (host, at) in (1..).zip(racks.iter().zip(&upgrades)) {
        f.host(host, 10).await.unwrap();
        let mut node = description(host, None, (at.0, at.1), ProviderState::Up);
        node.providers[0].description.kind = Some(format!("NodeType0{host}").into());
        f.model.submit(node).await.unwrap();
    }
    let asked = |count, expression: &str| Spec {
        roles: vec![Role {
            query: query(1, expression),
            ..role("replica", count, 1)
        }],
        ..spec(0, None)
    };
    for host in 1..=9 {
        let of_type = format!("NodeType == NodeType0{host}");
        let report = place(&f.model, put(WORKLOAD, None, asked(1, &of_type))).await.unwrap();
        assert_eq!(hosts(&report), [host].into());
        delete(&f.model, &uuid(WORKLOAD), None, Delete::default(), &caller())
            .await
            .unwrap();
        no_place(place(&f.model, put(WORKLOAD, None, asked(2, &of_type))).await);
        // The type is the built-in property ProviderType too, and the other eight types are left.
        let others = format!("ProviderType != NodeType0{host}");
        let report = place(&f.model, put(WORKLOAD, None, asked(8, &others))).await.unwrap();
        assert!(hosts(&report).len() == 8 && !hosts(&report).contains(&host));
        delete(&f.model, &uuid(WORKLOAD), None, Delete::default(), &caller())
            .await
            .unwrap();
    }
    let all = place(&f.model, put(WORKLOAD, None, asked(9, ""))).await.unwrap();
    assert_eq!(modes(&all), [QuorumSafe, QuorumSafe]);
    assert_eq!(
        (counts(&all, "fault"), counts(&all, "upgrade")),
        (vec![3; 3], vec![3; 3])
    );
}

#[actix_web::test]
async fn found_p12_the_counts_of_dimension_host_are_those_of_hosts_with_replicas() {
    let f = cluster(&NINE).await;
    let report = placed(&f, 3, rule(OneEach, &["host"])).await.1;
    let spread = &report.spread[0];
    assert_eq!(
        (spread.dimension.as_str(), spread.domains, spread.limit),
        ("host", 9, Some(1))
    );
    let expected = hosts(&report).into_iter().map(|host| (uuid(host).into(), 1));
    assert_eq!(spread.counts, expected.collect());
}

/// Hosts with racks alone: without rules nothing is spread, and the answer says so.
#[actix_web::test]
async fn found_p10_the_notes_name_dimensions_that_the_default_rule_does_not_use() {
    let f = cluster(&[("-", "-"), ("-", "-")]).await;
    for host in [1, 2] {
        let mut racks = description(host, Some(1), ("-", "-"), ProviderState::Up);
        racks.providers[0].description.domains = [("rack".into(), "/a".into()), ("power".into(), "/b".into())].into();
        f.model.submit(racks).await.unwrap();
    }
    let notes = async |n, rules| {
        let report = place(&f.model, put(WORKLOAD, None, spec(n, rules))).await.unwrap();
        delete(&f.model, &uuid(WORKLOAD), None, Delete::default(), &caller())
            .await
            .unwrap();
        report.notes
    };
    let note = "The default rule is about the dimensions fault and upgrade, and does not use power, rack. Name a \
                dimension in `rules` to spread over it.";
    assert_eq!(notes(2, None).await, [note]);
    assert!(notes(1, None).await.is_empty(), "one replica is not spread");
    assert!(notes(2, Some(Vec::new())).await.is_empty(), "the caller wants no rule");
    assert!(notes(2, rule(Adaptive, &["rack"])).await.is_empty());
    let f = cluster(&NINE).await;
    let report = place(&f.model, put(WORKLOAD, None, spec(2, None))).await.unwrap();
    assert_eq!(report.notes, Vec::<String>::new());
}
