//! A writer's row, its fence, and pruning.

use diesel::prelude::*;

use super::{CommitOutcome, Identity};
use crate::db::change_feed::pruning;
use crate::db::engines::dialect;
use crate::db::schema::{placet_changes, placet_epoch, placet_writers};
use crate::db::{Database, DatabaseSettings, DbConnection, DbResult};

fn connections() -> (DbConnection, DbConnection, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:///{}", folder.path().join("identity.sqlite").display());
    let settings = DatabaseSettings {
        lock_timeout: std::time::Duration::from_millis(20),
        ..DatabaseSettings::new(url)
    };
    let database = Database::open(&settings).unwrap();
    database.sync().unwrap();
    (database.connect().unwrap(), database.connect().unwrap(), folder)
}

fn connection() -> (DbConnection, tempfile::TempDir) {
    let (conn, _, folder) = connections();
    (conn, folder)
}

/// Begins a batch as the writer does, and ends the batch with `end`.
fn batch(identity: &mut Identity, conn: &mut DbConnection, end: fn(&mut DbConnection) -> DbResult<()>) {
    dialect::begin_write(conn).unwrap();
    assert!(identity.raise_revision(conn).unwrap());
    identity.record(conn, "{}".to_owned()).unwrap();
    end(conn).unwrap();
}

#[test]
fn a_fence_finds_a_batch_that_was_committed() {
    let (mut conn, _folder) = connection();
    let mut identity = Identity::register(&mut conn).unwrap();
    batch(&mut identity, &mut conn, dialect::commit);
    assert_eq!(identity.fence(&mut conn).unwrap(), CommitOutcome::Committed);
    identity.committed();
    batch(&mut identity, &mut conn, dialect::commit);
}

#[test]
fn a_fence_takes_the_revision_of_a_batch_that_was_not_committed() {
    let (mut conn, _folder) = connection();
    let mut identity = Identity::register(&mut conn).unwrap();
    batch(&mut identity, &mut conn, dialect::rollback);
    assert_eq!(identity.fence(&mut conn).unwrap(), CommitOutcome::NotCommitted);
    let tokens: Vec<String> = placet_changes::table
        .select(placet_changes::token)
        .load(&mut conn)
        .unwrap();
    assert_eq!(tokens.len(), 1);
    batch(&mut identity, &mut conn, dialect::commit);
    assert_eq!(identity.committed().revision, 2, "revisions stay gapless");
}

#[test]
fn a_fence_that_was_committed_in_doubt_is_found_by_the_next_attempt() {
    let (mut conn, _folder) = connection();
    let mut identity = Identity::register(&mut conn).unwrap();
    batch(&mut identity, &mut conn, dialect::rollback);
    // The fence's own COMMIT ends with an error: this copy does not know about the success of the COMMIT.
    let mut unaware = identity.clone();
    assert_eq!(identity.fence(&mut conn).unwrap(), CommitOutcome::NotCommitted);
    assert_eq!(unaware.fence(&mut conn).unwrap(), CommitOutcome::NotCommitted);
    batch(&mut unaware, &mut conn, dialect::commit);
    assert_eq!(unaware.committed().revision, 2);
}

#[test]
fn without_the_writers_row_and_change_the_outcome_is_unknown() {
    let (mut conn, _folder) = connection();
    let mut identity = Identity::register(&mut conn).unwrap();
    batch(&mut identity, &mut conn, dialect::commit);
    diesel::delete(placet_writers::table).execute(&mut conn).unwrap();
    assert_eq!(
        identity.clone().fence(&mut conn).unwrap(),
        CommitOutcome::Committed,
        "the change has the commit token"
    );
    diesel::delete(placet_changes::table).execute(&mut conn).unwrap();
    assert_eq!(identity.fence(&mut conn).unwrap(), CommitOutcome::Unknown);
}

#[test]
fn a_fence_waits_for_a_commit_that_is_still_in_flight() {
    let (mut old, mut conn, _folder) = connections();
    let mut identity = Identity::register(&mut conn).unwrap();
    dialect::begin_write(&mut old).unwrap();
    assert!(identity.raise_revision(&mut old).unwrap());
    identity.record(&mut old, "{}".to_owned()).unwrap();
    let in_flight = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        dialect::commit(&mut old).unwrap();
    });
    let outcome = loop {
        match identity.fence(&mut conn) {
            Ok(CommitOutcome::InDoubt) | Err(_) => {}
            Ok(outcome) => break outcome,
        }
    };
    in_flight.join().unwrap();
    assert_eq!(outcome, CommitOutcome::Committed);
}

#[test]
fn a_fence_finds_the_token_in_the_writers_row_if_the_change_is_pruned() {
    let (mut conn, _folder) = connection();
    let mut identity = Identity::register(&mut conn).unwrap();
    batch(&mut identity, &mut conn, dialect::commit);
    diesel::delete(placet_changes::table).execute(&mut conn).unwrap();
    assert_eq!(identity.fence(&mut conn).unwrap(), CommitOutcome::Committed);
}

#[test]
fn a_writer_does_not_write_if_its_row_has_another_token() {
    let (mut conn, _folder) = connection();
    let mut identity = Identity::register(&mut conn).unwrap();
    batch(&mut identity, &mut conn, dialect::commit);
    identity.committed();
    // A restored database may have reached the same revision again.
    let other = placet_writers::token.eq("another");
    diesel::update(placet_writers::table)
        .set(other)
        .execute(&mut conn)
        .unwrap();
    assert!(!identity.raise_revision(&mut conn).unwrap());
    assert_eq!(identity.fence(&mut conn).unwrap(), CommitOutcome::Unknown);
    assert!(!identity.heartbeat(&mut conn).unwrap());
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
fn writers_without_a_heartbeat_for_an_hour_are_pruned_and_the_epoch_changes() {
    let (mut conn, _folder) = connection();
    let mut old = Identity::register(&mut conn).unwrap();
    batch(&mut old, &mut conn, dialect::commit);
    let old = old.committed().writer;
    let first = epoch(&mut conn);
    age(&mut conn, &old, 59);
    let living = Identity::register(&mut conn).unwrap();
    assert_eq!((count(&mut conn), epoch(&mut conn)), ((2, 1), first.clone()));
    age(&mut conn, &old, 61);
    assert!(living.heartbeat(&mut conn).unwrap());
    let kept: Vec<String> = placet_changes::table
        .select(placet_changes::writer)
        .order(placet_changes::revision)
        .load(&mut conn)
        .unwrap();
    assert_eq!(kept, [epoch(&mut conn), first.clone()], "only what the epochs keep");
    assert_ne!(epoch(&mut conn), first);
}

#[test]
fn an_idle_writer_with_heartbeats_is_not_pruned() {
    let (mut conn, _folder) = connection();
    let mut idle = Identity::register(&mut conn).unwrap();
    batch(&mut idle, &mut conn, dialect::commit);
    let id = idle.committed().writer;
    age(&mut conn, &id, 61);
    assert!(idle.heartbeat(&mut conn).unwrap());
    Identity::register(&mut conn).unwrap();
    assert_eq!(count(&mut conn), (2, 1));
}

#[test]
fn a_writer_prunes_only_its_own_old_changes() {
    let (mut conn, _folder) = connection();
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
    assert!(own.heartbeat(&mut conn).unwrap());
    assert_eq!(count(&mut conn), (2, 3), "one is pruned by its age");
    let id = last.unwrap().writer;
    assert_eq!(
        pruning::prune_own_changes(&mut conn, &id, 10_002),
        Ok(1),
        "one is pruned by its number"
    );
    assert_eq!(count(&mut conn), (2, 2));
}
