//! Workloads are admitted by the sum of normal room, whatever single hosts have.

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
    let asked = |count, amount| Wish {
        roles: vec![role("replica", count, amount)],
        ..wish(0, Some(Vec::new()))
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
