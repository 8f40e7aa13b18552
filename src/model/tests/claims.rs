//! Claims: capacity, units, generations, and the rows of their consumers.

use super::*;
use crate::error::{Error, Room};
use crate::model::allocations::Release;

#[actix_web::test]
async fn a_claim_takes_room_and_moves_generations() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    let before = f.generation(1);
    f.model.submit(claim(10, 1, "VCPU", 3, Expected::New)).await.unwrap();
    assert_eq!((f.used(1), f.generation(1)), (3, before + 1));
    assert_eq!(
        f.number("SELECT generation AS n FROM consumers"),
        1,
        "a new consumer begins at 1"
    );
    let refused = f
        .model
        .submit(claim(11, 1, "VCPU", 2, Expected::New))
        .await
        .unwrap_err();
    assert_eq!(
        refused,
        Error::CapacityExceeded {
            class: "VCPU".into(),
            provider: uuid(1),
            room: Room::default(),
        }
    );
    assert_eq!(
        f.number("SELECT COUNT(*) AS n FROM consumers"),
        1,
        "a refused claim leaves no trace"
    );
    assert_eq!(f.generation(1), before + 1);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_consumers_generation_guards_its_claims() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 1, Expected::New)).await.unwrap();
    let again = f
        .model
        .submit(claim(10, 1, "VCPU", 1, Expected::New))
        .await
        .unwrap_err();
    assert_eq!(
        again,
        Error::StaleConsumerGeneration {
            expected: "1".into(),
            got: "None".into()
        }
    );
    let unknown = f
        .model
        .submit(claim(12, 1, "VCPU", 1, Expected::Is(3)))
        .await
        .unwrap_err();
    assert_eq!(
        unknown,
        Error::StaleConsumerGeneration {
            expected: "null".into(),
            got: "3".into()
        }
    );
    f.model.submit(claim(10, 1, "VCPU", 2, Expected::Is(1))).await.unwrap();
    assert_eq!(f.number("SELECT generation AS n FROM consumers"), 2);
    assert_eq!(f.used(1), 2);
}

#[actix_web::test]
async fn a_wipe_moves_the_providers_generation_and_a_release_does_not() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 1, Expected::New)).await.unwrap();
    let before = f.generation(1);
    f.model
        .submit(claim_of(vec![consumer_claim(10, vec![], Expected::Is(1))]))
        .await
        .unwrap();
    assert_eq!((f.generation(1), f.used(1)), (before + 1, 0));
    assert_eq!(
        f.number("SELECT COUNT(*) AS n FROM consumers"),
        0,
        "a consumer without allocations is deleted"
    );
    f.model.submit(claim(10, 1, "VCPU", 1, Expected::New)).await.unwrap();
    f.model.submit(Release { consumer: uuid(10) }).await.unwrap();
    assert_eq!((f.generation(1), f.used(1)), (before + 2, 0));
    let gone = f.model.submit(Release { consumer: uuid(10) }).await.unwrap_err();
    assert_eq!(gone, Error::NoAllocations { consumer: uuid(10) });
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_wipe_of_an_unknown_consumer_leaves_no_row() {
    let mut f = fixture();
    f.model
        .submit(claim_of(vec![consumer_claim(10, vec![], Expected::New)]))
        .await
        .unwrap();
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM consumers"), 0);
    f.host(1, 1).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 1, Expected::New)).await.unwrap();
}

#[actix_web::test]
async fn two_consumers_swap_full_hosts_in_one_request() {
    let mut f = fixture();
    f.host(1, 2).await.unwrap();
    f.host(2, 2).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 2, Expected::New)).await.unwrap();
    f.model.submit(claim(11, 2, "VCPU", 2, Expected::New)).await.unwrap();
    let swap = claim_of(vec![
        consumer_claim(10, vec![(2, "VCPU", 2)], Expected::Is(1)),
        consumer_claim(11, vec![(1, "VCPU", 2)], Expected::Is(1)),
    ]);
    f.model.submit(swap).await.unwrap();
    assert_eq!((f.used(1), f.used(2)), (2, 2));
    let half = claim_of(vec![
        consumer_claim(10, vec![(1, "VCPU", 1)], Expected::Is(2)),
        consumer_claim(12, vec![(2, "VCPU", 1)], Expected::New),
    ]);
    assert!(
        matches!(f.model.submit(half).await, Err(Error::CapacityExceeded { .. })),
        "all or nothing"
    );
    assert_eq!((f.used(1), f.used(2)), (2, 2));
    f.check_snapshot().await;
}

#[actix_web::test]
async fn an_overcommitment_may_shrink_but_not_grow() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 8, Expected::New)).await.unwrap();
    f.execute("UPDATE inventories SET total = 4");
    f.execute("UPDATE resource_providers SET generation = generation + 1");
    assert!(f.model.submit(claim(10, 1, "VCPU", 9, Expected::Is(1))).await.is_err());
    f.model.submit(claim(10, 1, "VCPU", 7, Expected::Is(1))).await.unwrap();
    assert_eq!(f.used(1), 7);
}

#[actix_web::test]
async fn units_are_checked_and_min_unit_need_not_be_a_multiple_of_the_step() {
    let mut f = fixture();
    f.host(1, 100).await.unwrap();
    f.execute("UPDATE inventories SET min_unit = 5, step_size = 10, max_unit = 50");
    f.execute("UPDATE resource_providers SET generation = generation + 1");
    for (n, amount, granted) in [
        (10, 5, true),
        (11, 10, true),
        (12, 7, false),
        (13, 15, false),
        (14, 4, false),
        (15, 60, false),
    ] {
        let result = f.model.submit(claim(n, 1, "VCPU", amount, Expected::New)).await;
        assert_eq!(result.is_ok(), granted, "{amount}: {result:?}");
    }
}

#[actix_web::test]
async fn an_unknown_provider_class_or_inventory_is_refused_in_upstreams_order() {
    let mut f = fixture();
    f.host(1, 100).await.unwrap();
    let refused = f
        .model
        .submit(claim(10, 9, "CUSTOM_NO", 1, Expected::New))
        .await
        .unwrap_err();
    assert_eq!(refused, Error::ClaimProviderNotFound { uuid: uuid(9) });
    let refused = f
        .model
        .submit(claim(10, 1, "CUSTOM_NO", 1, Expected::New))
        .await
        .unwrap_err();
    assert_eq!(
        refused,
        Error::ClaimClassNotFound {
            context: String::new(),
            class: "CUSTOM_NO".into()
        }
    );
    let refused = f
        .model
        .submit(claim(10, 1, "DISK_GB", 1, Expected::New))
        .await
        .unwrap_err();
    assert_eq!(
        refused,
        Error::ClaimWithoutInventory {
            class: "DISK_GB".into(),
            provider: uuid(1)
        }
    );
}

#[actix_web::test]
async fn a_refusal_names_the_classes_of_wiped_allocations_too() {
    let mut f = fixture();
    f.host(1, 4).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 1, Expected::New)).await.unwrap();
    let create = Create {
        uuid: uuid(2),
        name: "empty".into(),
        parent: None,
    };
    f.model.submit(create).await.unwrap();
    let both = vec![
        consumer_claim(10, vec![], Expected::Is(1)),
        consumer_claim(11, vec![(2, "DISK_GB", 1)], Expected::New),
    ];
    let refused = f.model.submit(claim_of(both)).await.unwrap_err();
    assert_eq!(
        refused,
        Error::ClaimWithoutInventory {
            class: "VCPU, DISK_GB".into(),
            provider: uuid(2)
        }
    );
}
