//! The locked strategy: processes with claims from the same provider wait for the provider's lock.

use std::time::Instant;

use super::multi_process::{counted, submit_together, tally};
use super::process::{Process, claim_command};
use super::*;
use crate::db::engines::dialect;

/// A failed attempt costs some twenty statements more. A locked batch sends BEGIN, pre-inserts up to three times, the
/// locks, the feed query, the plan, and COMMIT. Of four processes without locks, three attempts fail.
#[actix_web::test]
async fn batches_of_busy_processes_wait_for_the_lock_instead_of_failing() {
    let mut f = fixture();
    let others: Vec<_> = (1..4).filter_map(|_| f.start_peer()).collect();
    if others.is_empty() {
        return;
    }
    f.host(1, 1000).await.unwrap();
    let commits = "SELECT COUNT(*) AS n FROM placet_changes";
    let model = f.model.clone();
    let models: Vec<&Model> = std::iter::once(&model).chain(others.iter().map(|(it, _)| it)).collect();
    let statements = || models.iter().map(|it| it.statements()).sum::<u64>();
    let (sent_before, commits_before) = (statements(), f.number(commits));
    for round in 0..20 {
        let one_claim = |n: u32| claim(4000 + 32 * round + n, 1, "VCPU", 1, Expected::New);
        let work = (0..32)
            .zip(models.iter().cycle())
            .map(|(n, model)| (*model, one_claim(n)));
        assert_eq!(
            tally(submit_together(work.collect()).await),
            counted(&[("granted", 32)])
        );
    }
    let (sent, commits) = (statements() - sent_before, f.number(commits) - commits_before);
    assert!(commits >= 80, "four processes a round: {commits}");
    assert!(
        sent <= 9 * u64::try_from(commits).unwrap(),
        "{sent} statements for {commits} commits"
    );
    assert_eq!(f.used(1), 640);
    f.check_consumers();
}

/// The provider is not known to be contended. PostgreSQL's plan would fail again and again until the foreign
/// transaction ends, and a decision from the database takes twenty statements more. So the command is parked, and the
/// row is probed with three statements each time.
#[actix_web::test]
async fn a_batch_that_lost_a_guard_waits_for_the_row() {
    let mut f = fixture();
    let Some((other, _running)) = f.start_peer() else {
        return;
    };
    f.host(1, 10).await.unwrap();
    let mut first = Process::start(&f.database, false);
    other.submit(claim(10, 1, "VCPU", 1, Expected::New)).await.unwrap();
    first.follow();
    let (_, change) = first.decide(&[&claim_command(11, 1, 2)], false).unwrap().unwrap();
    let (model, before, began) = (other.clone(), other.statements(), Instant::now());
    let second = actix_web::rt::spawn(async move { model.submit(claim(12, 1, "VCPU", 3, Expected::New)).await });
    actix_web::rt::time::sleep(std::time::Duration::from_millis(300)).await;
    assert!(!second.is_finished(), "it waits");
    first.commit_decided(change.unwrap()).unwrap();
    // Seven probes in 300 ms, and one more for each 100 ms.
    let probes = 3 * (4 + began.elapsed().as_millis() as u64 / 100);
    second.await.unwrap().unwrap();
    let (sent, attempts) = (other.statements() - before, 20);
    assert!(sent <= probes + attempts, "{sent} statements");
    assert_eq!(f.used(1), 6);
    f.check_consumers();
}

/// The consumer's row is missing, as after some releases of OpenStack Placement. The first attempt loses its guard, and
/// the second attempt is locked.
#[actix_web::test]
async fn allocations_without_a_consumer_row_are_replaced_by_a_locked_batch_too() {
    let mut f = fixture();
    let Some((other, _running)) = f.start_peer() else {
        return;
    };
    f.host(1, 10).await.unwrap();
    other.submit(claim(10, 1, "VCPU", 3, Expected::New)).await.unwrap();
    f.execute("DELETE FROM consumers");
    other.submit(claim(10, 1, "VCPU", 4, Expected::New)).await.unwrap();
    assert_eq!(f.used(1), 4, "the old allocation is replaced");
    f.check_consumers();
}

/// A batch has inserted a consumer and waits for a provider's lock. The transaction with the lock inserts the same
/// consumer. The server undoes one of the two.
#[actix_web::test]
async fn a_batch_in_a_deadlock_with_a_peer_is_committed_in_the_end() {
    let mut f = fixture();
    let Some((other, _running)) = f.start_peer() else {
        return;
    };
    f.host(1, 10).await.unwrap();
    let mut first = Process::start(&f.database, false);
    other.submit(claim(10, 1, "VCPU", 1, Expected::New)).await.unwrap();
    first.follow();
    first.decide(&[&claim_command(11, 1, 2)], false).unwrap().unwrap();
    let second = actix_web::rt::spawn(async move { other.submit(claim(12, 1, "VCPU", 3, Expected::New)).await });
    actix_web::rt::time::sleep(std::time::Duration::from_millis(300)).await;
    assert!(!second.is_finished(), "it waits");
    let same = format!(
        "INSERT INTO consumers (uuid, project_id, user_id, generation) \
         SELECT '{}', project_id, user_id, 1 FROM consumers WHERE uuid = '{}'",
        uuid(12),
        uuid(10)
    );
    // The server chooses the transaction to undo.
    drop(diesel::sql_query(same).execute(&mut first.conn));
    dialect::rollback(&mut first.conn).unwrap();
    second.await.unwrap().unwrap();
    assert_eq!(f.used(1), 4);
    f.check_consumers();
}
