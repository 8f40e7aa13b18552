//! Reloads in the middle of commits, with a seed. The invariants are in docs/internals/replication.md: no commit of
//! this process waits for a reload, a valid snapshot shows every acknowledged commit, and in the end each snapshot
//! equals the tables.
//!
//! `PLACET_SEED` repeats a run, as far as threads can be repeated.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::process::{Process, claim_command, two_processes};
use super::replays::Rng;
use super::*;
use crate::db::{Fault, fault};
use crate::model::allocations::Release;
use crate::model::batch::command::{Command, Write};
use crate::model::snapshot::store::SnapshotStore;
use crate::model::traits;

const COMMITS: u32 = 300;
/// How often a commit is looked for.
const CHECKS: usize = 4;

/// Commits to the process's own host and to a host of both processes, until the end. A valid snapshot shows each
/// commit.
fn commit_all(process: &mut Process, own: u32, rng: &mut Rng) {
    let mut used = 0;
    for n in 0..COMMITS {
        let consumer = own * 10_000 + n;
        let mut commands: Vec<Command> = vec![claim_command(consumer, own, 1)];
        match rng.below(5) {
            // A new provider, a new trait and a renewed inventory are not deltas alone.
            0 => commands.push(creating(consumer)),
            1 => commands.push(ensuring(consumer)),
            2 => commands.push(claim_command(consumer + 5_000, 3, 1)),
            3 if n > 0 => {
                let last = uuid(consumer - 1);
                commands.push(Release { consumer: last }.into_command());
                used -= 1;
            }
            _ => {}
        }
        used += 1;
        let commands: Vec<&Command> = commands.iter().collect();
        // A peer may have changed the shared host first, or may wait for the host too.
        let pending = loop {
            match process.commit(&commands, rng.below(2) == 0) {
                Ok(Some((answers, pending))) => {
                    assert!(answers.iter().all(|answer| answer.is_ok()), "{answers:?}");
                    break pending;
                }
                Ok(None) => drop(process.store.try_follow(&mut process.conn).unwrap()),
                Err(error) => assert_eq!(fault::classify(&error), Fault::Retry, "{error}"),
            }
        };
        process.publish(pending);
        // A reload without the commit may end a little later. The next commit would repair the snapshot.
        for _ in 0..CHECKS {
            if !process.store.is_invalid() {
                assert_eq!(process.shows(own).1, used, "after commit {n}");
            }
            std::thread::sleep(Duration::from_millis(rng.below(3)));
        }
    }
}

fn creating(n: u32) -> Command {
    Create {
        uuid: uuid(n),
        name: format!("host-{n}"),
        parent: None,
    }
    .into_command()
}

fn ensuring(n: u32) -> Command {
    traits::Ensure {
        name: format!("CUSTOM_{n}"),
    }
    .into_command()
}

/// Invalidates and reloads, or reads marked rows, until `stop`. Returns the number of reloads.
fn reload_until(stop: &AtomicBool, store: &SnapshotStore, conn: &mut DbConnection, rng: &mut Rng) -> u64 {
    while !stop.load(Ordering::Acquire) {
        match rng.below(4) {
            0 => store.invalidate(),
            1 => {
                let newest = store.newest();
                let all = newest.iter().map(|slot| newest.id(slot)).collect();
                store.reload_suspects(conn, &all).unwrap();
            }
            2 => store.reload_catalog(conn).unwrap(),
            _ => drop(store.follow(conn).unwrap()),
        }
    }
    store.stamp().reloads
}

#[actix_web::test]
async fn reloads_between_commits_lose_none_and_repeat_none() {
    let seed = std::env::var("PLACET_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("PLACET_SEED={seed}");
    let (mut f, a, b) = two_processes().await;
    f.host(3, 1_000_000).await.unwrap();
    for host in [1, 2] {
        f.model.submit(replacing_all(host, 1_000_000)).await.unwrap();
    }
    let mut processes = [a, b];
    processes.iter_mut().for_each(Process::follow);
    let stop = Arc::new(AtomicBool::new(false));
    let reloads: Vec<u64> = std::thread::scope(|scope| {
        let mut reloading = Vec::new();
        for (n, process) in processes.iter().enumerate() {
            let (stop, store, database) = (stop.clone(), process.store.clone(), f.database.clone());
            let mut rng = Rng::new(seed + 10 + n as u64);
            reloading
                .push(scope.spawn(move || reload_until(&stop, &store, &mut database.connect().unwrap(), &mut rng)));
        }
        let committing: Vec<_> = (1..)
            .zip(&mut processes)
            .map(|(own, process)| scope.spawn(move || commit_all(process, own, &mut Rng::new(seed + u64::from(own)))))
            .collect();
        let ended: Vec<_> = committing.into_iter().map(|thread| thread.join()).collect();
        stop.store(true, Ordering::Release);
        let reloads = reloading.into_iter().map(|thread| thread.join().unwrap()).collect();
        ended.into_iter().for_each(|result| result.unwrap());
        reloads
    });
    for process in &mut processes {
        process.follow();
        process.check();
    }
    println!("{reloads:?} reloads");
    assert!(reloads.iter().all(|count| *count > 10), "too few to say anything");
}

/// The second thread must not make the reload of the first thread obsolete.
#[actix_web::test]
async fn threads_that_find_another_epoch_at_the_same_time_invalidate_once() {
    const EPOCHS: u64 = 40;
    let (mut f, _, mut b) = two_processes().await;
    b.follow();
    let mut conns = [(); 2].map(|()| f.database.connect().unwrap());
    for number in 1..=EPOCHS {
        f.execute(&format!("UPDATE placet_epoch SET epoch = 'another-{number}'"));
        std::thread::scope(|scope| {
            for conn in &mut conns {
                scope.spawn(|| b.store.follow(conn).unwrap());
            }
        });
        assert_eq!(
            (b.store.stamp().invalidations, b.store.stamp().reloads),
            (number, number)
        );
    }
    b.check();
}

/// The command for this much VCPU on a host.
fn replacing_all(host: u32, total: i32) -> Replace {
    Replace {
        provider: uuid(host),
        generation: 1,
        inventories: [("VCPU".to_owned(), inventory(total))].into(),
        reserved_may_equal_total: true,
    }
}
