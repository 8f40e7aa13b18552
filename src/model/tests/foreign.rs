//! A foreign writer on the same tables, which raises a provider's generation with every increase, and leaves no deltas.

use std::time::{Duration, Instant};

use super::process::Process;
use super::*;
use crate::db::writer::Batch;
use crate::error::{Error, Room};
use crate::model::allocations::Release;
use crate::model::batch::command::Write;
use crate::model::resource_classes;
use crate::search::ClassId;

/// Writes the rows of a claim granted by OpenStack Placement.
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

/// Creates a host with one VCPU, as OpenStack Placement does.
pub fn foreign_host(f: &mut Fixture, host: u32) {
    f.execute(&format!(
        "INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id) VALUES (90, '{}', 'x', 1, 90)",
        uuid(host)
    ));
    f.execute(
        "INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, \
         step_size, allocation_ratio) VALUES (90, 0, 1, 0, 1, 1, 1, 1.0)",
    );
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
            provider: uuid(1),
            room: Room::default(),
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
    // A release moves no generation, so the snapshot does not show the release. No refusal may rest on the snapshot.
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

/// On SQLite the id of the newest provider is used again. So id, uuid and generation may all be unchanged.
#[actix_web::test]
async fn a_provider_that_a_foreign_writer_made_again_is_not_taken_for_the_old_one() {
    let mut f = fixture();
    if Kind::of(&f.conn) != Kind::Sqlite {
        return;
    }
    f.host(1, 8).await.unwrap();
    let id = f.number("SELECT id AS n FROM resource_providers");
    f.execute("DELETE FROM inventories");
    f.execute("DELETE FROM resource_providers");
    f.execute(&format!(
        "INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id) \
         VALUES ({id}, '{}', 'again', -1, {id})",
        uuid(1)
    ));
    f.execute(&format!(
        "INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, \
         step_size, allocation_ratio) VALUES ({id}, 0, 4, 0, 1, 100, 1, 1.0)"
    ));
    foreign_claim(&mut f, 20, 1, 2);
    foreign_claim(&mut f, 21, 1, 2);
    assert_eq!(f.generation(1), 1, "the same generation as before");
    let refused = f.model.submit(claim(10, 1, "VCPU", 8, Expected::New)).await;
    assert!(matches!(refused, Err(Error::CapacityExceeded { .. })), "{refused:?}");
    assert_eq!(f.used(1), 4);
    // Everything is read again in the background. The bound is far longer than a reload.
    let deadline = Instant::now() + Duration::from_secs(600);
    let shown = |snapshot: &Snapshot| snapshot.by_uuid(&uuid(1)).map(|slot| snapshot.used(slot, ClassId(0)));
    while shown(&f.model.snapshot().await.unwrap()) != Some(4) {
        assert!(Instant::now() < deadline, "the snapshot was not reloaded");
        std::thread::sleep(Duration::from_millis(5));
    }
    f.check_snapshot().await;
}

#[actix_web::test]
async fn commits_and_checkpoints_of_placet_are_not_foreign() {
    let f = fixture();
    if Kind::of(&f.conn) != Kind::Sqlite {
        return;
    }
    let (_kept, database) = TestDatabase::synced();
    let mut process = Process::start(&database, true);
    for mode in ["PASSIVE", "RESTART"] {
        let create = Create {
            uuid: uuid(1),
            name: mode.to_owned(),
            parent: None,
        };
        drop(process.write(&[&create.into_command()]));
        let mut other = database.connect().unwrap();
        diesel::sql_query(format!("PRAGMA wal_checkpoint({mode})"))
            .execute(&mut other)
            .unwrap();
        process.decider.follow(&mut process.conn).unwrap();
        assert!(process.store.may_decide(), "{mode}");
    }
    diesel::sql_query("DELETE FROM traits WHERE name = 'CUSTOM_NONE'")
        .execute(&mut database.connect().unwrap())
        .unwrap();
    process.decider.follow(&mut process.conn).unwrap();
    assert!(process.store.may_decide(), "nothing was written");
    let reloads = process.store.stamp().reloads;
    diesel::sql_query("INSERT INTO traits (name) VALUES ('CUSTOM_FOREIGN')")
        .execute(&mut database.connect().unwrap())
        .unwrap();
    process.decider.follow(&mut process.conn).unwrap();
    // The follower may have reloaded everything by now.
    assert!(!process.store.may_decide() || process.store.stamp().reloads > reloads);
    process.store.reload_everything(&mut process.conn).unwrap();
    assert!(process.store.may_decide());
    process.check();
}

/// The tables of projects and users grow for ever, so an operator may delete rows without a consumer.
#[actix_web::test]
async fn a_deleted_project_is_made_again() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    // The first claim inserts the project, the next claims find the project's id.
    for consumer in 10..13 {
        f.model
            .submit(claim(consumer, 1, "VCPU", 1, Expected::New))
            .await
            .unwrap();
        let consumer = uuid(consumer);
        f.model.submit(Release { consumer }).await.unwrap();
    }
    f.execute("DELETE FROM projects");
    f.execute("DELETE FROM users");
    f.model.submit(claim(13, 1, "VCPU", 1, Expected::New)).await.unwrap();
    let owned =
        "SELECT COUNT(*) AS n FROM consumers c JOIN projects p ON p.id = c.project_id JOIN users u ON u.id = c.user_id";
    assert_eq!(f.number(owned), 1);
}

/// The ids of projects, users and consumer types may be used again for new names.
#[actix_web::test]
async fn a_consumer_belongs_to_the_named_owner_after_a_foreign_writer_gave_the_ids_to_others() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    let claim_for = |consumer: u32| {
        let mut claim = claim(consumer, 1, "VCPU", 1, Expected::New);
        claim.consumers[0].consumer_type = Some("KIND".to_owned());
        claim
    };
    // The first claim inserts the names, the second finds their ids.
    for consumer in [10, 11] {
        f.model.submit(claim_for(consumer)).await.unwrap();
    }
    for consumer in [10, 11] {
        let consumer = uuid(consumer);
        f.model.submit(Release { consumer }).await.unwrap();
    }
    f.execute("UPDATE projects SET external_id = 'other-project'");
    f.execute("UPDATE users SET external_id = 'other-user'");
    f.execute("UPDATE consumer_types SET name = 'OTHER_KIND'");
    for consumer in [12, 13, 14] {
        f.model.submit(claim_for(consumer)).await.unwrap();
    }
    let owned = "SELECT COUNT(*) AS n FROM consumers c JOIN projects p ON p.id = c.project_id \
                 JOIN users u ON u.id = c.user_id JOIN consumer_types t ON t.id = c.consumer_type_id \
                 WHERE p.external_id = 'p' AND u.external_id = 'u' AND t.name = 'KIND'";
    assert_eq!(f.number(owned), 3);
}

/// A host with an inventory of `CUSTOM_A`, whose id a foreign writer gives to `CUSTOM_B` later. Consumer 10 exists.
async fn fixture_with_renamed_class() -> Fixture {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    let name = "CUSTOM_A".to_owned();
    f.model.submit(resource_classes::Ensure { name }).await.unwrap();
    f.model.submit(adding(1, "CUSTOM_A", 10)).await.unwrap();
    f.model
        .submit(claim(10, 1, "CUSTOM_A", 1, Expected::New))
        .await
        .unwrap();
    assert_eq!(
        f.execute("UPDATE resource_classes SET name = 'CUSTOM_B' WHERE name = 'CUSTOM_A'"),
        1
    );
    f
}

fn is_unknown_class<T: std::fmt::Debug>(answer: &Result<T>) -> bool {
    matches!(answer, Err(Error::ClaimClassNotFound { class, .. }) if class == "CUSTOM_A")
}

#[actix_web::test]
async fn a_new_consumer_gets_nothing_of_a_class_that_a_foreign_writer_renamed() {
    let mut f = fixture_with_renamed_class().await;
    for consumer in [11, 12] {
        let refused = f.model.submit(claim(consumer, 1, "CUSTOM_A", 1, Expected::New)).await;
        assert!(is_unknown_class(&refused), "{refused:?}");
    }
    assert_eq!(f.used(1), 1);
    f.model
        .submit(claim(13, 1, "CUSTOM_B", 1, Expected::New))
        .await
        .unwrap();
    assert_eq!(f.used(1), 2);
}

#[actix_web::test]
async fn an_existing_consumer_gets_nothing_of_a_class_that_a_foreign_writer_renamed() {
    let mut f = fixture_with_renamed_class().await;
    let refused = f.model.submit(claim(10, 1, "CUSTOM_A", 2, Expected::Is(1))).await;
    assert!(is_unknown_class(&refused), "{refused:?}");
    f.model
        .submit(claim(10, 1, "CUSTOM_B", 2, Expected::Is(1)))
        .await
        .unwrap();
    assert_eq!(f.used(1), 2);
}

/// The steps by which a second class gets the id of a first. The inventory is removed, the first class is deleted, and
/// the next new class has the highest id again. Generations move as they must.
#[actix_web::test]
async fn a_deleted_class_is_not_written_as_the_class_that_has_its_id() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    let name = "CUSTOM_A".to_owned();
    f.model.submit(resource_classes::Ensure { name }).await.unwrap();
    f.model.submit(adding(1, "CUSTOM_A", 10)).await.unwrap();
    let id = f.number("SELECT id AS n FROM resource_classes WHERE name = 'CUSTOM_A'");
    for sql in [
        format!("DELETE FROM inventories WHERE resource_class_id = {id}"),
        "DELETE FROM resource_classes WHERE name = 'CUSTOM_A'".to_owned(),
        format!("INSERT INTO resource_classes (id, name) VALUES ({id}, 'CUSTOM_B')"),
        format!(
            "INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, \
             step_size, allocation_ratio) SELECT id, {id}, 10, 0, 1, 10, 1, 1.0 FROM resource_providers"
        ),
        "UPDATE resource_providers SET generation = generation + 2".to_owned(),
    ] {
        assert_eq!(f.execute(&sql), 1, "{sql}");
    }
    let refused = f.model.submit(claim(11, 1, "CUSTOM_A", 2, Expected::New)).await;
    assert!(is_unknown_class(&refused), "{refused:?}");
    assert_eq!(f.used(1), 0);
}
