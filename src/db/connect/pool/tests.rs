//! Turns to read: as many as there may be connections, and nobody holds one that nobody uses.

use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::ReadPermit;
use crate::db::{Database, Settings};
use crate::error::Error;

const A_MOMENT: Duration = Duration::from_millis(50);

/// A database for so many readers, of which nobody waits longer than `patience`. It is not made.
fn database(readers: u32, patience: Duration) -> (TempDir, Database) {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings {
        max_pool_size: readers,
        pool_timeout: patience,
        ..Settings::new(format!("sqlite:///{}", folder.path().join("pool.sqlite").display()))
    };
    let database = Database::open(&settings).unwrap();
    (folder, database)
}

async fn soon(database: &Database) -> Option<ReadPermit> {
    tokio::time::timeout(A_MOMENT, database.read_permit()).await.ok()?.ok()
}

#[tokio::test]
async fn there_are_as_many_turns_as_readers_and_who_goes_away_leaves_none_behind() {
    let (_folder, database) = database(2, Duration::from_secs(30));
    let first = soon(&database).await.expect("nobody reads");
    let second = soon(&database).await.expect("one more may");
    for _ in 0..3 {
        assert!(soon(&database).await.is_none(), "a third one");
    }
    drop(first);
    let third = soon(&database).await.expect("those that gave up are not waited for");
    assert!(soon(&database).await.is_none());
    drop((second, third));
    let both = (soon(&database).await, soon(&database).await);
    assert!(both.0.is_some() && both.1.is_some());
}

#[tokio::test]
async fn who_came_first_reads_first() {
    let (_folder, database) = database(1, Duration::from_secs(30));
    let held = database.read_permit().await.unwrap();
    let (said, mut heard) = tokio::sync::mpsc::unbounded_channel();
    for number in 0..4 {
        let (database, said) = (database.clone(), said.clone());
        tokio::spawn(async move {
            let permit = database.read_permit().await.unwrap();
            said.send(number).unwrap();
            drop(permit);
        });
        tokio::task::yield_now().await;
    }
    // Longer than anybody waits before he looks whether it is worth it.
    tokio::time::sleep(Duration::from_millis(700)).await;
    drop(held);
    for number in 0..4 {
        assert_eq!(heard.recv().await, Some(number));
    }
}

#[tokio::test]
async fn a_turn_is_waited_for_no_longer_than_pool_timeout() {
    let (_folder, database) = database(1, Duration::from_millis(200));
    let _held = database.read_permit().await.unwrap();
    let began = Instant::now();
    let refused = database.read_permit().await.err();
    assert!(matches!(refused, Some(Error::Unavailable { .. })), "{refused:?}");
    assert!(began.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn who_waits_is_told_at_once_that_no_connection_can_be_had() {
    // The file is missing: a reader makes none.
    let (_folder, database) = database(1, Duration::from_secs(30));
    let began = Instant::now();
    let held = database.read_permit().await.unwrap();
    let waiting = tokio::spawn({
        let database = database.clone();
        async move { database.read_permit().await.err() }
    });
    tokio::task::yield_now().await;
    let (failed, held) = tokio::task::spawn_blocking(move || (held.read(|_| Ok(())), held))
        .await
        .unwrap();
    assert!(matches!(failed, Err(Error::Unavailable { .. })), "{failed:?}");
    let refused = waiting.await.unwrap();
    assert!(matches!(refused, Some(Error::Unavailable { .. })), "{refused:?}");
    assert!(began.elapsed() < Duration::from_secs(5), "after {:?}", began.elapsed());
    drop(held);
}
