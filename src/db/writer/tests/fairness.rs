//! Tests of the queue's fairness between callers, without a writer's thread.

use std::future::Future;
use std::pin::Pin;

use super::number_writer::{caller_named, submit_for};
use super::*;
use crate::db::writer::WalLimits;
use crate::db::writer::backlog::Backlog;
use crate::db::writer::handle::WriterHandle;
use crate::db::writer::held_rows::Parked;
use crate::db::writer::job::{Job, WhenHeld};
use crate::db::writer::settings::WriterSettings;
use crate::db::writer::waiting::{MAX_BATCH, Waiting};

/// Numbers from here downwards are large commands.
const LARGE: i64 = -257 * ROWS;

type Call = Pin<Box<dyn Future<Output = Result<i64>>>>;

fn settings(queue_size: usize) -> WriterSettings {
    WriterSettings {
        queue_size,
        commit_timeout: LONG_TIMEOUT,
        wal: WalLimits::default(),
        claim_memory: Duration::from_secs(3600),
        election_interval: Duration::from_secs(3600),
    }
}

/// Both ends of a queue, and the calls without an answer.
struct TwoEnds {
    handle: WriterHandle<Numbers>,
    waiting: Waiting<Numbers>,
    calls: Vec<(i64, Call)>,
}

impl TwoEnds {
    fn new(queue_size: usize) -> TwoEnds {
        let (handle, exit) = WriterHandle::new(&settings(queue_size));
        TwoEnds {
            handle,
            waiting: Waiting::new(exit, LONG_TIMEOUT),
            calls: Vec::new(),
        }
    }

    /// Submits numbers, and returns the numbers that were refused since the last call, each with the sentence about the
    /// queue's size.
    async fn submit(&mut self, caller: &str, numbers: impl IntoIterator<Item = i64>) -> Vec<i64> {
        for number in numbers {
            let (handle, caller) = (self.handle.clone(), caller_named(caller));
            let call = async move { submit_for(&handle, &caller, number).await };
            self.calls.push((number, Box::pin(call)));
            // Each call arrives before the next.
            self.poll_last().await;
        }
        self.refused().await
    }

    async fn poll_last(&mut self) {
        if let Some((number, mut call)) = self.calls.pop() {
            match tokio::time::timeout(Duration::ZERO, &mut call).await {
                Ok(answer) => self.calls.push((number, Box::pin(std::future::ready(answer)))),
                Err(_) => self.calls.push((number, call)),
            }
        }
    }

    async fn refused(&mut self) -> Vec<i64> {
        let mut refused = Vec::new();
        for (number, mut call) in std::mem::take(&mut self.calls) {
            match tokio::time::timeout(Duration::ZERO, &mut call).await {
                Ok(Err(Error::Busy { detail })) => {
                    assert!(
                        detail.contains("[placet] queue_size") && detail.contains("this caller"),
                        "{detail}"
                    );
                    refused.push(number);
                }
                Ok(answer) => panic!("{number}: {answer:?}"),
                Err(_) => self.calls.push((number, call)),
            }
        }
        refused
    }

    /// The numbers of the next batch, and the batch.
    fn take_small(&mut self) -> (Vec<i64>, Vec<Job<Numbers>>) {
        let jobs = self.waiting.take_small(&[]);
        (jobs.iter().map(|job| job.command).collect(), jobs)
    }
}

#[actix_web::test]
async fn hostile_13_a_full_queue_refuses_the_newest_command_of_the_caller_that_filled_it() {
    let mut ends = TwoEnds::new(4);
    assert_eq!(
        ends.submit("a", 1..=6).await,
        [5, 6],
        "the caller has filled the queue itself"
    );
    assert_eq!(ends.submit("b", [11]).await, [4]);
    assert_eq!(ends.submit("b", [12]).await, [3]);
    assert_eq!(ends.submit("b", [13]).await, [13], "no caller has more than the second");
    assert_eq!(ends.submit("c", [21]).await.len(), 1, "one of the two callers with two");
    assert_eq!(ends.take_small().0.len(), 4);
}

#[actix_web::test]
async fn hostile_13_a_command_that_the_writer_has_taken_is_not_refused_and_takes_no_place() {
    let mut ends = TwoEnds::new(2);
    assert!(ends.submit("a", [1, 2]).await.is_empty());
    let (numbers, _jobs) = ends.take_small();
    assert_eq!(numbers, [1, 2]);
    assert!(ends.submit("a", [3, 4]).await.is_empty());
    assert_eq!(ends.submit("b", [11]).await, [4]);
    assert_eq!(ends.take_small().0, [3, 11]);
}

/// Each command of the first caller has as many rows as a hundred of the second.
#[actix_web::test]
async fn hostile_12_the_turns_of_callers_count_rows() {
    let mut ends = TwoEnds::new(1_000);
    ends.submit("a", [-200 * ROWS, -201 * ROWS]).await;
    ends.submit("b", (1..=150).map(|number| -ROWS - number)).await;
    let (numbers, _jobs) = ends.take_small();
    let second = numbers.iter().position(|number| *number == -201 * ROWS);
    assert!(second.is_some_and(|at| at > 100), "{second:?} of {}", numbers.len());
}

#[actix_web::test]
async fn hostile_13_a_batch_takes_commands_by_turns_of_callers() {
    let mut ends = TwoEnds::new(1_000);
    ends.submit("a", 1..=300).await;
    ends.submit("b", [1_001, 1_002]).await;
    let (numbers, _jobs) = ends.take_small();
    assert_eq!(numbers[..5], [1, 1_001, 2, 1_002, 3]);
    assert_eq!(numbers.len(), MAX_BATCH);
    assert_eq!(ends.take_small().0[..2], [255, 256], "the rest, in order");
}

#[actix_web::test]
async fn hostile_13_too_many_commands_for_held_rows_refuse_the_caller_with_most() {
    let mut ends = TwoEnds::new(10);
    ends.submit("a", 1..=3).await;
    let (_, jobs) = ends.take_small();
    let mut parked = Parked::new(3);
    parked.push(jobs);
    ends.submit("b", [11]).await;
    let (_, jobs) = ends.take_small();
    parked.push_blind(jobs);
    assert_eq!(ends.refused().await, [3]);
    assert_eq!(parked.count(), 3);
}

/// A batch may be committed without one of its commands, which needs a held row.
#[actix_web::test]
async fn hostile_03_a_command_that_was_left_out_of_a_commit_can_be_cancelled() {
    let (handle, exit) = WriterHandle::<Numbers>::new(&settings(1));
    let mut backlog = Backlog::new(exit, &settings(1));
    let caller = caller_named("a");
    let call = handle.submit_from_database(&caller, 1, handle.deadline(), WhenHeld::Wait);
    let mut call = Box::pin(call);
    assert!(tokio::time::timeout(Duration::ZERO, &mut call).await.is_err());
    let jobs = backlog.waiting.take_small(&[]);
    let gate = jobs[0].gate.clone();
    assert!(gate.begin_commit());
    backlog.answer(jobs, vec![Decision::Held]);
    assert_eq!(backlog.parked.count(), 1);
    assert!(gate.cancel());
}

#[actix_web::test]
async fn hostile_12_large_commands_take_no_place_of_small_ones() {
    let mut ends = TwoEnds::new(2);
    let large = [LARGE, LARGE - 1, LARGE - 2];
    assert_eq!(ends.submit("a", large).await, [LARGE - 2]);
    assert!(ends.submit("a", [1]).await.is_empty());
    assert!(ends.submit("b", [11]).await.is_empty());
    assert_eq!(ends.submit("b", [LARGE - 10]).await, [LARGE - 1]);
    assert_eq!(ends.take_small().0, [1, 11]);
}

/// A caller whose large command took 0.5 s pauses for 2 s, and no further caller does.
#[actix_web::test]
async fn hostile_12_a_large_command_waits_for_no_pause_of_another_caller() {
    let mut ends = TwoEnds::new(10);
    ends.submit("a", [LARGE, LARGE - 1, 1]).await;
    ends.submit("b", [LARGE - 10]).await;
    let (_, _jobs) = ends.take_small();
    let first = ends.waiting.take_large().unwrap();
    assert_eq!(first.command, LARGE);
    ends.waiting
        .release_large(caller_named("a"), Instant::now() - Duration::from_millis(500));
    assert!(ends.waiting.large_due_at().unwrap() <= Instant::now());
    assert_eq!(ends.waiting.take_large().unwrap().command, LARGE - 10);
    ends.waiting.release_large(caller_named("b"), Instant::now());
    assert!(ends.waiting.take_large().is_none(), "the first caller pauses");
    let due_at = ends.waiting.large_due_at().unwrap();
    assert!(due_at > Instant::now());
    actix_web::rt::time::sleep(due_at - Instant::now()).await;
    assert_eq!(ends.waiting.take_large().unwrap().command, LARGE - 1);
}

#[actix_web::test]
async fn hostile_12_large_commands_begin_by_turns_of_callers() {
    let mut ends = TwoEnds::new(10);
    ends.submit("a", [LARGE, LARGE - 1, LARGE - 2]).await;
    ends.submit("b", [LARGE - 10]).await;
    let mut begun = Vec::new();
    while let Some(job) = ends.waiting.take_large() {
        begun.push(job.command);
        ends.waiting.release_large(job.caller.clone(), Instant::now());
    }
    assert_eq!(begun, [LARGE, LARGE - 10, LARGE - 1, LARGE - 2]);
}
