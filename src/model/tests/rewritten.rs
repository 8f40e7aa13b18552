//! Inventories that are shown without being read again, and another placet that is at the same provider meanwhile.

use super::process::{Decided, Process, claims, two};
use super::*;
use crate::db::writer::{Batch, PlanOutcome};
use crate::model::allocations::Release;
use crate::model::batch::command::{Command, Write};
use crate::model::batch::save::Committed;

type Way = fn(&mut Process, &[&Command]) -> Decided<Option<Committed>>;

/// Both ways to write what a batch comes to.
const WAYS: [Way; 2] = [
    |it, commands| it.decide(commands, false),
    |it, commands| it.plan(commands),
];

/// The command that gives provider 1, which is at that generation, as much of VCPU.
fn gives(generation: i64, total: i32) -> Command {
    replacing(generation, &[("VCPU", inventory(total))]).into_command()
}

impl Process {
    fn gives(&self, total: i32) -> Command {
        gives(self.shows(1).0, total)
    }
}

fn release(consumer: u32) -> Command {
    let consumer = uuid(consumer);
    Release { consumer }.into_command()
}

#[actix_web::test]
async fn what_another_placet_wrote_before_it_was_published_is_shown_too() {
    let theirs: [fn(&Process) -> Command; 3] = [|_| claims(11, 1, 2), |_| release(10), |b| b.gives(12)];
    let cases = theirs.into_iter().flat_map(|it| WAYS.map(|way| (it, way)));
    for (theirs, way) in cases {
        for is_followed in [false, true] {
            let (_f, mut a, mut b) = two().await;
            a.write(&[&claims(10, 1, 3)]);
            let ours = a.gives(20);
            let (answers, change) = way(&mut a, &[&ours]).unwrap().unwrap();
            assert!(answers[0].is_ok(), "{answers:?}");
            let pending = a.end(change.unwrap()).unwrap();
            b.follow();
            assert!(b.write(&[&theirs(&b)])[0].is_ok());
            if is_followed {
                a.follow();
                a.check();
            }
            a.publish(pending);
            a.follow();
            a.check();
            b.follow();
            b.check();
        }
    }
}

/// A release moves no generation: it waits for nobody who writes what was released.
#[actix_web::test]
async fn what_another_placet_released_while_it_was_written_is_not_shown_again() {
    for way in WAYS {
        let (f, mut a, mut b) = two().await;
        if Kind::of(&f.conn) == Kind::Sqlite {
            return; // one transaction at a time
        }
        a.write(&[&claims(10, 1, 3), &claims(11, 1, 1)]);
        b.follow();
        let ours = a.gives(20);
        let (_, change) = way(&mut a, &[&ours]).unwrap().unwrap();
        assert!(b.write(&[&release(10)])[0].is_ok());
        // Whoever follows for readers has a connection of its own.
        a.live.follow(&mut f.database.connect().unwrap()).unwrap();
        assert_eq!(a.shows(1).1, 1);
        let pending = a.end(change.unwrap()).unwrap();
        a.publish(pending);
        assert_eq!(a.shows(1).1, 1);
        a.check();
        b.follow();
        b.check();
    }
}

#[actix_web::test]
async fn claims_and_inventories_of_one_provider_are_planned_in_their_order() {
    let (mut f, mut a, mut b) = two().await;
    // A plan does not make the owner of a consumer.
    a.write(&[&claims(9, 2, 1)]);
    let (generation, _) = a.shows(1);
    let batch = [claims(10, 1, 3), gives(generation + 1, 20), claims(11, 1, 12)];
    let (answers, change) = a.plan(&batch.each_ref()).unwrap().unwrap();
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    let pending = a.end(change.unwrap()).unwrap();
    a.publish(pending);
    assert_eq!(a.shows(1), (generation + 3, 15));
    a.check();
    b.follow();
    b.check();
    assert_eq!(f.number("SELECT MAX(total) AS n FROM inventories"), 20);

    // Room that comes after it does no claim any good, nor does a generation that the claim before it moved.
    let early = [claims(12, 2, 11), gives(generation + 3, 30)];
    let stale = [claims(13, 1, 1), gives(generation + 3, 30)];
    for refused in [early, stale] {
        let planned = a.decider.plan(&mut a.conn, &refused.each_ref()).unwrap();
        assert!(matches!(planned, PlanOutcome::Refused), "{refused:?}");
    }
}

/// That more is used than there is the log says, and what is in memory may show too much of it.
#[actix_web::test]
async fn what_is_below_the_usage_is_not_planned_and_warned_of_once() {
    let (_f, mut a, mut b) = two().await;
    a.write(&[&claims(10, 1, 3)]);
    let (generation, _) = a.shows(1);
    let below = gives(generation, 2);
    assert!(matches!(
        a.decider.plan(&mut a.conn, &[&below]).unwrap(),
        PlanOutcome::MissingData
    ));
    let (answers, pending) = a.commit(&[&below], false).unwrap().unwrap();
    assert!(answers[0].is_ok(), "{answers:?}");
    let warnings = &pending.as_ref().unwrap().0.warnings;
    assert!(warnings.len() == 1 && warnings[0].contains(&uuid(1)), "{warnings:?}");
    a.publish(pending);
    a.check();
    b.follow();
    b.check();
}
