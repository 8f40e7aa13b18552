//! Reshapes: moves of generations, refusals, and refusals without a change.

use super::*;
use crate::error::{Error, Room};
use crate::model::reshaper::{Reshape, Reshaped};

fn to(provider: u32, generation: i64, inventories: &[(&str, i32)]) -> Reshaped {
    let inventories = inventories.iter();
    Reshaped {
        provider: uuid(provider),
        generation: generation.into(),
        inventories: inventories
            .map(|(class, total)| ((*class).to_owned(), inventory(*total)))
            .collect(),
    }
}

impl Fixture {
    async fn reshape(&mut self, providers: Vec<Reshaped>, consumers: Vec<ConsumerClaim>) -> Result<()> {
        let done = self.model.submit(Reshape { providers, consumers }).await;
        self.check_snapshot().await;
        done
    }

    /// Inventories and allocations, with the generations of their providers and consumers: a text for each row.
    fn tables(&mut self) -> Vec<String> {
        let mut rows = self.texts(
            "SELECT name || ' ' || generation || ' ' || COALESCE(CAST(total AS CHAR(9)), '-') AS t FROM resource_providers p \
             LEFT JOIN inventories i ON i.resource_provider_id = p.id ORDER BY p.id, resource_class_id",
        );
        rows.extend(self.texts(
            "SELECT resource_provider_id || ' ' || a.consumer_id || ' ' || resource_class_id || ' ' || used || ' ' || \
             generation AS t FROM allocations a LEFT JOIN consumers c ON c.uuid = a.consumer_id ORDER BY t",
        ));
        rows
    }
}

/// A host whose VCPU two consumers use, and a child without inventories.
async fn world() -> Fixture {
    let mut f = fixture();
    f.host(1, 8).await.unwrap();
    let child = Create {
        uuid: uuid(2),
        name: "child".into(),
        parent: Some(uuid(1)),
    };
    f.model.submit(child).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 2, Expected::New)).await.unwrap();
    f.model.submit(claim(11, 1, "VCPU", 3, Expected::New)).await.unwrap();
    f
}

fn moved_to_the_child() -> Vec<ConsumerClaim> {
    vec![
        consumer_claim(10, vec![(2, "VCPU", 2)], Expected::Is(1)),
        consumer_claim(11, vec![(2, "VCPU", 3)], Expected::Is(1)),
    ]
}

#[actix_web::test]
async fn a_class_moves_to_a_child_with_its_allocations() {
    let mut f = world().await;
    let (host, child) = (f.generation(1), f.generation(2));
    let providers = vec![to(1, host, &[("DISK_GB", 5)]), to(2, child, &[("VCPU", 8)])];
    f.reshape(providers, moved_to_the_child()).await.unwrap();
    assert_eq!((f.used(1), f.used(2)), (0, 5));
    assert_eq!(f.generation(1), host + 2, "interim and final inventories");
    assert_eq!(f.generation(2), child + 3, "and its allocations in between");
    assert_eq!(f.number("SELECT MIN(generation) AS n FROM consumers"), 2);
    assert_eq!(
        f.texts(
            "SELECT resource_provider_id || ' ' || resource_class_id || ' ' || total AS t FROM inventories ORDER BY t"
        ),
        ["1 2 5", "2 0 8"]
    );
}

#[actix_web::test]
async fn the_generation_of_a_provider_that_keeps_no_inventory_moves_once() {
    let mut f = world().await;
    let (host, child) = (f.generation(1), f.generation(2));
    let providers = vec![to(1, host, &[]), to(2, child, &[("VCPU", 8)])];
    f.reshape(providers, moved_to_the_child()).await.unwrap();
    assert_eq!((f.generation(1), f.generation(2)), (host + 1, child + 3));
    f.reshape(vec![to(1, host + 1, &[])], vec![]).await.unwrap();
    assert_eq!(f.generation(1), host + 2, "also if it had none before");
}

#[actix_web::test]
async fn the_generation_of_a_provider_that_only_the_consumers_name_moves_once() {
    let mut f = world().await;
    f.host(3, 4).await.unwrap();
    let (host, child, other) = (f.generation(1), f.generation(2), f.generation(3));
    let consumers = vec![
        consumer_claim(10, vec![], Expected::Is(1)),
        consumer_claim(12, vec![(3, "VCPU", 4)], Expected::New),
    ];
    f.reshape(vec![to(2, child, &[("VCPU", 8)])], consumers).await.unwrap();
    assert_eq!(
        (f.generation(1), f.generation(2), f.generation(3)),
        (host + 1, child + 2, other + 1)
    );
    assert_eq!((f.used(1), f.used(3)), (3, 4));
    assert_eq!(f.number("SELECT COUNT(*) AS n FROM consumers"), 2);
}

#[actix_web::test]
async fn a_refusal_at_any_step_changes_nothing() {
    let mut f = world().await;
    let (host, child) = (f.generation(1), f.generation(2));
    let before = f.tables();
    let emptied = || vec![to(1, host, &[]), to(2, child, &[("VCPU", 8)])];
    let cases: Vec<(&str, Vec<Reshaped>, Vec<ConsumerClaim>, Error)> = vec![
        (
            "an unknown provider",
            vec![to(2, child, &[("VCPU", 8)]), to(9, 0, &[])],
            vec![],
            Error::ProviderNotFoundForReshape { uuid: uuid(9) },
        ),
        (
            "an old generation",
            vec![to(2, child, &[("VCPU", 8)]), to(1, host - 1, &[])],
            vec![],
            Error::StaleReshapeGeneration {
                provider: uuid(1),
                actual: host,
                given: (host - 1).to_string(),
            },
        ),
        (
            "a consumer that is there",
            emptied(),
            vec![consumer_claim(10, vec![(2, "VCPU", 2)], Expected::New)],
            Error::StaleConsumerGeneration {
                expected: "1".into(),
                got: "None".into(),
            },
        ),
        (
            "an unknown class",
            vec![to(2, child, &[("CUSTOM_NO", 8)])],
            vec![],
            Error::ReshapeClassNotFound {
                class: "CUSTOM_NO".into(),
            },
        ),
        (
            "too little room at the new provider",
            vec![to(1, host, &[]), to(2, child, &[("VCPU", 4)])],
            moved_to_the_child(),
            Error::CapacityExceeded {
                class: "VCPU".into(),
                provider: uuid(2),
                room: Room::default(),
            },
        ),
        (
            "an inventory that a consumer keeps using",
            emptied(),
            moved_to_the_child()[..1].to_vec(),
            Error::InventoriesInUse {
                classes: "VCPU".into(),
                provider: uuid(1),
            },
        ),
        (
            "an inventory that a claim of the same request uses",
            emptied(),
            [
                moved_to_the_child(),
                vec![consumer_claim(12, vec![(1, "VCPU", 1)], Expected::New)],
            ]
            .concat(),
            Error::InventoriesInUse {
                classes: "VCPU".into(),
                provider: uuid(1),
            },
        ),
    ];
    for (about, providers, consumers, refusal) in cases {
        assert_eq!(f.reshape(providers, consumers).await, Err(refusal), "{about}");
        assert_eq!(f.tables(), before, "{about}");
    }
}

#[actix_web::test]
async fn an_interim_inventory_gives_room_that_the_final_one_keeps() {
    let mut f = world().await;
    let host = f.generation(1);
    // The final inventory has capacity for exactly the claimed amount.
    let shrunk = vec![to(1, host, &[("VCPU", 1)])];
    let consumers = vec![
        consumer_claim(10, vec![(1, "VCPU", 1)], Expected::Is(1)),
        consumer_claim(11, vec![], Expected::Is(1)),
    ];
    f.reshape(shrunk, consumers).await.unwrap();
    assert_eq!((f.used(1), f.generation(1)), (1, host + 3));
}
