//! Workloads are admitted by the sum of normal room, whatever single hosts have: E25 and E29 of Service Fabric's
//! documentation.

use super::*;

#[actix_web::test]
async fn normal_room_is_admitted_in_sum_and_used_first() {
    let f = cluster(&SITES[..3]).await;
    let set = crate::model::limits::Set {
        class: "VCPU".to_owned(),
        generation: None,
        normal: Some("0.2".parse().unwrap()),
    };
    f.model.submit(set).await.unwrap();
    for (consumer, host, used) in [(1, 1, 6), (2, 2, 7), (3, 3, 7)] {
        f.model
            .submit(super::super::claim(consumer, host, "VCPU", used, Expected::New))
            .await
            .unwrap();
    }
    let asked = |count, amount| Spec {
        roles: vec![role("replica", count, amount)],
        ..spec(0, Some(Vec::new()))
    };
    // 2 + 1 + 1 within the normal limits of 8.
    let refused = place(&f.model, put(WORKLOAD, None, asked(3, 2))).await.unwrap_err();
    let Error::NoCapacity { class, needed, room } = &refused else {
        panic!("{refused:?}")
    };
    assert_eq!((class.as_str(), *needed, *room), ("VCPU", 6, 4));
    let report = place(&f.model, put(WORKLOAD, None, asked(2, 2))).await.unwrap();
    let over: Vec<bool> = report.replicas.iter().map(|it| it.over_normal == ["VCPU"]).collect();
    assert!(
        hosts(&report).contains(&1),
        "the host with normal room is used: {:?}",
        hosts(&report)
    );
    assert_eq!(over.iter().filter(|over| **over).count(), 1);
}

#[actix_web::test]
async fn e25_the_sum_of_room_is_asked_first() {
    let mut f = fixture();
    for (host, total) in [(1, 5), (2, 5), (3, 4)] {
        f.host(host, total).await.unwrap();
    }
    let asked = Spec {
        roles: vec![role("replica", 3, 5)],
        ..spec(0, None)
    };
    let refused = place(&f.model, put(WORKLOAD, None, asked)).await.unwrap_err();
    let reasons = refused.reasons().expect("the reason with its figures");
    let [reason] = reasons.kept() else {
        panic!("{reasons:?}")
    };
    assert_eq!(reason.code.name(), "placet.no_capacity");
    assert_eq!(reason.resource_class.as_deref(), Some("VCPU"));
    assert_eq!((reason.requested, reason.free), (Some(15), Some(14)));
}

#[actix_web::test]
async fn e29_the_sum_of_normal_room_admits_and_single_hosts_go_over() {
    for (n, over) in [(1, Some(1)), (2, Some(2)), (3, None)] {
        let mut f = fixture();
        for host in 1..=3 {
            f.host(host, 100).await.unwrap();
            let claim = super::super::claim(host, host, "VCPU", 70, Expected::New);
            f.model.submit(claim).await.unwrap();
        }
        let set = crate::model::limits::Set {
            class: "VCPU".to_owned(),
            generation: None,
            normal: Some("0.2".parse().unwrap()),
        };
        f.model.submit(set).await.unwrap();
        let asked = Spec {
            roles: vec![role("replica", n, 15)],
            ..spec(0, None)
        };
        let answer = place(&f.model, put(WORKLOAD, None, asked)).await;
        match over {
            Some(over) => {
                let report = answer.unwrap();
                assert_eq!(
                    report.replicas.iter().filter(|it| it.over_normal == ["VCPU"]).count(),
                    over,
                    "n={n}"
                );
            }
            None => assert!(
                matches!(
                    answer,
                    Err(Error::NoCapacity {
                        needed: 45,
                        room: 30,
                        ..
                    })
                ),
                "n={n}"
            ),
        }
    }
}

#[actix_web::test]
async fn hostile_16_a_refusal_for_lack_of_room_says_free_if_there_is_no_normal_limit() {
    let mut f = fixture();
    f.host(1, 8).await.unwrap();
    let asked = Spec {
        roles: vec![role("replica", 3, 4)],
        ..spec(0, Some(Vec::new()))
    };
    let refused = place(&f.model, put(WORKLOAD, None, asked)).await.unwrap_err();
    let sentence = refused.to_string();
    assert!(
        sentence.contains("have 8 of VCPU free, all together and as far as a normal limit allows"),
        "{sentence}"
    );
}
