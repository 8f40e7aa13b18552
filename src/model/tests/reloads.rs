//! Changes that the change feed cannot supply: pruned changes, commits of pruned writers, a restored database. The
//! process reads the tables again.

use super::process::{Process, claim_command, two_processes};
use super::*;
use std::cell::Cell;

use diesel::result::Error as DbError;

use crate::db::engines::dialect;
use crate::model::snapshot::reload;

#[actix_web::test]
async fn a_gap_in_the_revisions_leads_to_a_reload() {
    let (mut f, mut a, mut b) = two_processes().await;
    a.write(&[&claim_command(10, 1, 2)]);
    a.write(&[&claim_command(11, 1, 3)]);
    f.execute("DELETE FROM placet_changes");
    b.follow();
    b.check();
    // The same with an unknown writer.
    let mut c = Process::start(&f.database, false);
    c.write(&[&claim_command(12, 2, 3)]);
    f.execute("DELETE FROM placet_changes");
    b.follow();
    b.check();
    a.follow();
    a.write(&[&claim_command(13, 2, 1)]);
    b.follow();
    b.check();
}

/// PostgreSQL looks up each revision by itself, at most twice as many as a writer keeps.
#[cfg(feature = "postgresql")]
#[actix_web::test]
async fn a_process_that_lacks_more_revisions_than_are_looked_up_reloads() {
    for (more, is_reloaded) in [(19_999, false), (20_000, true)] {
        let (mut f, mut a, mut b) = two_processes().await;
        if Kind::of(&f.conn) != Kind::Postgresql {
            return;
        }
        a.write(&[&claim_command(10, 1, 2)]);
        let commit = a.identity.committed();
        let (id, revision) = (commit.writer, commit.revision - 1);
        f.execute(&format!(
            "INSERT INTO placet_changes (writer, revision, token, committed_at, body) \
             SELECT '{id}', n, 't', now(), '{{}}' FROM generate_series({revision} + 1, {revision} + {more}) n"
        ));
        f.execute(&format!(
            "UPDATE placet_writers SET revision = {revision} + {more}, token = 't' WHERE id = '{id}'"
        ));
        let before = b.store.stamp().reloads;
        b.follow();
        assert_eq!(
            (b.store.stamp().reloads - before, b.shows(1).1),
            (u64::from(is_reloaded), 2)
        );
        b.check();
    }
}

#[actix_web::test]
async fn an_unknown_writer_that_has_committed_costs_one_more_query_once() {
    let (mut f, _, mut b) = two_processes().await;
    let statements = |f: &Fixture, b: &mut Process| {
        let before = f.model.statements();
        b.follow();
        f.model.statements() - before
    };
    let read = b.store.stamp().reloads;
    let mut c = Process::start(&f.database, false);
    assert_eq!(statements(&f, &mut b), 1, "it has not committed yet");
    let mut d = Process::start(&f.database, false);
    c.write(&[&claim_command(10, 1, 2)]);
    d.follow();
    d.write(&[&claim_command(11, 1, 3)]);
    assert_eq!(statements(&f, &mut b), 2);
    assert_eq!(b.shows(1), (f.generation(1), 5));
    d.write(&[&claim_command(12, 2, 4)]);
    assert_eq!(statements(&f, &mut b), 1);
    assert_eq!(b.shows(2), (f.generation(2), 4));
    assert_eq!(b.store.stamp().reloads, read, "changes were enough");
}

/// Makes `by` prune the writer of `gone`, as if the writer had been silent for an hour.
fn prune(f: &mut Fixture, gone: &Process, by: &Process) {
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
async fn commits_of_a_pruned_writer_that_was_never_known_are_shown() {
    let (mut f, a, mut b) = two_processes().await;
    b.follow();
    let mut c = Process::start(&f.database, false);
    c.write(&[&claim_command(10, 1, 2)]);
    prune(&mut f, &c, &a);
    b.follow();
    assert_eq!(b.shows(1).1, 2);
    b.check();
}

#[actix_web::test]
async fn commits_of_a_pruned_writer_that_was_known_are_shown() {
    let (mut f, a, mut b) = two_processes().await;
    let mut c = Process::start(&f.database, false);
    b.follow();
    c.write(&[&claim_command(10, 1, 2)]);
    // Even if the epoch stays.
    let epoch = f.texts("SELECT epoch AS t FROM placet_epoch").remove(0);
    prune(&mut f, &c, &a);
    f.execute(&format!("UPDATE placet_epoch SET epoch = '{epoch}'"));
    b.follow();
    b.check();
}

#[actix_web::test]
async fn a_process_that_only_reads_reloads_a_restored_database() {
    let (mut f, mut a, mut b) = two_processes().await;
    a.write(&[&claim_command(10, 1, 2)]);
    let backup = f.backup();
    a.write(&[&claim_command(11, 1, 3)]);
    b.follow();
    assert_eq!(b.shows(1).1, 5);
    f.restore(&backup);
    b.follow();
    assert_eq!(b.shows(1).1, 2);
    b.check();
}

#[actix_web::test]
async fn a_revision_that_is_reached_again_after_a_restore_is_another_commit() {
    let (mut f, mut a, mut b) = two_processes().await;
    let mut old = a.identity.clone();
    let backup = f.backup();
    a.write(&[&claim_command(10, 1, 2)]);
    b.follow();
    f.restore(&backup);
    // The same revision again, with a different change.
    dialect::begin_write(&mut f.conn).unwrap();
    assert!(old.raise_revision(&mut f.conn).unwrap());
    old.record(&mut f.conn, "{}".to_owned()).unwrap();
    dialect::commit(&mut f.conn).unwrap();
    b.follow();
    assert_eq!(b.shows(1).1, 0);
    b.check();
}

#[actix_web::test]
async fn a_fence_changes_nothing_and_is_no_gap() {
    let (f, mut a, mut b) = two_processes().await;
    b.follow();
    dialect::begin_write(&mut a.conn).unwrap();
    assert!(a.identity.raise_revision(&mut a.conn).unwrap());
    dialect::rollback(&mut a.conn).unwrap();
    assert_eq!(
        a.identity.fence(&mut a.conn).unwrap(),
        crate::db::CommitOutcome::NotCommitted
    );
    a.write(&[&claim_command(10, 1, 2)]);
    let before = f.model.statements();
    b.follow();
    assert_eq!((f.model.statements() - before, b.shows(1).1), (1, 2));
    // The writer's own snapshot lacked the revision of the fence.
    a.check();
}

#[actix_web::test]
async fn a_reload_that_became_obsolete_is_given_up_after_its_statement() {
    let (f, mut a, _) = two_processes().await;
    let before = f.model.statements();
    dialect::ignores_case(&mut a.conn).unwrap();
    // The collations of the columns, which are read last.
    let collations = f.model.statements() - before;
    let mut statements = |wanted: u32| {
        let before = f.model.statements();
        let checked = Cell::new(0);
        let check = || {
            checked.set(checked.get() + 1);
            if checked.get() > wanted {
                return Err(DbError::RollbackTransaction);
            }
            Ok(())
        };
        let read = dialect::read_transaction(&mut a.conn, |conn| reload::everything(conn, check));
        (read.is_ok(), f.model.statements() - before)
    };
    let (whole, all) = statements(u32::MAX);
    let (given_up, few) = (statements(0), statements(2));
    assert!(whole && !given_up.0 && !few.0);
    assert_eq!((all - given_up.1, all - few.1), (7 + collations, 5 + collations));
}

#[actix_web::test]
async fn an_unreadable_change_leads_to_a_reload() {
    let (mut f, mut a, mut b) = two_processes().await;
    a.write(&[&claim_command(10, 1, 2)]);
    f.execute("UPDATE placet_changes SET body = '{\"new\": 1}'");
    b.follow();
    b.check();
}

#[actix_web::test]
async fn without_an_epoch_no_change_is_applied_twice() {
    let (mut f, mut a, _) = two_processes().await;
    f.execute("DELETE FROM placet_epoch");
    a.follow();
    a.write(&[&claim_command(10, 1, 2)]);
    let mut late = Process::start(&f.database, false);
    late.follow();
    a.write(&[&claim_command(11, 1, 3)]);
    late.follow();
    assert_eq!((a.shows(1), late.shows(1).1), (late.shows(1), 5));
    late.check();
}
