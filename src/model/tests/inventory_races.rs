//! Inventories written by a process, and shown without a read, while a peer writes to the same provider.

use super::process::{Decided, Process, claim_command, two_processes};
use super::*;
use crate::db::writer::{Batch, Decision};
use crate::model::allocations::Release;
use crate::model::batch::command::{Command, Write};
use crate::model::snapshot::committed::Committed;

type Strategy = fn(&mut Process, &[&Command]) -> Decided<Option<Committed>>;

/// A batch is decided inside the transaction, or planned before the transaction.
const STRATEGIES: [Strategy; 2] = [
    |process, commands| process.decide(commands, false),
    |process, commands| process.plan(commands),
];

/// The command for setting the VCPU of provider 1 at this generation.
fn set_vcpu(generation: i64, total: i32) -> Command {
    replacing(generation, &[("VCPU", inventory(total))]).into_command()
}

impl Process {
    fn set_vcpu(&self, total: i32) -> Command {
        set_vcpu(self.shows(1).0, total)
    }
}

fn release(consumer: u32) -> Command {
    let consumer = uuid(consumer);
    Release { consumer }.into_command()
}

#[actix_web::test]
async fn a_peers_write_between_commit_and_publication_is_shown_too() {
    let peer_commands: [fn(&Process) -> Command; 3] =
        [|_| claim_command(11, 1, 2), |_| release(10), |b| b.set_vcpu(12)];
    let cases = peer_commands
        .into_iter()
        .flat_map(|it| STRATEGIES.map(|strategy| (it, strategy)));
    for (peer_command, strategy) in cases {
        for is_followed in [false, true] {
            let (_f, mut a, mut b) = two_processes().await;
            a.write(&[&claim_command(10, 1, 3)]);
            let replace = a.set_vcpu(20);
            let (answers, change) = strategy(&mut a, &[&replace]).unwrap().unwrap();
            assert!(answers[0].is_ok(), "{answers:?}");
            let pending = a.commit_decided(change.unwrap()).unwrap();
            b.follow();
            assert!(b.write(&[&peer_command(&b)])[0].is_ok());
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

/// A release moves no generation, so the release does not wait for the transaction on the provider.
#[actix_web::test]
async fn usage_that_a_peer_released_during_the_write_is_not_shown_again() {
    for strategy in STRATEGIES {
        let (f, mut a, mut b) = two_processes().await;
        if Kind::of(&f.conn) == Kind::Sqlite {
            return; // SQLite has one write transaction at a time.
        }
        a.write(&[&claim_command(10, 1, 3), &claim_command(11, 1, 1)]);
        b.follow();
        let replace = a.set_vcpu(20);
        let (_, change) = strategy(&mut a, &[&replace]).unwrap().unwrap();
        assert!(b.write(&[&release(10)])[0].is_ok());
        // The follower has a connection of its own.
        a.store.follow(&mut f.database.connect().unwrap()).unwrap();
        assert_eq!(a.shows(1).1, 1);
        let pending = a.commit_decided(change.unwrap()).unwrap();
        a.publish(pending);
        assert_eq!(a.shows(1).1, 1);
        a.check();
        b.follow();
        b.check();
    }
}

#[actix_web::test]
async fn claims_and_inventories_of_one_provider_are_planned_in_their_order() {
    let (mut f, mut a, mut b) = two_processes().await;
    // A plan does not insert the owner of a consumer, so this claim does.
    a.write(&[&claim_command(9, 2, 1)]);
    let (generation, _) = a.shows(1);
    let batch = [
        claim_command(10, 1, 3),
        set_vcpu(generation + 1, 20),
        claim_command(11, 1, 12),
    ];
    let (answers, change) = a.plan(&batch.each_ref()).unwrap().unwrap();
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    let pending = a.commit_decided(change.unwrap()).unwrap();
    a.publish(pending);
    assert_eq!(a.shows(1), (generation + 3, 15));
    a.check();
    b.follow();
    b.check();
    assert_eq!(f.number("SELECT MAX(total) AS n FROM inventories"), 20);

    // A claim cannot use capacity added by a later command. A generation is stale after a claim has moved it.
    let early = [claim_command(12, 2, 11), set_vcpu(generation + 3, 30)];
    let stale = [claim_command(13, 1, 1), set_vcpu(generation + 3, 30)];
    for refused in [early, stale] {
        let plan = a.decider.plan(&mut a.conn, &refused.each_ref()).unwrap().unwrap();
        assert!(
            plan.decisions.iter().any(|it| matches!(it, Decision::Unverified)),
            "{refused:?}"
        );
    }
}

/// The log warns of an inventory below its usage. The usage in memory may be too high.
#[actix_web::test]
async fn an_inventory_below_its_usage_is_not_planned_and_causes_one_warning() {
    let (_f, mut a, mut b) = two_processes().await;
    a.write(&[&claim_command(10, 1, 3)]);
    let (generation, _) = a.shows(1);
    let below = set_vcpu(generation, 2);
    assert!(a.decider.plan(&mut a.conn, &[&below]).unwrap().is_none());
    let (answers, pending) = a.commit(&[&below], false).unwrap().unwrap();
    assert!(answers[0].is_ok(), "{answers:?}");
    let warnings = &pending.as_ref().unwrap().0.warnings;
    assert!(warnings.len() == 1 && warnings[0].contains(&uuid(1)), "{warnings:?}");
    a.publish(pending);
    a.check();
    b.follow();
    b.check();
}
