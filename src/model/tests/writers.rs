//! A writer's row and what it leaves, on every engine: its fence, what it prunes, and a row that is lost.

use std::time::Duration;

use super::process::{Process, claims, two};
use super::*;
use crate::db::CommitOutcome;
use crate::db::engines::dialect;

impl Process {
    /// Sends all of a batch but its end, and leaves it open.
    fn open_batch(&mut self) {
        dialect::begin_write(&mut self.conn).unwrap();
        assert!(self.identity.raise_revision(&mut self.conn).unwrap());
        self.identity.record(&mut self.conn, "{}").unwrap();
    }
}

#[actix_web::test]
async fn a_fence_finds_what_was_committed_and_waits_for_what_is_under_way() {
    let (f, mut a, mut b) = two().await;
    a.open_batch();
    dialect::commit(&mut a.conn).unwrap();
    let mut elsewhere = f.database.connect().unwrap();
    assert_eq!(a.identity.fence(&mut elsewhere).unwrap(), CommitOutcome::Committed);
    a.identity.committed();

    a.open_batch();
    let mut identity = a.identity.clone();
    let fence = std::thread::spawn(move || identity.fence(&mut elsewhere).unwrap());
    std::thread::sleep(Duration::from_millis(300));
    assert!(!fence.is_finished(), "it does not know yet");
    dialect::commit(&mut a.conn).unwrap();
    assert_eq!(fence.join().unwrap(), CommitOutcome::Committed);
    a.identity.committed();
    a.write(&[&claims(10, 1, 2)]);
    b.follow();
    b.check();
}

#[actix_web::test]
async fn a_commit_that_its_fence_overtook_never_happens() {
    let (f, mut a, mut b) = two().await;
    let mut late = a.identity.clone();
    a.open_batch();
    dialect::rollback(&mut a.conn).unwrap();
    let mut elsewhere = f.database.connect().unwrap();
    assert_eq!(a.identity.fence(&mut elsewhere).unwrap(), CommitOutcome::NotCommitted);
    dialect::begin_write(&mut elsewhere).unwrap();
    assert!(!late.raise_revision(&mut elsewhere).unwrap(), "the fence has its place");
    dialect::rollback(&mut elsewhere).unwrap();
    a.write(&[&claims(10, 1, 2)]);
    b.follow();
    b.check();
}

#[actix_web::test]
async fn who_is_slower_than_a_writers_own_pruning_reads_everything() {
    let (mut f, mut a, mut b) = two().await;
    a.write(&[&claims(10, 1, 2)]);
    f.execute("UPDATE placet_changes SET committed_at = '2001-01-01 00:00:00'");
    assert!(a.identity.heartbeat(&mut a.conn).unwrap());
    let writer = a.identity.clone().committed().writer;
    let left = format!("SELECT COUNT(*) AS n FROM placet_changes WHERE writer = '{writer}'");
    assert_eq!(f.number(&left), 0);
    b.follow();
    b.check();
    a.write(&[&claims(11, 1, 3)]);
    b.follow();
    b.check();
}

/// Twice within a second writes nothing new on MariaDB.
#[actix_web::test]
async fn a_writer_may_say_again_and_again_that_it_lives() {
    let (_f, a, _) = two().await;
    let mut conn = a.conn;
    for _ in 0..10 {
        assert!(a.identity.heartbeat(&mut conn).unwrap());
    }
}

#[actix_web::test]
async fn a_writer_whose_row_is_lost_takes_another_and_nothing_is_lost() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    let mut b = Process::start(&f.database, false);
    for (consumer, lost) in [
        (10, "DELETE FROM placet_writers"),
        (11, "UPDATE placet_writers SET token = 'another'"),
    ] {
        f.execute(lost);
        f.model
            .submit(claim(consumer, 1, "VCPU", 2, Expected::New))
            .await
            .unwrap();
        b.follow();
        b.check();
        f.check_snapshot().await;
    }
    assert_eq!(f.used(1), 4);
}
