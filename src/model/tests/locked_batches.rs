//! Processes that claim from the same provider and wait for their turns there.

use super::process::{Process, claims};
use super::several::{counted, tally, together};
use super::*;
use crate::db::engines::dialect;

/// What is decided in vain costs some twenty statements more; a turn is BEGIN, new rows up to three times, the lock,
/// what others did, the rest, COMMIT. Of four processes that do not wait three decide in vain.
#[actix_web::test]
async fn busy_processes_wait_for_their_turns() {
    let mut f = fixture();
    let others: Vec<_> = (1..4).filter_map(|_| f.another()).collect();
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
        let one = |n: u32| claim(4000 + 32 * round + n, 1, "VCPU", 1, Expected::New);
        let work = (0..32).zip(models.iter().cycle()).map(|(n, model)| (*model, one(n)));
        assert_eq!(tally(together(work.collect()).await), counted(&[("granted", 32)]));
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

/// Whom nobody was seen to meet there before. Without a turn PostgreSQL's plan loses again and again until the other one is
/// done, and the longer way is twenty statements more.
#[actix_web::test]
async fn who_lost_a_guard_waits_there_for_its_turn() {
    let mut f = fixture();
    let Some((other, _running)) = f.another() else { return };
    f.host(1, 10).await.unwrap();
    let mut first = Process::start(&f.database, false);
    other.submit(claim(10, 1, "VCPU", 1, Expected::New)).await.unwrap();
    first.follow();
    let (_, change) = first.decide(&[&claims(11, 1, 2)], false).unwrap().unwrap();
    let (model, before) = (other.clone(), other.statements());
    let second = actix_web::rt::spawn(async move { model.submit(claim(12, 1, "VCPU", 3, Expected::New)).await });
    actix_web::rt::time::sleep(std::time::Duration::from_millis(300)).await;
    assert!(!second.is_finished(), "it waits");
    first.end(change.unwrap()).unwrap();
    second.await.unwrap().unwrap();
    let sent = other.statements() - before;
    assert!(sent <= 20, "{sent} statements");
    assert_eq!(f.used(1), 6);
    f.check_consumers();
}

/// Its consumer's row is gone, as some OpenStack Placement left it behind. The guard that is lost first leads to a turn.
#[actix_web::test]
async fn what_a_new_consumer_holds_is_found_in_a_turn_too() {
    let mut f = fixture();
    let Some((other, _running)) = f.another() else { return };
    f.host(1, 10).await.unwrap();
    other.submit(claim(10, 1, "VCPU", 3, Expected::New)).await.unwrap();
    f.execute("DELETE FROM consumers");
    other.submit(claim(10, 1, "VCPU", 4, Expected::New)).await.unwrap();
    assert_eq!(f.used(1), 4, "the old ones are replaced");
    f.check_consumers();
}

/// One who made a consumer waits for a provider, and who holds that makes the same consumer: the server undoes one of them.
#[actix_web::test]
async fn of_two_who_wait_for_each_other_one_is_undone_and_tried_again() {
    let mut f = fixture();
    let Some((other, _running)) = f.another() else { return };
    f.host(1, 10).await.unwrap();
    let mut first = Process::start(&f.database, false);
    other.submit(claim(10, 1, "VCPU", 1, Expected::New)).await.unwrap();
    first.follow();
    first.decide(&[&claims(11, 1, 2)], false).unwrap().unwrap();
    let second = actix_web::rt::spawn(async move { other.submit(claim(12, 1, "VCPU", 3, Expected::New)).await });
    actix_web::rt::time::sleep(std::time::Duration::from_millis(300)).await;
    assert!(!second.is_finished(), "it waits");
    let same = format!(
        "INSERT INTO consumers (uuid, project_id, user_id, generation) \
         SELECT '{}', project_id, user_id, 1 FROM consumers WHERE uuid = '{}'",
        uuid(12),
        uuid(10)
    );
    // Whether this one is undone, or the other one and this goes on, is the server's choice.
    drop(diesel::sql_query(same).execute(&mut first.conn));
    dialect::rollback(&mut first.conn).unwrap();
    second.await.unwrap().unwrap();
    assert_eq!(f.used(1), 4);
    f.check_consumers();
}
