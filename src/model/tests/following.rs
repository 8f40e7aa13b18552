//! Two processes on one database, moved step by step: every rule of following, each by the history that needs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::foreign::foreign_claim;
use super::process::{Process, claims, two};
use super::*;
use crate::db::dialect;
use crate::model::allocations::Release;
use crate::model::command::Write;
use crate::model::inventories::Clear;
use crate::model::resource_classes::Ensure;
use crate::model::resource_providers::Delete;

#[actix_web::test]
async fn what_one_commits_the_other_shows_after_one_query() {
    let (mut f, mut a, mut b) = two().await;
    b.follow();
    a.write(&[&claims(10, 1, 2), &claims(11, 1, 1)]);
    let generation = f.generation(1);
    let before = f.model.statements();
    // The processes and the fixture share what counts.
    b.follow();
    assert_eq!(f.model.statements() - before, 1);
    assert_eq!(b.shows(1), (generation, 3));
    b.follow();
    assert_eq!(
        (f.model.statements() - before, b.shows(1)),
        (2, (generation, 3)),
        "once"
    );
}

#[actix_web::test]
async fn who_heard_nothing_for_a_while_looks_before_it_asks_for_changes() {
    let (mut f, mut a, mut b) = two().await;
    let followed = |f: &Fixture, b: &mut Process| {
        let (sent, read) = (f.model.statements(), b.live.times_read());
        b.follow();
        (f.model.statements() - sent, b.live.times_read() - read)
    };
    let quiet = |f: &Fixture, b: &mut Process| {
        let sent: Vec<_> = (0..4).map(|_| followed(f, b)).collect();
        assert_eq!(sent, [(1, 0); 4]);
    };
    quiet(&f, &mut b);
    a.write(&[&claims(10, 1, 2)]);
    assert_eq!((followed(&f, &mut b), b.shows(1).1), ((2, 0), 2));
    a.write(&[&claims(11, 1, 3)]);
    assert_eq!(
        (followed(&f, &mut b), b.shows(1).1),
        ((1, 0), 5),
        "somebody speaks again"
    );
    quiet(&f, &mut b);
    let (_, pending) = b.commit(&[&claims(12, 1, 1)], false).unwrap().unwrap();
    assert_eq!((followed(&f, &mut b), b.shows(1).1), ((2, 0), 6), "its own commit");
    b.publish(pending);
    quiet(&f, &mut b);
    // What a restored backup looks like where another writer has gone on from it, and one where nobody has.
    for differs in ["token = 'another'", "revision = revision - 1"] {
        f.execute(&format!("UPDATE placet_writers SET {differs}"));
        assert_eq!(followed(&f, &mut b).1, 1, "{differs}");
        quiet(&f, &mut b);
    }
    f.execute("UPDATE placet_epoch SET epoch = 'another'");
    assert_eq!(followed(&f, &mut b).1, 1);
    quiet(&f, &mut b);
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

#[actix_web::test]
async fn a_commit_that_a_reader_has_followed_is_not_published_again() {
    let (mut f, mut a, _) = two().await;
    let (_, pending) = a.commit(&[&claims(10, 1, 2)], false).unwrap().unwrap();
    a.follow();
    assert_eq!(a.shows(1).1, 2);
    a.publish(pending);
    assert_eq!(a.shows(1), (f.generation(1), 2));
}

#[actix_web::test]
async fn a_commit_is_published_only_where_the_revision_before_it_is_known() {
    let (_f, mut a, _) = two().await;
    let (_, first) = a.commit(&[&claims(10, 1, 2)], false).unwrap().unwrap();
    // It is acknowledged in the end, as it is where a fence found that it happened.
    let (_, second) = a.commit(&[&claims(11, 2, 3)], false).unwrap().unwrap();
    a.publish(second);
    assert_eq!((a.shows(1).1, a.shows(2).1), (2, 3));
    a.publish(first);
    a.check();
}

#[actix_web::test]
async fn deltas_of_two_writers_come_in_any_order() {
    let (mut f, mut a, mut b) = two().await;
    let (_, pending) = a.commit(&[&claims(10, 1, 2)], false).unwrap().unwrap();
    b.follow();
    b.write(&[&claims(11, 1, 3)]);
    // The other's is seen before the own one is published.
    a.follow();
    a.publish(pending);
    a.write(&[&claims(12, 1, 4)]);
    b.follow();
    let shown = (f.generation(1), 9);
    assert_eq!((a.shows(1), b.shows(1)), (shown, shown));
}

#[actix_web::test]
async fn a_claim_on_a_stale_snapshot_loses_and_is_decided_again() {
    let (mut f, mut a, mut b) = two().await;
    a.write(&[&claims(10, 1, 8)]);
    assert!(
        b.commit(&[&claims(11, 1, 2)], false).unwrap().is_none(),
        "it was decided on a stale generation"
    );
    let (answers, pending) = b
        .commit(&[&claims(11, 1, 3), &claims(12, 1, 2)], true)
        .unwrap()
        .unwrap();
    assert!(answers[0].is_err() && answers[1].is_ok(), "{answers:?}");
    b.publish(pending);
    a.follow();
    let shown = (f.generation(1), 10);
    assert_eq!((a.shows(1), b.shows(1)), (shown, shown));
}

#[actix_web::test]
async fn what_is_marked_is_read_with_all_else_brought_to_the_same_moment() {
    let (_f, mut a, mut b) = two().await;
    let generation = a.shows(1).0;
    let replace = replacing(generation, &[("VCPU", inventory(77)), ("MEMORY_MB", inventory(5))]);
    a.write(&[&claims(10, 2, 1)]);
    a.write(&[&replace.into_command(), &claims(11, 1, 4)]);
    a.write(&[&claims(12, 1, 5), &claims(13, 2, 1)]);
    b.follow();
    assert_eq!((b.shows(1).1, b.shows(2).1), (9, 2));
    b.check();
}

#[actix_web::test]
async fn providers_and_names_come_and_go() {
    let (_f, mut a, mut b) = two().await;
    let create = |n: u32, parent: Option<u32>| {
        let parent = parent.map(uuid);
        let (uuid, name) = (uuid(n), format!("new-{n}"));
        Create { uuid, name, parent }.into_command()
    };
    let class = Ensure {
        name: "CUSTOM_NEW".into(),
    };
    a.write(&[&create(5, None), &create(6, Some(5)), &class.into_command()]);
    a.write(&[
        &Clear { provider: uuid(2) }.into_command(),
        &Delete { uuid: uuid(2) }.into_command(),
    ]);
    b.follow();
    b.check();
    assert!(b.live.newest().catalog().class_id("CUSTOM_NEW").is_some());
    // An id that is given out again belongs to another provider.
    a.write(&[&Delete { uuid: uuid(6) }.into_command()]);
    a.write(&[&create(7, None)]);
    b.follow();
    b.check();
}

#[actix_web::test]
async fn a_foreign_claim_below_a_followed_one_is_found_by_the_generation() {
    let (mut f, _, mut b) = two().await;
    foreign_claim(&mut f, 20, 1, 4);
    // This one has read the foreign claim, so its own is a mere delta.
    let mut a = Process::start(&f.database, false);
    a.write(&[&claims(10, 1, 3)]);
    b.follow();
    assert_eq!(b.shows(1), (f.generation(1), 7));
}

#[actix_web::test]
async fn whole_trees_are_read_where_a_foreign_parent_is_met() {
    let (mut f, mut a, mut b) = two().await;
    f.execute(&format!(
        "INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id) VALUES (50, '{}', 'x', 0, 50)",
        uuid(50)
    ));
    let child = Create {
        uuid: uuid(51),
        name: "child".into(),
        parent: Some(uuid(50)),
    };
    assert!(a.write(&[&child.into_command()])[0].is_ok());
    b.follow();
    a.check();
    b.check();
}

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
    assert!(by.identity.keep_house(&mut f.conn).unwrap());
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
    assert_eq!(a.identity.fence(&mut a.conn).unwrap(), crate::db::Doubt::NeverHappened);
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
async fn in_doubt_nothing_rests_on_the_snapshot_until_all_is_read_again() {
    let (mut f, mut a, _) = two().await;
    a.write(&[&claims(10, 1, 8)]);
    // As after a failover to a database that lost commits: nothing says so but what is in the tables.
    for sql in ["DELETE FROM allocations", "DELETE FROM consumers"] {
        f.execute(sql);
    }
    a.live.doubt();
    let (answers, pending) = a.commit(&[&claims(11, 1, 9)], false).unwrap().unwrap();
    assert!(answers[0].is_ok(), "{answers:?}");
    a.publish(pending);
    assert!(a.live.is_doubtful());
    a.follow();
    assert!(!a.live.is_doubtful());
    a.check();
}

#[actix_web::test]
async fn at_a_cold_start_rows_and_revisions_are_of_one_moment() {
    let (f, mut a, _) = two().await;
    let stop = Arc::new(AtomicBool::new(false));
    let until = stop.clone();
    let writing = std::thread::spawn(move || {
        for consumer in 100.. {
            if until.load(Ordering::Relaxed) {
                break;
            }
            a.write(&[&claims(consumer, 1, 1)]);
            a.write(&[&Release {
                consumer: uuid(consumer),
            }
            .into_command()]);
            // SQLite's lock is not fair, and those who start need it too.
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    // Loaded in the midst of it: what comes after belongs to other revisions than what was read.
    let mut started: Vec<Process> = (0..10).map(|_| Process::start(&f.database, false)).collect();
    stop.store(true, Ordering::Relaxed);
    writing.join().unwrap();
    for process in &mut started {
        process.follow();
        process.check();
    }
}
