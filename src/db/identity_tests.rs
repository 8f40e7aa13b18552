//! A writer's row, its fence, and what is cleared away.

use diesel::prelude::*;

use super::identity::{Doubt, Identity};
use super::schema::{placet_changes, placet_epoch, placet_writers};
use super::{Database, DbConnection, DbResult, Settings, dialect, pruning};

fn both() -> (DbConnection, DbConnection, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:///{}", folder.path().join("identity.sqlite").display());
    let settings = Settings {
        lock_timeout: std::time::Duration::from_millis(20),
        ..Settings::new(url)
    };
    let database = Database::open(&settings).unwrap();
    database.sync().unwrap();
    (database.connect().unwrap(), database.connect().unwrap(), folder)
}

fn database() -> (DbConnection, tempfile::TempDir) {
    let (conn, _, folder) = both();
    (conn, folder)
}

/// Begins a batch as the writer does, and ends it so.
fn batch(identity: &mut Identity, conn: &mut DbConnection, end: fn(&mut DbConnection) -> DbResult<()>) {
    dialect::begin_write(conn).unwrap();
    assert!(identity.raise_revision(conn).unwrap());
    identity.record(conn, "{}").unwrap();
    end(conn).unwrap();
}

#[test]
fn a_fence_finds_a_commit_that_happened() {
    let (mut conn, _folder) = database();
    let mut identity = Identity::register(&mut conn).unwrap();
    batch(&mut identity, &mut conn, dialect::commit);
    assert_eq!(identity.fence(&mut conn).unwrap(), Doubt::Happened);
    identity.committed();
    batch(&mut identity, &mut conn, dialect::commit);
}

#[test]
fn a_fence_takes_the_place_of_a_commit_that_did_not_happen() {
    let (mut conn, _folder) = database();
    let mut identity = Identity::register(&mut conn).unwrap();
    batch(&mut identity, &mut conn, dialect::rollback);
    assert_eq!(identity.fence(&mut conn).unwrap(), Doubt::NeverHappened);
    let tokens: Vec<String> = placet_changes::table
        .select(placet_changes::token)
        .load(&mut conn)
        .unwrap();
    assert_eq!(tokens.len(), 1);
    batch(&mut identity, &mut conn, dialect::commit);
    assert_eq!(identity.committed().revision, 2, "revisions stay gapless");
}

#[test]
fn a_fence_that_was_committed_and_not_known_of_is_found_by_the_next() {
    let (mut conn, _folder) = database();
    let mut identity = Identity::register(&mut conn).unwrap();
    batch(&mut identity, &mut conn, dialect::rollback);
    // As if the fence's own COMMIT had been answered by an error.
    let mut unknowing = identity.clone();
    assert_eq!(identity.fence(&mut conn).unwrap(), Doubt::NeverHappened);
    assert_eq!(unknowing.fence(&mut conn).unwrap(), Doubt::NeverHappened);
    batch(&mut unknowing, &mut conn, dialect::commit);
    assert_eq!(unknowing.committed().revision, 2);
}

#[test]
fn without_its_row_and_its_change_a_writer_cannot_know() {
    let (mut conn, _folder) = database();
    let mut identity = Identity::register(&mut conn).unwrap();
    batch(&mut identity, &mut conn, dialect::commit);
    diesel::delete(placet_writers::table).execute(&mut conn).unwrap();
    assert_eq!(
        identity.clone().fence(&mut conn).unwrap(),
        Doubt::Happened,
        "the change says it"
    );
    diesel::delete(placet_changes::table).execute(&mut conn).unwrap();
    assert_eq!(identity.fence(&mut conn).unwrap(), Doubt::Unknown);
}

#[test]
fn a_fence_waits_for_a_commit_that_is_still_under_way() {
    let (mut lost, mut conn, _folder) = both();
    let mut identity = Identity::register(&mut conn).unwrap();
    dialect::begin_write(&mut lost).unwrap();
    assert!(identity.raise_revision(&mut lost).unwrap());
    identity.record(&mut lost, "{}").unwrap();
    let under_way = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        dialect::commit(&mut lost).unwrap();
    });
    let outcome = loop {
        match identity.fence(&mut conn) {
            Ok(Doubt::Open) | Err(_) => {}
            Ok(outcome) => break outcome,
        }
    };
    under_way.join().unwrap();
    assert_eq!(outcome, Doubt::Happened);
}

#[test]
fn a_fence_finds_the_token_in_the_writers_row_where_the_change_is_pruned() {
    let (mut conn, _folder) = database();
    let mut identity = Identity::register(&mut conn).unwrap();
    batch(&mut identity, &mut conn, dialect::commit);
    diesel::delete(placet_changes::table).execute(&mut conn).unwrap();
    assert_eq!(identity.fence(&mut conn).unwrap(), Doubt::Happened);
}

#[test]
fn a_writer_whose_row_has_another_token_does_not_write() {
    let (mut conn, _folder) = database();
    let mut identity = Identity::register(&mut conn).unwrap();
    batch(&mut identity, &mut conn, dialect::commit);
    identity.committed();
    // As in a database that went back, and in which the same revision was reached again.
    let other = placet_writers::token.eq("another");
    diesel::update(placet_writers::table)
        .set(other)
        .execute(&mut conn)
        .unwrap();
    assert!(!identity.raise_revision(&mut conn).unwrap());
    assert_eq!(identity.fence(&mut conn).unwrap(), Doubt::Unknown);
    assert!(!identity.keep_house(&mut conn).unwrap());
}

fn age(conn: &mut DbConnection, writer: &str, minutes: i64) {
    let then = dialect::now() - chrono::TimeDelta::minutes(minutes);
    let row = placet_writers::table.filter(placet_writers::id.eq(writer));
    let aged = diesel::update(row).set(placet_writers::seen_at.eq(then)).execute(conn);
    assert_eq!(aged, Ok(1));
}

fn count(conn: &mut DbConnection) -> (i64, i64) {
    (
        placet_writers::table.count().get_result(conn).unwrap(),
        placet_changes::table.count().get_result(conn).unwrap(),
    )
}

fn epoch(conn: &mut DbConnection) -> String {
    placet_epoch::table.select(placet_epoch::epoch).first(conn).unwrap()
}

#[test]
fn writers_silent_for_an_hour_are_cleared_away_and_the_epoch_changes() {
    let (mut conn, _folder) = database();
    let mut old = Identity::register(&mut conn).unwrap();
    batch(&mut old, &mut conn, dialect::commit);
    let old = old.committed().writer;
    let first = epoch(&mut conn);
    age(&mut conn, &old, 59);
    let living = Identity::register(&mut conn).unwrap();
    assert_eq!((count(&mut conn), epoch(&mut conn)), ((2, 1), first.clone()));
    age(&mut conn, &old, 61);
    assert!(living.keep_house(&mut conn).unwrap());
    assert_eq!(count(&mut conn), (1, 0));
    assert_ne!(epoch(&mut conn), first);
}

#[test]
fn a_writer_that_says_nothing_but_that_it_lives_is_not_cleared_away() {
    let (mut conn, _folder) = database();
    let mut idle = Identity::register(&mut conn).unwrap();
    batch(&mut idle, &mut conn, dialect::commit);
    let id = idle.committed().writer;
    age(&mut conn, &id, 61);
    assert!(idle.keep_house(&mut conn).unwrap());
    Identity::register(&mut conn).unwrap();
    assert_eq!(count(&mut conn), (2, 1));
}

#[test]
fn a_writer_prunes_its_own_old_changes_alone() {
    let (mut conn, _folder) = database();
    let mut own = Identity::register(&mut conn).unwrap();
    let mut other = Identity::register(&mut conn).unwrap();
    let mut last = None;
    for _ in 0..3 {
        batch(&mut own, &mut conn, dialect::commit);
        last = Some(own.committed());
    }
    batch(&mut other, &mut conn, dialect::commit);
    let then = dialect::now() - chrono::TimeDelta::minutes(11);
    let old = placet_changes::table.filter(placet_changes::revision.eq(1));
    diesel::update(old)
        .set(placet_changes::committed_at.eq(then))
        .execute(&mut conn)
        .unwrap();
    assert!(own.keep_house(&mut conn).unwrap());
    assert_eq!(count(&mut conn), (2, 3), "one by its age");
    let id = last.unwrap().writer;
    assert_eq!(pruning::own(&mut conn, &id, 10_002), Ok(1), "one by its number");
    assert_eq!(count(&mut conn), (2, 2));
}
