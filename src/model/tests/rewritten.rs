//! Inventories that are shown without being read again, and another placet that is at the same provider meanwhile.

use super::process::{Process, claims, two};
use super::*;
use crate::model::allocations::Release;
use crate::model::command::{Command, Write};
use crate::model::inventories::Replace;

impl Process {
    /// The command that gives provider 1 as much of VCPU.
    fn replacing(&self, total: i32) -> Command {
        let replace = Replace {
            provider: uuid(1),
            generation: self.shows(1).0,
            inventories: vec![("VCPU".into(), inventory(total))],
            reserved_may_equal_total: true,
        };
        replace.into_command()
    }
}

fn release(consumer: u32) -> Command {
    let consumer = uuid(consumer);
    Release { consumer }.into_command()
}

#[actix_web::test]
async fn what_another_placet_wrote_before_it_was_published_is_shown_too() {
    let theirs: [fn(&Process) -> Command; 3] = [|_| claims(11, 1, 2), |_| release(10), |b| b.replacing(12)];
    for theirs in theirs {
        for is_followed in [false, true] {
            let (_f, mut a, mut b) = two().await;
            a.write(&[&claims(10, 1, 3)]);
            let (answers, pending) = a.commit(&[&a.replacing(20)], false).unwrap().unwrap();
            assert!(answers[0].is_ok(), "{answers:?}");
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
    let (f, mut a, mut b) = two().await;
    if Kind::of(&f.conn) == Kind::Sqlite {
        return;
    }
    a.write(&[&claims(10, 1, 3), &claims(11, 1, 1)]);
    b.follow();
    let (_, change) = a.decide(&[&a.replacing(20)], false).unwrap().unwrap();
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
