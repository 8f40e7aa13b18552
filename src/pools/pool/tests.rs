//! Tests of a pool with real threads: running, waiting and refused jobs, and dropped futures.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::*;

const TIMEOUT: Duration = Duration::from_secs(10);

fn caller(name: &str) -> CallerKey {
    CallerKey::of_user(name, "project")
}

/// A pool with this number of threads, one thread per caller, and places for two waiting jobs.
fn pool(threads: usize) -> Pool {
    let limits = QueueLimits {
        running: threads,
        running_per_caller: 1,
        waiting: 2,
    };
    Pool::new(limits).expect("a runtime")
}

/// Work in progress, which holds the caller's thread until the sender is dropped.
fn held(pool: &Pool, name: &str) -> (PoolJob<()>, Sender<()>) {
    let ((begun, has_begun), (release, released)) = (channel(), channel());
    let job = pool.start(&caller(name), move || {
        let _ = begun.send(());
        let _ = released.recv();
        Ok(())
    });
    has_begun.recv_timeout(TIMEOUT).expect("a thread");
    (job, release)
}

/// Work with a number, which the end of the work sends.
fn numbered(pool: &Pool, name: &str, number: u32, done: &Sender<u32>) -> PoolJob<u32> {
    let done = done.clone();
    pool.start(&caller(name), move || {
        let _ = done.send(number);
        Ok(number)
    })
}

fn received(from: &Receiver<u32>) -> u32 {
    from.recv_timeout(TIMEOUT).expect("work that is done")
}

#[tokio::test]
async fn work_begins_in_order_when_a_thread_is_free() {
    let pool = pool(1);
    let (job, release) = held(&pool, "a");
    let (done, all) = channel();
    let jobs: Vec<PoolJob<u32>> = (0..2).map(|number| numbered(&pool, "a", number, &done)).collect();
    assert_eq!(pool.waiting(), 2);
    assert!(pool.is_saturated_by(&caller("a")) && !pool.is_saturated_by(&caller("b")));
    drop(release);
    assert_eq!((received(&all), received(&all)), (0, 1));
    assert_eq!(job.await, Ok(()));
    for (number, job) in (0..).zip(jobs) {
        assert_eq!(job.await, Ok(number));
    }
    assert_eq!(pool.waiting(), 0);
}

#[tokio::test]
async fn a_caller_that_holds_its_threads_delays_no_other_caller() {
    let pool = pool(2);
    let (_job, release) = held(&pool, "a");
    let (done, all) = channel();
    let waiting = numbered(&pool, "a", 1, &done);
    assert_eq!(numbered(&pool, "b", 2, &done).await, Ok(2));
    assert_eq!((received(&all), pool.waiting()), (2, 1));
    drop(release);
    assert_eq!(waiting.await, Ok(1));
}

#[tokio::test]
async fn work_without_a_place_in_the_queue_is_refused() {
    let pool = pool(1);
    let (_job, _release) = held(&pool, "a");
    let (done, _all) = channel();
    let mut jobs: Vec<PoolJob<u32>> = (0..2).map(|number| numbered(&pool, "a", number, &done)).collect();
    assert!(matches!(numbered(&pool, "a", 3, &done).await, Err(Error::Busy { .. })));
    let _of_another_caller = numbered(&pool, "b", 4, &done);
    let newest = jobs.pop().expect("two jobs");
    assert!(matches!(newest.await, Err(Error::Busy { .. })));
    assert_eq!(pool.waiting(), 2);
}

#[test]
fn work_whose_future_is_dropped_leaves_the_queue_at_once() {
    let pool = pool(1);
    let (job, release) = held(&pool, "a");
    let (done, all) = channel();
    let first = numbered(&pool, "a", 1, &done);
    let second = numbered(&pool, "a", 2, &done);
    drop(first);
    assert_eq!(pool.waiting(), 1);
    drop(job);
    assert_eq!(pool.waiting(), 1, "work that has begun keeps its thread");
    drop(release);
    assert_eq!(received(&all), 2);
    drop((second, done));
    let end = all.recv_timeout(TIMEOUT);
    assert_eq!(
        end,
        Err(RecvTimeoutError::Disconnected),
        "dropped work is kept, or was done"
    );
}

#[tokio::test]
async fn a_panic_of_work_is_an_internal_error_and_frees_its_thread() {
    let pool = pool(1);
    let panicked: Result<()> = pool.start(&caller("a"), || panic!("on purpose")).await;
    assert!(matches!(panicked, Err(Error::Internal { .. })));
    assert_eq!(pool.start(&caller("a"), || Ok(1)).await, Ok(1));
}
