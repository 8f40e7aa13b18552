//! Races about names: a process deletes a class or trait while a peer adds the name to a provider.

use std::time::Duration;

use super::process::{Process, results};
use super::*;
use crate::db::engines::dialect;
use crate::db::writer::Batch;
use crate::db::writer::BatchChange;
use crate::error::Error;
use crate::model::batch::command::{Answer, Command, Write};
use crate::model::{inventories, resource_classes, traits};

const CLASS: &str = "CUSTOM_GOING";
const TRAIT: &str = "CUSTOM_GOING_TOO";
/// Within this time the second of two processes waits for the first, or has finished.
const OVERLAP_TIME: Duration = Duration::from_millis(300);

/// Two processes that know a host, a class and a trait. `None` on SQLite, which has one write transaction at a time.
async fn two_processes() -> Option<(Fixture, Process, Process)> {
    let mut f = fixture();
    if !dialect::has_other_writers(&f.conn) {
        return None;
    }
    f.host(1, 10).await.unwrap();
    f.model
        .submit(resource_classes::Ensure { name: CLASS.into() })
        .await
        .unwrap();
    f.model.submit(traits::Ensure { name: TRAIT.into() }).await.unwrap();
    let (a, b) = (Process::start(&f.database, false), Process::start(&f.database, false));
    Some((f, a, b))
}

fn add_class() -> Command {
    inventories::Add {
        provider: uuid(1),
        class: CLASS.into(),
        inventory: inventory(5),
        reserved_may_equal_total: true,
    }
    .into_command()
}

fn delete_class() -> Command {
    resource_classes::Delete { name: CLASS.into() }.into_command()
}

fn add_trait() -> Command {
    traits::Replace {
        provider: uuid(1),
        generation: 1,
        traits: vec![TRAIT.into()],
    }
    .into_command()
}

fn delete_trait() -> Command {
    traits::Delete { name: TRAIT.into() }.into_command()
}

/// The results of two commands. The second begins after the decision of the first and before its COMMIT.
fn interleaved(a: Process, first: Command, mut b: Process, second: Command) -> [Result<Answer>; 2] {
    interleaved_with(a, first, move || b.until_decided(&second))
}

fn interleaved_with(
    mut a: Process,
    first: Command,
    second: impl FnOnce() -> Result<Answer> + Send + 'static,
) -> [Result<Answer>; 2] {
    dialect::begin_write(&mut a.conn).unwrap();
    assert!(a.identity.raise_revision(&mut a.conn).unwrap());
    let executed = a.decider.run(&mut a.conn, &[&first], false).unwrap();
    let mut answers = results(executed.decisions);
    let change = executed.change.expect("the first writes").encode();
    let later = std::thread::spawn(second);
    std::thread::sleep(OVERLAP_TIME);
    a.identity.record(&mut a.conn, change).unwrap();
    dialect::commit(&mut a.conn).unwrap();
    [answers.remove(0), later.join().unwrap()]
}

impl Process {
    /// Tries a command like the writer: again after a conflict.
    fn until_decided(&mut self, command: &Command) -> Result<Answer> {
        for _ in 0..10 {
            if let Some((mut answers, pending)) = self.commit(&[command], true).unwrap() {
                self.publish(pending);
                return answers.remove(0);
            }
        }
        panic!("it is never decided")
    }
}

impl Fixture {
    /// Asserts the existence of every class of an inventory, and of every trait of a provider.
    fn check_names(&mut self) {
        for (table, column, names) in [
            ("inventories", "resource_class_id", "resource_classes"),
            ("resource_provider_traits", "trait_id", "traits"),
        ] {
            let odd = format!("SELECT COUNT(*) AS n FROM {table} WHERE {column} NOT IN (SELECT id FROM {names})");
            assert_eq!(self.number(&odd), 0, "{table} with a name that is deleted");
        }
    }
}

#[actix_web::test]
async fn a_class_that_a_peer_is_adding_to_a_provider_is_not_deleted() {
    let Some((mut f, a, b)) = two_processes().await else {
        return;
    };
    let [added, deleted] = interleaved(a, add_class(), b, delete_class());
    assert!(added.is_ok(), "{added:?}");
    f.check_names();
    assert!(matches!(deleted, Err(Error::ClassInUse { .. })), "{deleted:?}");
}

#[actix_web::test]
async fn a_class_that_a_peer_is_deleting_is_not_added_to_a_provider() {
    let Some((mut f, a, b)) = two_processes().await else {
        return;
    };
    let [deleted, added] = interleaved(a, delete_class(), b, add_class());
    assert!(deleted.is_ok(), "{deleted:?}");
    f.check_names();
    assert!(matches!(added, Err(Error::InvalidInventory { .. })), "{added:?}");
}

#[actix_web::test]
async fn a_class_that_a_peer_is_deleting_is_not_added_by_a_process_that_just_starts() {
    let Some((mut f, a, _)) = two_processes().await else {
        return;
    };
    let database = f.database.clone();
    let start = move || Process::start(&database, false).until_decided(&add_class());
    let [deleted, added] = interleaved_with(a, delete_class(), start);
    assert!(deleted.is_ok(), "{deleted:?}");
    f.check_names();
    assert!(matches!(added, Err(Error::InvalidInventory { .. })), "{added:?}");
}

#[actix_web::test]
async fn a_class_that_a_peer_is_renaming_is_not_deleted() {
    let Some((mut f, a, b)) = two_processes().await else {
        return;
    };
    let rename = resource_classes::Rename {
        from: CLASS.into(),
        to: "CUSTOM_RENAMED".into(),
    };
    let [renamed, deleted] = interleaved(a, rename.into_command(), b, delete_class());
    assert!(renamed.is_ok(), "{renamed:?}");
    assert!(matches!(deleted, Err(Error::ClassNotFound { .. })), "{deleted:?}");
    assert_eq!(
        f.number("SELECT COUNT(*) AS n FROM resource_classes WHERE name = 'CUSTOM_RENAMED'"),
        1
    );
}

#[actix_web::test]
async fn a_trait_that_a_peer_is_adding_to_a_provider_is_not_deleted() {
    let Some((mut f, a, b)) = two_processes().await else {
        return;
    };
    let [added, deleted] = interleaved(a, add_trait(), b, delete_trait());
    assert!(added.is_ok(), "{added:?}");
    f.check_names();
    assert!(matches!(deleted, Err(Error::TraitInUse { .. })), "{deleted:?}");
}

#[actix_web::test]
async fn a_trait_that_a_peer_is_deleting_is_not_added_to_a_provider() {
    let Some((mut f, a, b)) = two_processes().await else {
        return;
    };
    let [deleted, added] = interleaved(a, delete_trait(), b, add_trait());
    assert!(deleted.is_ok(), "{deleted:?}");
    f.check_names();
    assert!(matches!(added, Err(Error::UnknownTraits { .. })), "{added:?}");
}
