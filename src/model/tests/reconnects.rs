//! Changes that need no reload: a restart of a peer, and a new connection to the same database.

use super::process::{Process, claim_command, two_processes};
use super::*;
use crate::db::Identity;
use crate::db::engines::dialect;

/// Makes `by` prune the writer of `gone`, as if the writer had been silent for an hour.
fn prune(f: &mut Fixture, gone: &Process, by: &Process) {
    let writer = gone.identity.clone().committed().writer;
    f.execute(&format!(
        "UPDATE placet_writers SET seen_at = '2001-01-01 00:00:00' WHERE id = '{writer}'"
    ));
    assert!(by.identity.heartbeat(&mut f.conn).unwrap());
}

#[actix_web::test]
async fn a_pruned_writer_that_was_followed_to_its_end_reloads_nothing() {
    let (mut f, mut a, mut b) = two_processes().await;
    let epoch = f.texts("SELECT epoch AS t FROM placet_epoch");
    let (mut c, mut d) = (Process::start(&f.database, false), Process::start(&f.database, false));
    c.write(&[&claim_command(10, 1, 2)]);
    d.write(&[&claim_command(11, 2, 3)]);
    a.follow();
    b.follow();
    // Two epochs end, and `b` misses the epoch in between.
    prune(&mut f, &c, &a);
    a.follow();
    prune(&mut f, &d, &a);
    assert_ne!(f.texts("SELECT epoch AS t FROM placet_epoch"), epoch);
    a.write(&[&claim_command(12, 1, 4)]);
    for process in [&mut a, &mut b] {
        process.follow();
        process.check();
        assert_eq!(process.store.stamp().reloads, 0);
        assert!(
            !process
                .store
                .revisions()
                .writers
                .contains_key(&c.identity.clone().committed().writer)
        );
    }
    // The writer's last commit was not followed.
    let mut e = Process::start(&f.database, false);
    e.write(&[&claim_command(13, 1, 1)]);
    b.follow();
    e.write(&[&claim_command(14, 1, 1)]);
    prune(&mut f, &e, &a);
    b.follow();
    assert_eq!(b.store.stamp().reloads, 1);
    b.check();
}

#[actix_web::test]
async fn positions_of_pruned_writers_are_kept_for_an_hour() {
    let (mut f, a, _) = two_processes().await;
    let kept = |f: &mut Fixture| {
        f.number("SELECT COUNT(*) AS n FROM placet_changes WHERE writer NOT IN (SELECT id FROM placet_writers)")
    };
    let c = Process::start(&f.database, false);
    prune(&mut f, &c, &a);
    assert_eq!(kept(&mut f), 2, "the writer's position, and the epoch before");
    f.execute("UPDATE placet_changes SET committed_at = '2001-01-01 00:00:00'");
    let d = Process::start(&f.database, false);
    prune(&mut f, &d, &a);
    assert_eq!(kept(&mut f), 2, "only the newer ones");
}

/// Whether the snapshot of a process stays valid on a new connection.
fn stays_valid(f: &mut Fixture, process: &mut Process) -> bool {
    process.store.revalidate(&mut f.database.connect().unwrap()).unwrap();
    let valid = !process.store.is_invalid();
    process.follow();
    process.check();
    valid
}

#[actix_web::test]
async fn a_new_connection_to_the_same_database_reloads_nothing() {
    let (mut f, mut a, mut b) = two_processes().await;
    a.write(&[&claim_command(10, 1, 2)]);
    b.follow();
    assert!(stays_valid(&mut f, &mut b));
    // Peers have committed since, including a new peer.
    a.write(&[&claim_command(11, 1, 3)]);
    Process::start(&f.database, false).write(&[&claim_command(12, 2, 1)]);
    assert!(stays_valid(&mut f, &mut b));
    assert_eq!((b.store.stamp().reloads, b.shows(1).1), (0, 5));
    // A writer was pruned since.
    let c = Process::start(&f.database, false);
    b.follow();
    prune(&mut f, &c, &a);
    assert!(stays_valid(&mut f, &mut b));
}

#[actix_web::test]
async fn a_new_connection_to_a_database_that_lacks_a_commit_reloads() {
    let (mut f, mut a, mut b) = two_processes().await;
    a.write(&[&claim_command(10, 1, 2)]);
    let (backup, mut old) = (f.backup(), a.identity.clone());
    a.write(&[&claim_command(11, 1, 3)]);
    b.follow();
    f.restore(&backup);
    assert!(!stays_valid(&mut f, &mut b));
    assert_eq!(b.shows(1).1, 2);
    // As after a failover to an asynchronous standby: the writer's commit is lost, and the writer's fence takes the
    // revision. The writer has gone on since.
    a.identity = old.clone();
    a.follow();
    a.write(&[&claim_command(12, 1, 4)]);
    b.follow();
    f.restore(&backup);
    for _ in 0..2 {
        dialect::begin_write(&mut f.conn).unwrap();
        assert!(old.raise_revision(&mut f.conn).unwrap());
        old.record(&mut f.conn, "{}".to_owned()).unwrap();
        dialect::commit(&mut f.conn).unwrap();
        old.committed();
    }
    assert!(!stays_valid(&mut f, &mut b));
    assert_eq!(b.shows(1).1, 2);
    // The writer's row is gone, and the epoch is different.
    f.execute("DELETE FROM placet_writers");
    assert!(!stays_valid(&mut f, &mut b));
    f.execute("UPDATE placet_epoch SET epoch = 'another'");
    assert!(!stays_valid(&mut f, &mut b));
    drop(Identity::register(&mut f.conn));
}
