//! Two processes on one database, driven step by step. Each test is a history about a rule of the change feed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::foreign::foreign_claim;
use super::process::{Process, claim_command, two_processes};
use super::*;
use crate::model::allocations::Release;
use crate::model::batch::command::Write;
use crate::model::inventories::Clear;
use crate::model::resource_classes::Ensure;
use crate::model::resource_providers::Delete;

#[actix_web::test]
async fn a_peer_shows_a_commit_after_one_query() {
    let (mut f, mut a, mut b) = two_processes().await;
    b.follow();
    a.write(&[&claim_command(10, 1, 2), &claim_command(11, 1, 1)]);
    let generation = f.generation(1);
    let before = f.model.statements();
    // The processes and the fixture share a counter of statements.
    b.follow();
    assert_eq!(f.model.statements() - before, 1);
    assert_eq!(b.shows(1), (generation, 3));
    b.follow();
    assert_eq!(
        (f.model.statements() - before, b.shows(1)),
        (2, (generation, 3)),
        "the change is applied once"
    );
}

#[actix_web::test]
async fn a_process_with_idle_peers_queries_revisions_before_changes() {
    let (mut f, mut a, mut b) = two_processes().await;
    let followed = |f: &Fixture, b: &mut Process| {
        let (sent, read) = (f.model.statements(), b.store.stamp().reloads);
        b.follow();
        (f.model.statements() - sent, b.store.stamp().reloads - read)
    };
    let quiet = |f: &Fixture, b: &mut Process| {
        let sent: Vec<_> = (0..4).map(|_| followed(f, b)).collect();
        assert_eq!(sent, [(1, 0); 4]);
    };
    quiet(&f, &mut b);
    a.write(&[&claim_command(10, 1, 2)]);
    assert_eq!((followed(&f, &mut b), b.shows(1).1), ((2, 0), 2));
    a.write(&[&claim_command(11, 1, 3)]);
    assert_eq!(
        (followed(&f, &mut b), b.shows(1).1),
        ((1, 0), 5),
        "the peers are no longer idle"
    );
    quiet(&f, &mut b);
    let (_, pending) = b.commit(&[&claim_command(12, 1, 1)], false).unwrap().unwrap();
    assert_eq!((followed(&f, &mut b), b.shows(1).1), ((2, 0), 6), "its own commit");
    b.publish(pending);
    quiet(&f, &mut b);
    // As after a restored backup: the revision was reached again by a different commit, or is lower.
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
async fn a_commit_that_the_follower_applied_is_not_published_again() {
    let (mut f, mut a, _) = two_processes().await;
    let (_, pending) = a.commit(&[&claim_command(10, 1, 2)], false).unwrap().unwrap();
    a.follow();
    assert_eq!(a.shows(1).1, 2);
    a.publish(pending);
    assert_eq!(a.shows(1), (f.generation(1), 2));
}

#[actix_web::test]
async fn commits_that_are_published_out_of_order_are_shown_once() {
    let (_f, mut a, _) = two_processes().await;
    let (_, first) = a.commit(&[&claim_command(10, 1, 2)], false).unwrap().unwrap();
    // The first commit is published last, as if a fence had found the commit.
    let (_, second) = a.commit(&[&claim_command(11, 2, 3)], false).unwrap().unwrap();
    a.publish(second);
    assert_eq!((a.shows(1).1, a.shows(2).1), (2, 3));
    a.publish(first);
    a.check();
}

#[actix_web::test]
async fn deltas_of_two_writers_are_applied_in_any_order() {
    let (mut f, mut a, mut b) = two_processes().await;
    let (_, pending) = a.commit(&[&claim_command(10, 1, 2)], false).unwrap().unwrap();
    b.follow();
    b.write(&[&claim_command(11, 1, 3)]);
    // `a` applies the peer's change before publishing its own.
    a.follow();
    a.publish(pending);
    a.write(&[&claim_command(12, 1, 4)]);
    b.follow();
    let shown = (f.generation(1), 9);
    assert_eq!((a.shows(1), b.shows(1)), (shown, shown));
}

#[actix_web::test]
async fn a_claim_on_a_stale_snapshot_has_a_conflict_and_is_decided_again() {
    let (mut f, mut a, mut b) = two_processes().await;
    a.write(&[&claim_command(10, 1, 8)]);
    assert!(
        b.commit(&[&claim_command(11, 1, 2)], false).unwrap().is_none(),
        "it was decided on a stale generation"
    );
    let (answers, pending) = b
        .commit(&[&claim_command(11, 1, 3), &claim_command(12, 1, 2)], true)
        .unwrap()
        .unwrap();
    assert!(answers[0].is_err() && answers[1].is_ok(), "{answers:?}");
    b.publish(pending);
    a.follow();
    let shown = (f.generation(1), 10);
    assert_eq!((a.shows(1), b.shows(1)), (shown, shown));
}

#[actix_web::test]
async fn marked_providers_and_deltas_are_brought_to_the_same_moment() {
    let (_f, mut a, mut b) = two_processes().await;
    let generation = a.shows(1).0;
    let replace = replacing(generation, &[("VCPU", inventory(77)), ("MEMORY_MB", inventory(5))]);
    a.write(&[&claim_command(10, 2, 1)]);
    a.write(&[&replace.into_command(), &claim_command(11, 1, 4)]);
    a.write(&[&claim_command(12, 1, 5), &claim_command(13, 2, 1)]);
    b.follow();
    assert_eq!((b.shows(1).1, b.shows(2).1), (9, 2));
    b.check();
}

#[actix_web::test]
async fn a_peer_shows_created_and_deleted_providers_and_classes() {
    let (_f, mut a, mut b) = two_processes().await;
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
    assert!(b.store.newest().catalog().class_id("CUSTOM_NEW").is_some());
    // A reused id belongs to a different provider.
    a.write(&[&Delete { uuid: uuid(6) }.into_command()]);
    a.write(&[&create(7, None)]);
    b.follow();
    b.check();
}

#[actix_web::test]
async fn a_foreign_claim_before_a_delta_is_found_by_the_generation() {
    let (mut f, _, mut b) = two_processes().await;
    foreign_claim(&mut f, 20, 1, 4);
    // This process has loaded the foreign claim, so its own change is a plain delta.
    let mut a = Process::start(&f.database, false);
    a.write(&[&claim_command(10, 1, 3)]);
    b.follow();
    assert_eq!(b.shows(1), (f.generation(1), 7));
}

#[actix_web::test]
async fn a_child_of_an_unknown_provider_is_read_with_its_whole_tree() {
    let (mut f, mut a, mut b) = two_processes().await;
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
async fn no_decision_rests_on_an_invalid_snapshot() {
    let (mut f, mut a, _) = two_processes().await;
    a.write(&[&claim_command(10, 1, 8)]);
    // As after a failover to a database without the last commits: only the tables show the loss.
    for sql in ["DELETE FROM allocations", "DELETE FROM consumers"] {
        f.execute(sql);
    }
    a.store.invalidate();
    let (answers, pending) = a.commit(&[&claim_command(11, 1, 9)], false).unwrap().unwrap();
    assert!(answers[0].is_ok(), "{answers:?}");
    a.publish(pending);
    assert!(a.store.is_invalid());
    a.follow();
    assert!(!a.store.is_invalid());
    a.check();
}

#[actix_web::test]
async fn a_load_reads_rows_and_revisions_of_one_moment() {
    let (f, mut a, _) = two_processes().await;
    let stop = Arc::new(AtomicBool::new(false));
    let until = stop.clone();
    let writing = std::thread::spawn(move || {
        for consumer in 100.. {
            if until.load(Ordering::Relaxed) {
                break;
            }
            a.write(&[&claim_command(consumer, 1, 1)]);
            a.write(&[&Release {
                consumer: uuid(consumer),
            }
            .into_command()]);
            // SQLite's lock is not fair, and a starting process needs the lock too.
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    // These processes load between the commits. A revision and rows of two moments would lose or repeat a change.
    let mut started: Vec<Process> = (0..10).map(|_| Process::start(&f.database, false)).collect();
    stop.store(true, Ordering::Relaxed);
    writing.join().unwrap();
    for process in &mut started {
        process.follow();
        process.check();
    }
}
