//! Two processes on one database, moved step by step: every rule of following, each by the history that needs it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::foreign::foreign_claim;
use super::process::{Process, claims, two};
use super::*;
use crate::model::allocations::Release;
use crate::model::batch::command::Write;
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
async fn in_doubt_nothing_rests_on_the_snapshot_until_all_is_read_again() {
    let (mut f, mut a, _) = two().await;
    a.write(&[&claims(10, 1, 8)]);
    // As after a failover to a database that lost commits: nothing says so but what is in the tables.
    for sql in ["DELETE FROM allocations", "DELETE FROM consumers"] {
        f.execute(sql);
    }
    a.live.invalidate();
    let (answers, pending) = a.commit(&[&claims(11, 1, 9)], false).unwrap().unwrap();
    assert!(answers[0].is_ok(), "{answers:?}");
    a.publish(pending);
    assert!(a.live.is_invalid());
    a.follow();
    assert!(!a.live.is_invalid());
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
