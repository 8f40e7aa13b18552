//! A foreign writer on the same tables. It raises a provider's generation with every increase, and leaves no deltas.

use super::*;
use crate::error::Error;

/// Writes what OpenStack Placement writes when it grants a claim.
pub fn foreign_claim(f: &mut Fixture, consumer: u32, provider: u32, used: i64) {
    let (consumer, provider) = (uuid(consumer), uuid(provider));
    f.execute("INSERT INTO projects (external_id) SELECT 'f' WHERE NOT EXISTS (SELECT 1 FROM projects WHERE external_id = 'f')");
    f.execute(
        "INSERT INTO users (external_id) SELECT 'f' WHERE NOT EXISTS (SELECT 1 FROM users WHERE external_id = 'f')",
    );
    f.execute(&format!(
        "INSERT INTO consumers (uuid, project_id, user_id, generation) SELECT '{consumer}', p.id, u.id, 1 \
         FROM projects p, users u WHERE p.external_id = 'f' AND u.external_id = 'f'"
    ));
    f.execute(&format!(
        "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) \
         SELECT id, '{consumer}', 0, {used} FROM resource_providers WHERE uuid = '{provider}'"
    ));
    f.execute(&format!(
        "UPDATE resource_providers SET generation = generation + 1 WHERE uuid = '{provider}'"
    ));
}

#[actix_web::test]
async fn room_that_a_foreign_claim_took_is_not_granted_again() {
    let mut f = fixture();
    f.host(1, 3).await.unwrap();
    foreign_claim(&mut f, 20, 1, 2);
    let refused = f
        .model
        .submit(claim(10, 1, "VCPU", 2, Expected::New))
        .await
        .unwrap_err();
    assert_eq!(
        refused,
        Error::CapacityExceeded {
            class: "VCPU".into(),
            provider: uuid(1)
        }
    );
    f.model.submit(claim(10, 1, "VCPU", 1, Expected::New)).await.unwrap();
    assert_eq!(f.used(1), 3);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn room_that_a_foreign_writer_released_is_found() {
    let mut f = fixture();
    f.host(1, 3).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 3, Expected::New)).await.unwrap();
    // A release moves no generation. So the snapshot does not show it, and a refusal must not rest on the snapshot.
    f.execute("DELETE FROM allocations");
    f.execute("DELETE FROM consumers");
    f.model.submit(claim(11, 1, "VCPU", 3, Expected::New)).await.unwrap();
    assert_eq!(f.used(1), 3);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn providers_and_classes_of_a_foreign_writer_are_found() {
    let mut f = fixture();
    f.execute("INSERT INTO resource_classes (id, name) VALUES (10000, 'CUSTOM_X')");
    f.execute(&format!(
        "INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id) VALUES (7, '{}', 'x', 0, 7)",
        uuid(1)
    ));
    f.execute(
        "INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, \
         step_size, allocation_ratio) VALUES (7, 10000, 5, 0, 1, 5, 1, 1.0)",
    );
    f.model
        .submit(claim(10, 1, "CUSTOM_X", 5, Expected::New))
        .await
        .unwrap();
    assert_eq!(f.used(1), 5);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_restored_database_is_reloaded() {
    let mut f = fixture();
    f.host(1, 3).await.unwrap();
    f.host(2, 3).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 3, Expected::New)).await.unwrap();
    // As after a restored backup: later claims are gone, and so are the rows of the change feed.
    for sql in [
        "DELETE FROM allocations",
        "DELETE FROM consumers",
        "DELETE FROM inventories WHERE resource_provider_id = 2",
        "UPDATE resource_providers SET root_provider_id = NULL WHERE id = 2",
        "DELETE FROM resource_providers WHERE id = 2",
        "UPDATE resource_providers SET generation = 1",
        "DELETE FROM placet_changes",
        "DELETE FROM placet_writers",
    ] {
        f.execute(sql);
    }
    f.model.submit(claim(11, 1, "VCPU", 1, Expected::New)).await.unwrap();
    f.check_snapshot().await;
    f.model.submit(claim(12, 1, "VCPU", 2, Expected::New)).await.unwrap();
    assert_eq!((f.used(1), f.generation(1)), (3, 3));
    f.check_snapshot().await;
}
