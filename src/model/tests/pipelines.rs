//! Speculative plans: batches planned while the commit before is in flight.

use super::process::{Process, claim_command, two_processes};
use super::*;
use crate::model::batch::command::{Command, Write};
use crate::model::snapshot::committed::Committed;

/// Two processes. The first knows the ids of its consumers' owners. A claim of 6 of the first host's 10 VCPU is
/// decided, and not committed yet.
async fn with_commit_in_flight() -> (Fixture, Process, Process, Committed) {
    let (f, mut a, mut b) = two_processes().await;
    a.write(&[&claim_command(1, 2, 1)]);
    b.follow();
    let (_, decided) = a
        .plan(&[&claim_command(10, 1, 6)])
        .unwrap()
        .expect("there is no conflict");
    let change = decided.expect("a claim changes something");
    (f, a, b, change)
}

/// Commits a decided change, and publishes the commit.
fn finish(process: &mut Process, change: Committed) {
    let pending = process.commit_decided(change).unwrap();
    process.publish(pending);
}

fn has_speculative_plan(process: &mut Process, change: &Committed, claim: Command) -> bool {
    let plan = process.speculate(change, &[&claim]);
    plan.is_some_and(|plan| !plan.writes.is_empty())
}

#[actix_web::test]
async fn a_speculative_plan_holds_after_the_commit_before_it() {
    let (mut f, mut a, mut b, change) = with_commit_in_flight().await;
    assert!(
        !has_speculative_plan(&mut a, &change, claim_command(11, 1, 5)),
        "6 and 5 are more than 10"
    );
    let (one, other) = (claim_command(11, 1, 3), claim_command(12, 1, 1));
    let plan = a.speculate(&change, &[&one, &other]).expect("6, 3 and 1 are not");
    finish(&mut a, change);
    assert_eq!(a.shows(1), (f.generation(1), 6));
    let (answers, decided) = a.write_plan(plan).unwrap().expect("its guards hold");
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    finish(&mut a, decided.unwrap());
    b.follow();
    let shown = (f.generation(1), 10);
    assert_eq!((a.shows(1), b.shows(1)), (shown, shown));
    a.check();
}

#[actix_web::test]
async fn a_speculative_plan_loses_its_guard_if_the_commit_before_it_fails() {
    let (_f, mut a, _, change) = with_commit_in_flight().await;
    let plan = a
        .speculate(&change, &[&claim_command(11, 1, 3)])
        .expect("there is room");
    dialect::rollback(&mut a.conn).unwrap();
    assert!(a.write_plan(plan).unwrap().is_none(), "its guard does not hold");
    let (_, decided) = a
        .plan(&[&claim_command(12, 1, 10)])
        .unwrap()
        .expect("all of it is free");
    finish(&mut a, decided.unwrap());
    assert_eq!(a.shows(1).1, 10, "the failed commit is not shown");
    a.check();
}

#[actix_web::test]
async fn nothing_is_speculated_on_a_commit_that_the_follower_applied() {
    let (mut f, mut a, _, change) = with_commit_in_flight().await;
    let commit = a.identity.pending_commit();
    let pending = a.commit_decided(change.clone()).unwrap();
    a.follow();
    assert!(
        a.store.speculate(&change, &commit).is_none(),
        "it would be applied twice"
    );
    a.publish(pending);
    assert_eq!(a.shows(1), (f.generation(1), 6));
}

#[actix_web::test]
async fn a_peers_commit_during_a_commit_in_flight_is_shown_with_it() {
    let (mut f, mut a, mut b, change) = with_commit_in_flight().await;
    if Kind::of(&b.conn) == Kind::Sqlite {
        return; // SQLite has one write transaction at a time.
    }
    assert!(has_speculative_plan(&mut a, &change, claim_command(11, 1, 1)));
    b.write(&[&claim_command(20, 2, 5)]);
    a.store.follow(&mut f.conn).unwrap();
    finish(&mut a, change);
    assert_eq!((a.shows(1), a.shows(2)), ((f.generation(1), 6), (f.generation(2), 6)));
    a.check();
}

#[actix_web::test]
async fn a_speculative_snapshot_is_not_published_if_the_follower_applied_its_commit() {
    let (mut f, mut a, mut b, change) = with_commit_in_flight().await;
    assert!(has_speculative_plan(&mut a, &change, claim_command(11, 1, 1)));
    let pending = a.commit_decided(change).unwrap();
    b.write(&[&claim_command(20, 2, 5)]);
    a.follow();
    a.publish(pending);
    assert_eq!((a.shows(1), a.shows(2)), ((f.generation(1), 6), (f.generation(2), 6)));
    a.check();
}

#[actix_web::test]
async fn a_claim_of_an_owner_whose_id_is_unknown_has_no_speculative_plan() {
    let (_f, mut a, _, change) = with_commit_in_flight().await;
    let mut stranger = claim(11, 1, "VCPU", 1, Expected::New);
    stranger.consumers[0].owner = Some(Owner {
        project: "p".into(),
        user: "unknown".into(),
    });
    assert!(!has_speculative_plan(&mut a, &change, stranger.into_command()));
}
