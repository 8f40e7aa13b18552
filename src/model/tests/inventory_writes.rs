//! Inventories written by this process: the snapshot shows the inventories without a read, exactly as in the tables.

use actix_web::rt;

use super::*;
use crate::error::Error;
use crate::model::batch::command::Write;
use crate::model::inventories::{Clear, Update};
use crate::model::resource_classes::Ensure;

/// Replaces the inventories of provider 1. Returns the number of statements.
async fn replace(f: &mut Fixture, inventories: &[(&str, Inventory)]) -> u64 {
    let before = f.model.statements();
    let generation = f.generation(1);
    f.model.submit(replacing(generation, inventories)).await.unwrap();
    // The test itself sent one statement, for the generation.
    f.model.statements() - before - 1
}

#[actix_web::test]
async fn written_inventories_are_shown_as_the_tables_hold_them() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    f.model.submit(claim(7, 1, "VCPU", 3, Expected::New)).await.unwrap();
    // One ratio has more digits than MariaDB stores.
    for allocation_ratio in [1.0, 0.9, 1.1, 1.123_456_789, 16.0] {
        let other = Inventory {
            allocation_ratio,
            ..inventory(20)
        };
        replace(&mut f, &[("VCPU", other), ("DISK_GB", inventory(5))]).await;
        f.check_snapshot().await;
        replace(&mut f, &[("VCPU", other)]).await;
        f.check_snapshot().await;
    }
    f.model.submit(claim(8, 1, "VCPU", 3, Expected::New)).await.unwrap();
    f.check_snapshot().await;
    f.host(2, 10).await.unwrap();
    f.model.submit(Clear { provider: uuid(2) }).await.unwrap();
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_host_that_a_foreign_writer_changed_is_read_again() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    f.execute(
        "INSERT INTO resource_provider_traits (resource_provider_id, trait_id) SELECT p.id, t.id \
         FROM resource_providers p, traits t WHERE t.name = 'COMPUTE_NODE'",
    );
    replace(&mut f, &[("VCPU", inventory(11)), ("DISK_GB", inventory(1))]).await;
    f.check_snapshot().await;
}

#[actix_web::test]
async fn nothing_is_read_after_the_commit() {
    let mut f = fixture();
    if Kind::of(&f.conn) != Kind::Sqlite {
        return; // On servers there are statements for locks and the change feed too.
    }
    f.host(1, 10).await.unwrap();
    let both = [("VCPU", inventory(11)), ("DISK_GB", inventory(1))];
    let one = &both[..1];
    replace(&mut f, one).await;
    assert_eq!(replace(&mut f, &both).await, 15, "a class more");
    assert_eq!(replace(&mut f, one).await, 15, "a class less");
}

#[actix_web::test]
async fn if_the_classes_stay_nothing_is_read_before_the_commit_either() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    let mut sent = 0;
    // After the first commands the peers are taken to be idle.
    for total in 11..16 {
        sent = replace(&mut f, &[("VCPU", inventory(total))]).await;
    }
    // BEGIN and COMMIT. In between, on SQLite, the writer's row, the generation, the inventory and the change. Before,
    // the check for commits of foreign writers.
    let most = match Kind::of(&f.conn) {
        Kind::Sqlite => 7,
        _ => 3,
    };
    assert!(sent <= most, "{sent} statements");
    assert_eq!(f.number("SELECT total AS n FROM inventories"), 15);
    f.check_snapshot().await;
}

#[actix_web::test]
async fn a_generation_that_a_foreign_writer_moved_is_stale() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    let replace = |generation, total| replacing(generation, &[("VCPU", inventory(total))]);
    f.model.submit(replace(1, 11)).await.unwrap();
    // The writes of OpenStack Placement for the same request.
    f.execute("UPDATE resource_providers SET generation = generation + 1");
    f.execute("UPDATE inventories SET total = 20");
    let refused = f.model.submit(replace(2, 12)).await;
    assert_eq!(refused, Err(Error::StaleInventoryGeneration));
    assert_eq!(f.number("SELECT total AS n FROM inventories"), 20);
    assert_eq!(f.model.submit(replace(3, 12)).await.unwrap().generation, 4);
    f.check_snapshot().await;
}

/// Only the row of a class shows the new name.
#[actix_web::test]
async fn a_class_that_a_foreign_writer_renamed_is_not_written_by_its_old_name() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    let ensure = Ensure {
        name: "CUSTOM_OLD".into(),
    };
    f.model.submit(ensure).await.unwrap();
    let both = [("VCPU", inventory(10)), ("CUSTOM_OLD", inventory(5))];
    replace(&mut f, &both).await;
    replace(&mut f, &both).await;
    f.execute("UPDATE resource_classes SET name = 'CUSTOM_NEW' WHERE name = 'CUSTOM_OLD'");
    let update = |class: &str, generation| Update {
        provider: uuid(1),
        class: class.to_owned(),
        generation,
        inventory: inventory(6),
        reserved_may_equal_total: true,
    };
    let generation = f.generation(1);
    let refused = f.model.submit(update("CUSTOM_OLD", generation)).await;
    assert!(matches!(refused, Err(Error::ClassNotFound { .. })), "{refused:?}");
    f.model.submit(update("CUSTOM_NEW", generation)).await.unwrap();
    let number = "SELECT total AS n FROM inventories WHERE resource_class_id >= 10000";
    assert_eq!(f.number(number), 6);
}

#[actix_web::test]
async fn claims_and_inventories_share_a_batch() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    f.host(2, 10).await.unwrap();
    let mut sent = Vec::new();
    for (n, generation) in (0..10).zip(1..) {
        let claim = claim(20 + n, 1, "VCPU", 1, Expected::New);
        let update = Update {
            provider: uuid(2),
            class: "VCPU".into(),
            generation,
            inventory: inventory(11 + n as i32),
            reserved_may_equal_total: true,
        };
        for command in [claim.into_command(), update.into_command()] {
            let model = f.model.clone();
            sent.push(rt::spawn(async move {
                model.send(&caller(), command, model.writer_deadline()).await
            }));
        }
    }
    for answer in sent {
        answer.await.unwrap().unwrap();
    }
    let total = "SELECT total AS n FROM inventories i JOIN resource_providers p ON p.id = i.resource_provider_id";
    assert_eq!(f.number(&format!("{total} WHERE p.uuid = '{}'", uuid(2))), 20);
    assert_eq!((f.used(1), f.generation(1), f.generation(2)), (10, 11, 11));
    f.check_snapshot().await;
}
