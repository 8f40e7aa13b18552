//! Refusals of claims and releases, verified by one statement. A foreign writer changes the tables, without a trace in
//! the snapshot.

use std::sync::Arc;

use super::foreign::foreign_claim;
use super::process::claim_command;
use super::*;
use crate::error::{Error, Room};
use crate::model::allocations::Release;
use crate::model::batch::command::{Command, Write};
use crate::model::resource_classes;

/// A fixture with the snapshot of the refusals.
struct Refusals {
    f: Fixture,
    snapshot: Arc<Snapshot>,
}

impl Refusals {
    /// Host 1 has 4 VCPU, of which consumer 10 uses 3. Host 2 has 2 of `CUSTOM_A`.
    async fn new() -> Refusals {
        let mut f = fixture();
        f.host(1, 4).await.unwrap();
        f.host(2, 1).await.unwrap();
        let class = resource_classes::Create {
            name: "CUSTOM_A".into(),
        };
        f.model.submit(class).await.unwrap();
        f.model.submit(adding(2, "CUSTOM_A", 2)).await.unwrap();
        f.model.submit(claim(10, 1, "VCPU", 3, Expected::New)).await.unwrap();
        let snapshot = f.model.snapshot().await.unwrap();
        Refusals { f, snapshot }
    }

    /// The refusal of each command on the tables, and the number of statements.
    fn verify(&mut self, commands: &[&Command]) -> (Vec<Option<Error>>, u64) {
        let before = self.f.database.statements();
        let verified = verification(&rules(), &self.snapshot).verify(&mut self.f.conn, commands);
        (refusals_of(verified), self.f.database.statements() - before)
    }

    /// The refusal of the command. The refusal is the same if all rows of the command are read.
    fn refusal(&mut self, command: &Command) -> Option<Error> {
        let (alone, _) = self.verify(&[command]);
        let wiping = Claim {
            consumers: vec![consumer_claim(99, Vec::new(), Expected::Any)],
            names_consumer: true,
        };
        let (beside, statements) = self.verify(&[command, &wiping.into_command()]);
        assert!(statements > 1, "a claim that wipes a consumer is verified on all rows");
        assert_eq!(alone[0], beside[0]);
        alone.into_iter().next().flatten()
    }

    /// Asserts that the command is refused before the SQL, and granted after the SQL.
    fn is_granted_after(&mut self, command: &Command, sql: &[&str]) {
        assert!(self.refusal(command).is_some());
        for sql in sql {
            self.f.execute(sql);
        }
        assert_eq!(self.refusal(command), None, "{sql:?}");
    }
}

fn full(provider: u32) -> Error {
    let (class, provider) = ("VCPU".into(), uuid(provider));
    let room = Room::default();
    Error::CapacityExceeded { class, provider, room }
}

fn stale(expected: &str, got: &str) -> Error {
    let (expected, got) = (expected.into(), got.into());
    Error::StaleConsumerGeneration { expected, got }
}

#[actix_web::test]
async fn one_statement_verifies_the_refusals_of_claims_and_releases() {
    let mut r = Refusals::new().await;
    let commands = [
        claim_command(11, 1, 2),
        claim_command(12, 2, 2),
        claim_command(13, 9, 1),
        claim(14, 1, "CUSTOM_NONE", 1, Expected::New).into_command(),
        claim(15, 2, "MEMORY_MB", 1, Expected::New).into_command(),
        claim(10, 1, "VCPU", 1, Expected::New).into_command(),
        claim(10, 1, "VCPU", 5, Expected::Is(1)).into_command(),
        claim(10, 1, "VCPU", 4, Expected::Is(1)).into_command(),
        Release { consumer: uuid(16) }.into_command(),
        Release { consumer: uuid(10) }.into_command(),
    ];
    let (verified, statements) = r.verify(&commands.iter().collect::<Vec<_>>());
    let expected = [
        Some(full(1)),
        Some(full(2)),
        Some(Error::ClaimProviderNotFound { uuid: uuid(9) }),
        Some(Error::ClaimClassNotFound {
            context: String::new(),
            class: "CUSTOM_NONE".into(),
        }),
        Some(Error::ClaimWithoutInventory {
            class: "MEMORY_MB".into(),
            provider: uuid(2),
        }),
        Some(stale("1", "None")),
        Some(full(1)),
        None,
        Some(Error::NoAllocations { consumer: uuid(16) }),
        None,
    ];
    assert_eq!((verified.as_slice(), statements), (&expected[..], 1));
    for (command, expected) in commands.iter().zip(expected) {
        assert_eq!(r.refusal(command), expected);
    }
}

#[actix_web::test]
async fn a_foreign_release_is_seen() {
    let mut r = Refusals::new().await;
    r.is_granted_after(
        &claim_command(11, 1, 4),
        &["DELETE FROM allocations", "DELETE FROM consumers"],
    );
}

#[actix_web::test]
async fn a_foreign_change_of_an_inventory_is_seen() {
    let mut r = Refusals::new().await;
    r.is_granted_after(&claim_command(11, 1, 2), &["UPDATE inventories SET total = 5"]);
    r.is_granted_after(
        &claim_command(11, 1, 4),
        &["UPDATE inventories SET allocation_ratio = 1.6"],
    );
}

#[actix_web::test]
async fn a_foreign_claim_is_seen() {
    let mut r = Refusals::new().await;
    let (fits, replaces) = (claim_command(11, 1, 1), claim_command(12, 2, 1));
    assert_eq!((r.refusal(&fits), r.refusal(&replaces)), (None, None));
    foreign_claim(&mut r.f, 20, 1, 1);
    foreign_claim(&mut r.f, 12, 1, 0);
    assert_eq!(
        (r.refusal(&fits), r.refusal(&replaces)),
        (Some(full(1)), Some(stale("1", "None")))
    );
}

#[actix_web::test]
async fn a_provider_that_a_foreign_writer_created_is_seen() {
    let mut r = Refusals::new().await;
    r.is_granted_after(
        &claim_command(11, 5, 2),
        &[
            &format!(
                "INSERT INTO resource_providers (uuid, name, generation) VALUES ('{}', 'new', 0)",
                uuid(5)
            ),
            "UPDATE resource_providers SET root_provider_id = id",
            "INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, \
             step_size, allocation_ratio) SELECT id, 0, 2, 0, 1, 2, 1, 1.0 FROM resource_providers WHERE name = 'new'",
        ],
    );
}

#[actix_web::test]
async fn a_provider_that_a_foreign_writer_deleted_and_created_again_is_seen() {
    let mut r = Refusals::new().await;
    let old = format!("(SELECT id FROM resource_providers WHERE uuid = '{}')", uuid(2));
    r.is_granted_after(
        &claim_command(11, 2, 2),
        &[
            &format!("DELETE FROM inventories WHERE resource_provider_id IN {old}"),
            "UPDATE resource_providers SET root_provider_id = NULL",
            &format!("DELETE FROM resource_providers WHERE uuid = '{}'", uuid(2)),
            "INSERT INTO resource_providers (uuid, name, generation) VALUES ('other', 'other', 0)",
            &format!("INSERT INTO resource_providers (uuid, name, generation) VALUES ('{}', 'host-2', 2)", uuid(2)),
            "UPDATE resource_providers SET root_provider_id = id",
            &format!(
                "INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, \
                 step_size, allocation_ratio) VALUES ({old}, 0, 2, 0, 1, 9, 1, 1.0)"
            ),
        ],
    );
    // The id of the snapshot belongs to a different provider on SQLite, and to no provider elsewhere.
    let gone = claim_command(11, 2, 3);
    assert_eq!(r.refusal(&gone), Some(full(2)));
    r.f.execute(&format!("DELETE FROM inventories WHERE resource_provider_id = {old}"));
    r.f.execute("UPDATE resource_providers SET root_provider_id = NULL");
    r.f.execute(&format!("DELETE FROM resource_providers WHERE uuid = '{}'", uuid(2)));
    assert_eq!(r.refusal(&gone), Some(Error::ClaimProviderNotFound { uuid: uuid(2) }));
}

#[actix_web::test]
async fn a_class_that_a_foreign_writer_renamed_is_seen() {
    let mut r = Refusals::new().await;
    let (old, new) = ["CUSTOM_A", "CUSTOM_B"]
        .map(|class| claim(11, 2, class, 1, Expected::New).into_command())
        .into();
    assert_eq!(r.refusal(&old), None);
    r.is_granted_after(
        &new,
        &["UPDATE resource_classes SET name = 'CUSTOM_B' WHERE name = 'CUSTOM_A'"],
    );
    assert!(matches!(r.refusal(&old), Some(Error::ClaimClassNotFound { .. })));
}

#[actix_web::test]
async fn a_consumer_that_a_foreign_writer_created_or_deleted_is_seen() {
    let mut r = Refusals::new().await;
    let generation = |n| claim(10, 1, "VCPU", 1, Expected::Is(n)).into_command();
    r.is_granted_after(&generation(2), &["UPDATE consumers SET generation = 2"]);
    assert_eq!(r.refusal(&generation(1)), Some(stale("2", "1")));
    let again = claim(10, 1, "VCPU", 4, Expected::New).into_command();
    r.is_granted_after(&again, &["DELETE FROM consumers"]);
    assert_eq!(r.refusal(&generation(2)), Some(stale("null", "2")));
    // The allocations without a consumer count as the new consumer's own.
    assert_eq!(r.refusal(&claim_command(11, 1, 2)), Some(full(1)));
    r.is_granted_after(&claim_command(11, 1, 2), &["DELETE FROM allocations"]);
    assert_eq!(
        r.refusal(&Release { consumer: uuid(10) }.into_command()),
        Some(Error::NoAllocations { consumer: uuid(10) })
    );
}

/// As after an upgrade of an old database: OpenStack's tables were created with several character sets.
#[cfg(feature = "mariadb")]
#[actix_web::test]
async fn the_tables_may_differ_in_their_collations() {
    let mut r = Refusals::new().await;
    if Kind::of(&r.f.conn) != Kind::Mariadb {
        return;
    }
    for (table, collation) in [
        ("consumers", "utf8mb4 COLLATE utf8mb4_bin"),
        ("allocations", "utf8mb4 COLLATE utf8mb4_unicode_ci"),
        ("resource_providers", "utf8mb3 COLLATE utf8mb3_general_ci"),
        ("resource_classes", "latin1 COLLATE latin1_swedish_ci"),
    ] {
        r.f.execute(&format!("ALTER TABLE {table} CONVERT TO CHARACTER SET {collation}"));
    }
    let (stale_claim, too_much) = (claim_command(10, 1, 1), claim_command(11, 1, 2));
    let (verified, statements) = r.verify(&[&stale_claim, &too_much]);
    assert_eq!(
        (verified, statements),
        (vec![Some(stale("1", "None")), Some(full(1))], 1)
    );
}
