//! Tests of the report about a missing log, beside a whole file and beside a file cut to 0 bytes.

use std::mem::ManuallyDrop;

use diesel::connection::SimpleConnection;

use super::*;
use crate::db::tests::support::TestDatabase;

/// A served database, and its log.
struct Served {
    database: Database,
    paths: FilePaths,
    _test_database: TestDatabase,
}

fn served() -> Served {
    let test_database = TestDatabase::file();
    let database = test_database.open();
    let mut conn = database.connect_to(OpenMode::Create).unwrap();
    conn.batch_execute("CREATE TABLE texts (text BLOB); INSERT INTO texts VALUES (randomblob(100000))")
        .unwrap();
    database.lock_for_serving().unwrap();
    database.guard().begin(&database, "a writer").unwrap();
    Served {
        paths: FilePaths::of(database.target().file().unwrap()).unwrap(),
        database,
        _test_database: test_database,
    }
}

#[test]
fn a_log_that_sqlite_removes_beside_an_empty_file_is_reported_as_damage_of_the_file() {
    let served = served();
    let file = ManuallyDrop::new(File::options().write(true).open(&served.paths.database).unwrap());
    file.set_len(0).unwrap();
    let mut conn = dialect::connect(served.database.target(), OpenMode::Read, served.database.lock_timeout()).unwrap();
    conn.batch_execute("SELECT 1 FROM sqlite_master").unwrap();
    assert!(!served.paths.log.exists());
    let guard = served.database.guard();
    let reported = guard.check_path();
    assert!(matches!(reported, Err(SetupError::FileDamaged { .. })), "{reported:?}");
    assert!(guard.inner.lost.get().is_none());
    assert!(matches!(guard.check_writable(), Err(SetupError::FileDamaged { .. })));
    assert!(!guard.end(), "not every row is in the file");
}

#[test]
fn a_log_that_is_removed_beside_a_whole_file_is_lost_and_every_row_is_copied() {
    let served = served();
    std::fs::remove_file(&served.paths.log).unwrap();
    let guard = served.database.guard();
    let reported = guard.check_path();
    assert!(matches!(reported, Err(SetupError::FileLost { .. })), "{reported:?}");
    assert!(guard.inner.damaged.get().is_none());
    assert!(guard.end(), "every row is in the file");
}
