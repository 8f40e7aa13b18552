//! Read permits: a permit for each connection of the pool, given in order, and returned by a read that gives up.

use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::ReadPermit;
use crate::db::{Database, DatabaseSettings};
use crate::error::Error;

const PERMIT_TIMEOUT: Duration = Duration::from_millis(200);

/// A database with a missing file, with a pool of `max_pool_size` connections.
fn database(max_pool_size: u32, pool_timeout: Duration) -> (TempDir, Database) {
    let folder = tempfile::tempdir().unwrap();
    let settings = DatabaseSettings {
        max_pool_size,
        pool_timeout,
        ..DatabaseSettings::new(format!("sqlite:///{}", folder.path().join("pool.sqlite").display()))
    };
    let database = Database::open(&settings).unwrap();
    (folder, database)
}

/// A permit, if free.
async fn free_permit(database: &Database) -> Option<ReadPermit> {
    tokio::time::timeout(PERMIT_TIMEOUT, database.read_permit())
        .await
        .ok()?
        .ok()
}

#[tokio::test]
async fn there_is_a_permit_for_each_connection_and_a_cancelled_wait_keeps_none() {
    let (_folder, database) = database(2, Duration::from_secs(30));
    let first = free_permit(&database).await.expect("no permit is taken yet");
    let second = free_permit(&database).await.expect("one of two permits is free");
    for _ in 0..3 {
        assert!(free_permit(&database).await.is_none(), "a third permit of two");
    }
    drop(first);
    let third = free_permit(&database)
        .await
        .expect("a permit is free: cancelled waits took none");
    assert!(free_permit(&database).await.is_none());
    drop((second, third));
    let both = (free_permit(&database).await, free_permit(&database).await);
    assert!(both.0.is_some() && both.1.is_some());
}

#[tokio::test]
async fn permits_are_given_in_the_order_of_the_calls() {
    let (_folder, database) = database(1, Duration::from_secs(30));
    let held = database.read_permit().await.unwrap();
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    for number in 0..4 {
        let (database, sender) = (database.clone(), sender.clone());
        tokio::spawn(async move {
            let permit = database.read_permit().await.unwrap();
            sender.send(number).unwrap();
            drop(permit);
        });
        tokio::task::yield_now().await;
    }
    // Longer than RETRY_INTERVAL: a wait keeps its place while checking whether to go on.
    tokio::time::sleep(Duration::from_millis(700)).await;
    drop(held);
    for number in 0..4 {
        assert_eq!(receiver.recv().await, Some(number));
    }
}

#[tokio::test]
async fn a_permit_is_waited_for_no_longer_than_pool_timeout() {
    let (_folder, database) = database(1, Duration::from_millis(200));
    let _held = database.read_permit().await.unwrap();
    let began = Instant::now();
    let refused = database.read_permit().await.err();
    assert!(matches!(refused, Some(Error::Unavailable { .. })), "{refused:?}");
    assert!(began.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn a_waiting_read_fails_at_once_if_no_connection_can_be_opened() {
    // The file is missing, and a connection for reading does not create the file.
    let (_folder, database) = database(1, Duration::from_secs(600));
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
    assert!(began.elapsed() < Duration::from_secs(60), "after {:?}", began.elapsed());
    drop(held);
}

/// Found in a log: without a file descriptor left, a reader that was opened before the sync knew no table.
#[test]
fn the_check_of_an_embedded_database_opens_no_reader_before_the_sync() {
    let (_folder, database) = database(1, PERMIT_TIMEOUT);
    assert_eq!(database.check_server().unwrap(), Vec::<String>::new());
    assert_eq!(database.pool_state().connections, 0);
}
