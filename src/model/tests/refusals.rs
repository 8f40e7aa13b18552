//! Commands refused on the snapshot: the rest of the batch is committed without the refused commands, and each refusal
//! is verified on rows.

use super::multi_process::{counted, submit_together, tally};
use super::process::{Process, claim_command, results};
use super::*;
use crate::db::engines::dialect;
use crate::db::writer::{Batch, Decision};
use crate::error::{Error, Room};
use crate::model::allocations::Release;
use crate::model::batch::command::{Command, Write};

#[actix_web::test]
async fn granted_commands_are_planned_as_if_the_refused_had_not_come() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    f.host(2, 2).await.unwrap();
    // A plan needs the rows of the project and the user.
    f.model.submit(claim(20, 1, "VCPU", 1, Expected::New)).await.unwrap();
    f.model.submit(Release { consumer: uuid(20) }).await.unwrap();
    let mut process = Process::start(&f.database, true);
    let (granted, refused) = (
        [claim_command(10, 1, 6), claim_command(12, 1, 4)],
        claim_command(11, 2, 3),
    );
    let batch = [&granted[0], &refused, &granted[1]];
    let mut plan = process.decider.plan(&mut process.conn, &batch).unwrap().unwrap();
    assert!(matches!(plan.decisions.remove(1), Decision::Unverified));
    let other = plan.decisions.clone();
    assert!(results(other).iter().all(Result::is_ok));
    let (_, change) = process.write_plan(plan).unwrap().unwrap();
    let pending = process.commit_decided(change.unwrap()).unwrap();
    process.publish(pending);
    assert_eq!((f.used(1), f.used(2)), (10, 0));
    let of_the_refused = format!("SELECT COUNT(*) AS n FROM consumers WHERE uuid = '{}'", uuid(11));
    assert_eq!(f.number(&of_the_refused), 0);
    assert_eq!(f.generation(2), 1, "the generation of its inventory");
    process.check();
}

#[actix_web::test]
async fn a_plan_whose_commands_are_all_refused_writes_nothing() {
    let mut f = fixture();
    f.host(1, 2).await.unwrap();
    let mut process = Process::start(&f.database, true);
    let refused = claim_command(10, 1, 3);
    let plan = process.decider.plan(&mut process.conn, &[&refused]).unwrap().unwrap();
    assert!(plan.writes.is_empty() && plan.written.is_empty());
}

#[actix_web::test]
async fn a_command_on_an_existing_consumer_is_left_out_of_its_batch_too() {
    let mut f = fixture();
    f.host(1, 10).await.unwrap();
    for consumer in [10, 11] {
        f.model
            .submit(claim(consumer, 1, "VCPU", 1, Expected::New))
            .await
            .unwrap();
    }
    let mut process = Process::start(&f.database, true);
    let replace = |consumer, amount| claim(consumer, 1, "VCPU", amount, Expected::Is(1)).into_command();
    let (granted, refused) = (replace(10, 5), replace(11, 20));
    dialect::begin_write(&mut process.conn).unwrap();
    assert!(process.identity.raise_revision(&mut process.conn).unwrap());
    let executed = process
        .decider
        .run(&mut process.conn, &[&granted, &refused], false)
        .unwrap();
    assert!(matches!(
        executed.decisions[..],
        [Decision::Granted(_), Decision::Unverified]
    ));
    let pending = process.commit_decided(executed.change.unwrap()).unwrap();
    process.publish(pending);
    assert_eq!(f.used(1), 6);
    f.check_consumers();
    process.check();
}

/// A release by a foreign writer moves no generation, so the snapshot does not show the release.
#[actix_web::test]
async fn a_refusal_is_verified_on_rows_and_a_command_that_fits_them_is_granted() {
    let mut f = fixture();
    f.host(1, 3).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 3, Expected::New)).await.unwrap();
    let (fits, refused) = (claim_command(11, 1, 2), claim_command(12, 1, 4));
    let snapshot = f.model.snapshot().await.unwrap();
    let verify = |f: &mut Fixture, commands: &[&Command]| {
        refusals_of(verification(&rules(), &snapshot).verify(&mut f.conn, commands))
    };
    assert!(verify(&mut f, &[&fits, &refused]).iter().all(Option::is_some));
    f.execute("DELETE FROM allocations");
    f.execute("DELETE FROM consumers");
    let verified = verify(&mut f, &[&fits, &refused]);
    let full = Error::CapacityExceeded {
        class: "VCPU".into(),
        provider: uuid(1),
        room: Room::default(),
    };
    assert_eq!(verified, [None, Some(full)]);
    // Each command is decided alone: two commands that fit, but not together, are not refused.
    assert_eq!(verify(&mut f, &[&fits, &claim_command(13, 1, 3)]), [None, None]);
    f.model.submit(claim(11, 1, "VCPU", 2, Expected::New)).await.unwrap();
    assert_eq!(f.used(1), 2);
}

#[actix_web::test]
async fn verified_commands_may_name_a_consumer_in_two_spellings() {
    let mut f = fixture();
    f.host(1, 3).await.unwrap();
    f.model.submit(claim(10, 1, "VCPU", 1, Expected::New)).await.unwrap();
    let release = |consumer: String| Release { consumer }.into_command();
    let (upper, other) = (release(uuid(0xabc).to_uppercase()), release(uuid(0xabc)));
    let commands = [&upper, &other, &release(uuid(10))];
    let snapshot = f.model.snapshot().await.unwrap();
    let verified = refusals_of(verification(&rules(), &snapshot).verify(&mut f.conn, &commands));
    let verified: Vec<bool> = verified.iter().map(Option::is_some).collect();
    assert_eq!(verified, [true, true, false]);
}

#[actix_web::test]
async fn of_many_claims_at_once_each_that_does_not_fit_is_refused_and_no_other() {
    let mut f = fixture();
    f.host(1, 1000).await.unwrap();
    f.host(2, 8).await.unwrap();
    let model = f.model.clone();
    let one = |n: u32| {
        claim(
            100 + n,
            if n.is_multiple_of(3) { 2 } else { 1 },
            "VCPU",
            1,
            Expected::New,
        )
    };
    let claims = (0..90).map(|n| (&model, one(n))).collect();
    let expected = counted(&[("granted", 68), ("CapacityExceeded", 22)]);
    assert_eq!(tally(submit_together(claims).await), expected);
    assert_eq!((f.used(1), f.used(2)), (60, 8));
    f.check_consumers();
    f.check_snapshot().await;
}
