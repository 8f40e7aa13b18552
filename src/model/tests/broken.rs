//! What changes alone cannot tell: missing ones, writers that are gone, a database that went back. All is read again then.

use super::process::{Process, claims, two};
use super::*;
use crate::db::engines::dialect;

#[actix_web::test]
async fn a_gap_is_a_reason_to_read_everything() {
    let (mut f, mut a, mut b) = two().await;
    a.write(&[&claims(10, 1, 2)]);
    a.write(&[&claims(11, 1, 3)]);
    f.execute("DELETE FROM placet_changes");
    b.follow();
    b.check();
    // Of a writer that was not known either.
    let mut c = Process::start(&f.database, false);
    c.write(&[&claims(12, 2, 3)]);
    f.execute("DELETE FROM placet_changes");
    b.follow();
    b.check();
    a.follow();
    a.write(&[&claims(13, 2, 1)]);
    b.follow();
    b.check();
}

/// Of PostgreSQL, which looks for each revision by itself: not for more than twice as many as a writer keeps.
#[cfg(feature = "postgresql")]
#[actix_web::test]
async fn who_missed_more_changes_than_are_looked_for_reads_everything() {
    for (more, is_read) in [(19_999, false), (20_000, true)] {
        let (mut f, mut a, mut b) = two().await;
        if Kind::of(&f.conn) != Kind::Postgresql {
            return;
        }
        a.write(&[&claims(10, 1, 2)]);
        let commit = a.identity.committed();
        let (id, revision) = (commit.writer, commit.revision - 1);
        f.execute(&format!(
            "INSERT INTO placet_changes (writer, revision, token, committed_at, body) \
             SELECT '{id}', n, 't', now(), '{{}}' FROM generate_series({revision} + 1, {revision} + {more}) n"
        ));
        f.execute(&format!(
            "UPDATE placet_writers SET revision = {revision} + {more}, token = 't' WHERE id = '{id}'"
        ));
        let before = b.live.times_read();
        b.follow();
        assert_eq!((b.live.times_read() - before, b.shows(1).1), (u64::from(is_read), 2));
        b.check();
    }
}

#[actix_web::test]
async fn a_writer_that_nobody_knew_is_asked_for_once_more_and_once() {
    let (mut f, _, mut b) = two().await;
    let statements = |f: &Fixture, b: &mut Process| {
        let before = f.model.statements();
        b.follow();
        f.model.statements() - before
    };
    let read = b.live.times_read();
    let mut c = Process::start(&f.database, false);
    assert_eq!(statements(&f, &mut b), 1, "it has left nothing yet");
    let mut d = Process::start(&f.database, false);
    c.write(&[&claims(10, 1, 2)]);
    d.follow();
    d.write(&[&claims(11, 1, 3)]);
    assert_eq!(statements(&f, &mut b), 2);
    assert_eq!(b.shows(1), (f.generation(1), 5));
    d.write(&[&claims(12, 2, 4)]);
    assert_eq!(statements(&f, &mut b), 1);
    assert_eq!(b.shows(2), (f.generation(2), 4));
    assert_eq!(b.live.times_read(), read, "changes were enough");
}

/// As if a writer had been silent for an hour; somebody clears its rows away.
fn clear_away(f: &mut Fixture, gone: &Process, by: &Process) {
    let writer = gone.identity.clone().committed().writer;
    f.execute(&format!(
        "UPDATE placet_writers SET seen_at = '2001-01-01 00:00:00' WHERE id = '{writer}'"
    ));
    assert!(by.identity.heartbeat(&mut f.conn).unwrap());
    assert_eq!(
        f.number(&format!(
            "SELECT COUNT(*) AS n FROM placet_writers WHERE id = '{writer}'"
        )),
        0
    );
}

#[actix_web::test]
async fn what_a_writer_left_that_was_cleared_away_before_anybody_knew_it_is_shown() {
    let (mut f, a, mut b) = two().await;
    b.follow();
    let mut c = Process::start(&f.database, false);
    c.write(&[&claims(10, 1, 2)]);
    clear_away(&mut f, &c, &a);
    b.follow();
    assert_eq!(b.shows(1).1, 2);
    b.check();
}

#[actix_web::test]
async fn what_a_known_writer_left_that_was_cleared_away_is_shown() {
    let (mut f, a, mut b) = two().await;
    let mut c = Process::start(&f.database, false);
    b.follow();
    c.write(&[&claims(10, 1, 2)]);
    // Even if nobody had replaced the epoch.
    let epoch = f.texts("SELECT epoch AS t FROM placet_epoch").remove(0);
    clear_away(&mut f, &c, &a);
    f.execute(&format!("UPDATE placet_epoch SET epoch = '{epoch}'"));
    b.follow();
    b.check();
}

#[actix_web::test]
async fn a_database_that_went_back_is_read_again_by_those_who_only_read() {
    let (mut f, mut a, mut b) = two().await;
    a.write(&[&claims(10, 1, 2)]);
    let backup = f.backup();
    a.write(&[&claims(11, 1, 3)]);
    b.follow();
    assert_eq!(b.shows(1).1, 5);
    f.restore(&backup);
    b.follow();
    assert_eq!(b.shows(1).1, 2);
    b.check();
}

#[actix_web::test]
async fn a_revision_that_was_reached_again_has_another_token() {
    let (mut f, mut a, mut b) = two().await;
    let mut old = a.identity.clone();
    let backup = f.backup();
    a.write(&[&claims(10, 1, 2)]);
    b.follow();
    f.restore(&backup);
    // The same revision again, with something else in it.
    dialect::begin_write(&mut f.conn).unwrap();
    assert!(old.raise_revision(&mut f.conn).unwrap());
    old.record(&mut f.conn, "{}").unwrap();
    dialect::commit(&mut f.conn).unwrap();
    b.follow();
    assert_eq!(b.shows(1).1, 0);
    b.check();
}

#[actix_web::test]
async fn a_fence_says_nothing_and_is_no_gap() {
    let (f, mut a, mut b) = two().await;
    b.follow();
    dialect::begin_write(&mut a.conn).unwrap();
    assert!(a.identity.raise_revision(&mut a.conn).unwrap());
    dialect::rollback(&mut a.conn).unwrap();
    assert_eq!(
        a.identity.fence(&mut a.conn).unwrap(),
        crate::db::CommitOutcome::NotCommitted
    );
    a.write(&[&claims(10, 1, 2)]);
    let before = f.model.statements();
    b.follow();
    assert_eq!((f.model.statements() - before, b.shows(1).1), (1, 2));
    // The writer itself did not know the revision of its fence.
    a.check();
}

#[actix_web::test]
async fn a_change_that_nobody_can_read_is_a_reason_to_read_everything() {
    let (mut f, mut a, mut b) = two().await;
    a.write(&[&claims(10, 1, 2)]);
    f.execute("UPDATE placet_changes SET body = '{\"new\": 1}'");
    b.follow();
    b.check();
}

#[actix_web::test]
async fn without_an_epoch_nothing_is_counted_twice_either() {
    let (mut f, mut a, _) = two().await;
    f.execute("DELETE FROM placet_epoch");
    a.follow();
    a.write(&[&claims(10, 1, 2)]);
    let mut late = Process::start(&f.database, false);
    late.follow();
    a.write(&[&claims(11, 1, 3)]);
    late.follow();
    assert_eq!((a.shows(1), late.shows(1).1), (late.shows(1), 5));
    late.check();
}
