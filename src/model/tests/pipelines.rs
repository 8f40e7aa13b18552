//! Batches that are decided behind a commit which is still under way.

use super::process::{Process, claims, two};
use super::*;
use crate::model::batch::command::Command;
use crate::model::batch::save::Committed;

/// Two processes, of which the first knows to whom consumers belong, and has decided a claim of 6 of the first host's 10.
async fn under_way() -> (Fixture, Process, Process, Committed) {
    let (f, mut a, mut b) = two().await;
    a.write(&[&claims(1, 2, 1)]);
    b.follow();
    let (_, decided) = a.plan(&[&claims(10, 1, 6)]).unwrap().expect("nobody stands in the way");
    let change = decided.expect("a claim changes something");
    (f, a, b, change)
}

/// Commits what was decided, and publishes it.
fn finish(it: &mut Process, change: Committed) {
    let pending = it.end(change).unwrap();
    it.publish(pending);
}

fn is_foreseen(it: &mut Process, change: &Committed, claim: Command) -> bool {
    it.speculate(change, &[&claim]).is_some()
}

#[actix_web::test]
async fn a_batch_is_decided_behind_a_commit_and_holds_after_it() {
    let (mut f, mut a, mut b, change) = under_way().await;
    assert!(
        !is_foreseen(&mut a, &change, claims(11, 1, 5)),
        "6 and 5 are more than 10"
    );
    let (one, other) = (claims(11, 1, 3), claims(12, 1, 1));
    let plan = a.speculate(&change, &[&one, &other]).expect("6, 3 and 1 are not");
    finish(&mut a, change);
    assert_eq!(a.shows(1), (f.generation(1), 6));
    let (answers, decided) = a.write_plan(plan).unwrap().expect("it rests on what is there");
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    finish(&mut a, decided.unwrap());
    b.follow();
    let shown = (f.generation(1), 10);
    assert_eq!((a.shows(1), b.shows(1)), (shown, shown));
    a.check();
}

#[actix_web::test]
async fn a_plan_behind_a_commit_that_did_not_happen_loses_its_guard() {
    let (_f, mut a, _, change) = under_way().await;
    let plan = a.speculate(&change, &[&claims(11, 1, 3)]).expect("there is room");
    dialect::rollback(&mut a.conn).unwrap();
    assert!(a.write_plan(plan).unwrap().is_none(), "it rests on what is not there");
    let (_, decided) = a.plan(&[&claims(12, 1, 10)]).unwrap().expect("all of it is free");
    finish(&mut a, decided.unwrap());
    assert_eq!(a.shows(1).1, 10, "what was speculative is not shown");
    a.check();
}

#[actix_web::test]
async fn what_a_reader_has_followed_already_is_not_foreseen() {
    let (mut f, mut a, _, change) = under_way().await;
    let commit = a.identity.pending_commit();
    let pending = a.end(change.clone()).unwrap();
    a.follow();
    assert!(
        a.live.speculate(&change, &commit).is_none(),
        "it would be counted twice"
    );
    a.publish(pending);
    assert_eq!(a.shows(1), (f.generation(1), 6));
}

#[actix_web::test]
async fn what_others_commit_meanwhile_is_shown_with_what_was_foreseen() {
    let (mut f, mut a, mut b, change) = under_way().await;
    if Kind::of(&b.conn) == Kind::Sqlite {
        return; // where nobody writes while somebody does
    }
    assert!(is_foreseen(&mut a, &change, claims(11, 1, 1)));
    b.write(&[&claims(20, 2, 5)]);
    a.live.follow(&mut f.conn).unwrap();
    finish(&mut a, change);
    assert_eq!((a.shows(1), a.shows(2)), ((f.generation(1), 6), (f.generation(2), 6)));
    a.check();
}

#[actix_web::test]
async fn what_was_foreseen_is_not_published_where_a_reader_followed_it() {
    let (mut f, mut a, mut b, change) = under_way().await;
    assert!(is_foreseen(&mut a, &change, claims(11, 1, 1)));
    let pending = a.end(change).unwrap();
    b.write(&[&claims(20, 2, 5)]);
    a.follow();
    a.publish(pending);
    assert_eq!((a.shows(1), a.shows(2)), ((f.generation(1), 6), (f.generation(2), 6)));
    a.check();
}

#[actix_web::test]
async fn nothing_is_foreseen_of_owners_whose_ids_are_not_known() {
    let (_f, mut a, _, change) = under_way().await;
    let mut stranger = claim(11, 1, "VCPU", 1, Expected::New);
    stranger.consumers[0].owner = Some(Owner {
        project: "p".into(),
        user: "somebody new".into(),
    });
    assert!(!is_foreseen(&mut a, &change, Command::Claim(stranger)));
}
