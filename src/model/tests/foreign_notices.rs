//! A process remembers a change of a foreign writer. Commits of peers are in the change feed, and do not count.

use std::time::Duration;

use super::foreign::foreign_claim;
use super::process::{Process, claim_command, two_processes};
use super::*;

const LATELY: Duration = Duration::from_secs(600);

/// Commits a claim, decided on rows.
fn commit_on_rows(process: &mut Process, consumer: u32, host: u32) {
    let (answers, pending) = process
        .commit(&[&claim_command(consumer, host, 1)], true)
        .unwrap()
        .unwrap();
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    process.publish(pending);
}

#[actix_web::test]
async fn a_row_that_differs_from_the_snapshot_is_noticed() {
    let (mut f, mut a, mut b) = two_processes().await;
    b.follow();
    commit_on_rows(&mut a, 10, 1);
    assert!(!a.store.had_foreign_writes(LATELY));
    // A release moves no generation.
    f.execute("DELETE FROM allocations");
    f.execute("DELETE FROM consumers");
    commit_on_rows(&mut a, 11, 1);
    assert!(a.store.had_foreign_writes(LATELY));
    a.check();
}

#[actix_web::test]
async fn a_generation_that_a_peer_knows_and_this_process_does_not_is_noticed() {
    let (mut f, mut a, mut b) = two_processes().await;
    b.follow();
    foreign_claim(&mut f, 20, 1, 1);
    let newest = a.store.newest();
    let host = newest.by_uuid(&uuid(1)).map(|slot| newest.id(slot));
    a.store
        .reload_suspects(&mut a.conn, &host.into_iter().collect())
        .unwrap();
    drop(a.write(&[&claim_command(10, 1, 1)]));
    assert!(!b.store.had_foreign_writes(LATELY));
    b.follow();
    assert!(b.store.had_foreign_writes(LATELY));
    b.check();
}

#[actix_web::test]
async fn commits_of_peers_are_not_noticed_as_foreign() {
    let (_f, mut a, mut b) = two_processes().await;
    b.follow();
    for round in 0..4 {
        // The peer has not applied the commit when the peer's row differs.
        commit_on_rows(&mut a, 10 + round, 1);
        commit_on_rows(&mut b, 20 + round, 1);
    }
    // The feed is followed between the decision and the end of the commit.
    commit_on_rows(&mut a, 30, 1);
    let (_, pending) = b.commit(&[&claim_command(31, 1, 1)], true).unwrap().unwrap();
    b.follow();
    b.publish(pending);
    for process in [&mut a, &mut b] {
        process.follow();
        process.check();
        assert!(!process.store.had_foreign_writes(LATELY));
    }
}
