//! Tests of the waiting jobs: the bound of the queue, and the pauses between large commands.

use super::script::Call;
use super::*;
use crate::db::writer::handle::WriterHandle;
use crate::db::writer::held_rows::Parked;
use crate::db::writer::waiting::Waiting;
use crate::db::writer::{WalLimits, WriterSettings};

#[actix_web::test]
async fn a_full_queue_refuses_immediately() {
    let mut writer = number_writer(3, LONG_TIMEOUT);
    writer.lock();
    // The writer takes the first job alone, and waits with the job for the lock.
    let mut tasks = vec![writer.submit(1)];
    actix_web::rt::time::sleep(SHORT_TIMEOUT).await;
    tasks.extend((2..=8).map(|number| writer.submit(number)));
    actix_web::rt::time::sleep(SHORT_TIMEOUT).await;
    dialect::rollback(&mut writer.conn).unwrap();
    let mut granted = Vec::new();
    for task in tasks {
        match task.await.unwrap() {
            Ok(answer) => granted.push(answer),
            Err(error) => assert!(matches!(error, Error::Busy { .. }), "{error:?}"),
        }
    }
    assert_eq!(granted, [10, 20, 30, 40], "the first one does not wait");
    assert_eq!(writer.count(), 4);
}

#[actix_web::test]
async fn a_question_is_answered_while_the_queue_is_full_and_no_transaction_can_begin() {
    let mut writer = number_writer(0, LONG_TIMEOUT);
    assert!(writer.submit(1).await.unwrap().is_err());
    writer.lock();
    writer.handle.follow(writer.handle.deadline()).await.unwrap();
    assert_eq!(writer.script.calls(), [Call::Follow]);
}

/// A batch of several commands has at most 1,024 rows. Beyond 256 rows a command is committed alone.
#[actix_web::test]
async fn a_batch_is_bounded_in_rows_and_large_commands_take_turns_with_the_others() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    writer.lock();
    // The writer takes the first job alone, and waits with the job for the lock.
    let mut tasks = vec![writer.submit(1)];
    actix_web::rt::time::sleep(SHORT_TIMEOUT).await;
    let (large, other_large) = (-257 * ROWS, -5000 * ROWS);
    let small: Vec<i64> = (0..6).map(|n| -250 * ROWS - n).collect();
    tasks.extend([large, other_large].map(|number| writer.submit(number)));
    tasks.extend(small.iter().map(|number| writer.submit(*number)));
    actix_web::rt::time::sleep(SHORT_TIMEOUT).await;
    dialect::rollback(&mut writer.conn).unwrap();
    for task in tasks {
        assert!(task.await.unwrap().is_ok());
    }
    let mut batches = writer.published.lock().unwrap().clone();
    let first = [vec![1], vec![large], small[..4].to_vec()];
    assert_eq!(batches[..3], first);
    // The second large command waits for the end of a pause.
    batches[3..].sort_by_key(Vec::len);
    assert_eq!(batches[3..], [vec![other_large], small[4..].to_vec()]);
}

/// The jobs of submitted numbers, and a handle that keeps their queue open.
async fn waiting_jobs(numbers: &[i64]) -> (Waiting<Numbers>, WriterHandle<Numbers>) {
    let settings = WriterSettings {
        queue_size: 100,
        commit_timeout: LONG_TIMEOUT,
        wal: WalLimits::default(),
        claim_memory: Duration::from_secs(3600),
        election_interval: Duration::from_secs(3600),
    };
    let (handle, jobs) = WriterHandle::<Numbers>::new(&settings);
    for number in numbers.iter().copied() {
        let handle = handle.clone();
        actix_web::rt::spawn(async move { submit(&handle, number).await });
        // The task submits, and waits for an answer which never comes.
        actix_web::rt::time::sleep(Duration::from_millis(1)).await;
    }
    (Waiting::new(jobs, LONG_TIMEOUT), handle)
}

const LARGE: i64 = -257 * ROWS;

#[actix_web::test]
async fn the_next_large_job_waits_nine_times_as_long_as_the_last_one_took_if_small_ones_came() {
    let (mut waiting, _handle) = waiting_jobs(&[LARGE, LARGE - 1, 1]).await;
    assert_eq!(waiting.take_small(&[]).len(), 1);
    assert!(waiting.take_large().is_some());
    let began = Instant::now() - Duration::from_millis(200);
    waiting.release_large(caller(), began);
    assert!(waiting.take_large().is_none());
    let due_at = waiting.large_due_at().unwrap();
    assert!(due_at >= began + Duration::from_secs(2), "{:?}", due_at - began);
    let until_due = due_at - Instant::now();
    actix_web::rt::time::sleep(until_due).await;
    assert!(waiting.take_large().is_some());
}

#[actix_web::test]
async fn large_jobs_without_others_do_not_wait_for_each_other() {
    let (mut waiting, _handle) = waiting_jobs(&[LARGE, LARGE - 1]).await;
    assert!(waiting.take_small(&[]).is_empty());
    assert!(waiting.take_large().is_some());
    waiting.release_large(caller(), Instant::now() - Duration::from_millis(300));
    assert!(waiting.take_large().is_some());
}

/// A job with a pause as long as its timeout would never be committed.
#[actix_web::test]
async fn a_large_job_that_took_long_makes_the_next_one_wait_for_a_tenth_of_the_timeout() {
    let (mut waiting, _handle) = waiting_jobs(&[LARGE, LARGE - 1, 1]).await;
    assert_eq!(waiting.take_small(&[]).len(), 1);
    assert!(waiting.take_large().is_some());
    waiting.release_large(caller(), Instant::now() - LONG_TIMEOUT);
    let until_due = waiting.large_due_at().unwrap() - Instant::now();
    assert!(until_due <= LONG_TIMEOUT / 10, "{until_due:?}");
    assert!(until_due > LONG_TIMEOUT / 20, "{until_due:?}");
}

/// Found by race `workloads` on MariaDB: a request that is planned inside its batch had the same retry as other jobs.
#[actix_web::test]
async fn a_large_job_with_an_unknown_lock_is_retried_in_a_batch_of_its_own() {
    let (mut waiting, _handle) = waiting_jobs(&[1, LARGE, 2]).await;
    let mut jobs = waiting.take_small(&[]);
    jobs.insert(1, waiting.take_large().unwrap());
    let mut parked = Parked::new(jobs.len());
    parked.push_blind(jobs);
    let batch = Numbers {
        published: Arc::default(),
        is_invalid: Arc::default(),
        was_rolled_back: false,
        script: Arc::default(),
    };
    let batches = loop {
        match parked.take_blind(&batch) {
            Some(batches) => break batches,
            None => actix_web::rt::time::sleep(Duration::from_millis(20)).await,
        }
    };
    let numbers = batches.iter().map(|jobs| jobs.iter().map(|job| job.command).collect());
    assert_eq!(numbers.collect::<Vec<Vec<i64>>>(), [vec![1, 2], vec![LARGE]]);
}
