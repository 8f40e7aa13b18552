//! A writer's row on every engine: the fence, the pruning, and the consequences of a lost row.

use std::time::Duration;

use super::process::{Process, claim_command, two_processes};
use super::*;
use crate::db::CommitOutcome;
use crate::db::engines::dialect;

impl Process {
    /// Sends a batch without COMMIT.
    fn open_batch(&mut self) {
        dialect::begin_write(&mut self.conn).unwrap();
        assert!(self.identity.raise_revision(&mut self.conn).unwrap());
        self.identity.record(&mut self.conn, "{}".to_owned()).unwrap();
    }
}

#[actix_web::test]
async fn a_fence_finds_a_commit_and_waits_for_an_open_batch() {
    let (f, mut a, mut b) = two_processes().await;
    a.open_batch();
    dialect::commit(&mut a.conn).unwrap();
    let mut elsewhere = f.database.connect().unwrap();
    assert_eq!(a.identity.fence(&mut elsewhere).unwrap(), CommitOutcome::Committed);
    a.identity.committed();

    a.open_batch();
    let mut identity = a.identity.clone();
    let fence = std::thread::spawn(move || identity.fence(&mut elsewhere).unwrap());
    std::thread::sleep(Duration::from_millis(300));
    assert!(!fence.is_finished(), "it waits for the open batch");
    dialect::commit(&mut a.conn).unwrap();
    assert_eq!(fence.join().unwrap(), CommitOutcome::Committed);
    a.identity.committed();
    a.write(&[&claim_command(10, 1, 2)]);
    b.follow();
    b.check();
}

#[actix_web::test]
async fn a_batch_cannot_be_committed_after_its_fence() {
    let (f, mut a, mut b) = two_processes().await;
    let mut late = a.identity.clone();
    a.open_batch();
    dialect::rollback(&mut a.conn).unwrap();
    let mut elsewhere = f.database.connect().unwrap();
    assert_eq!(a.identity.fence(&mut elsewhere).unwrap(), CommitOutcome::NotCommitted);
    dialect::begin_write(&mut elsewhere).unwrap();
    assert!(
        !late.raise_revision(&mut elsewhere).unwrap(),
        "the fence has its revision"
    );
    dialect::rollback(&mut elsewhere).unwrap();
    a.write(&[&claim_command(10, 1, 2)]);
    b.follow();
    b.check();
}

#[actix_web::test]
async fn a_process_that_lacks_a_pruned_change_reloads() {
    let (mut f, mut a, mut b) = two_processes().await;
    a.write(&[&claim_command(10, 1, 2)]);
    f.execute("UPDATE placet_changes SET committed_at = '2001-01-01 00:00:00'");
    assert!(a.identity.heartbeat(&mut a.conn).unwrap());
    let writer = a.identity.clone().committed().writer;
    let left = format!("SELECT COUNT(*) AS n FROM placet_changes WHERE writer = '{writer}'");
    assert_eq!(f.number(&left), 0);
    b.follow();
    b.check();
    a.write(&[&claim_command(11, 1, 3)]);
    b.follow();
    b.check();
}

/// On MariaDB a second heartbeat within a second changes no column.
#[actix_web::test]
async fn heartbeats_in_quick_succession_all_succeed() {
    let (_f, a, _) = two_processes().await;
    let mut conn = a.conn;
    for _ in 0..10 {
        assert!(a.identity.heartbeat(&mut conn).unwrap());
    }
}

#[actix_web::test]
async fn a_writer_whose_row_is_lost_registers_again_and_loses_no_claim() {
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
