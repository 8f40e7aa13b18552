//! Tests of pipelined batches, which are planned during the commit of the batch before. Only on servers: SQLite has no
//! pipeline.

use super::script::{Call, granted};
use super::*;
use crate::db::change_feed;

/// Numbers of each thousand whose INSERT takes a while, or longer than a caller waits. The INSERT of a large number
/// takes 4 s.
const SLOW_INSERT: i64 = 600;
const TOO_SLOW_INSERT: i64 = 601;

/// A writer that has not planned a number after this time hangs.
const HANG: Duration = Duration::from_secs(60);

/// The first batch is large enough for a pipeline, and has a slow command. `OTHERS` is submitted during the batch.
const FIRST: [i64; 7] = [5001, 5002, 5003, 5004, 5005, 5006, 5000 + SLOW_INSERT];
const OTHERS: [i64; 6] = [6001, 6002, 6003, 6004, 6005, 6006];

/// `None` on SQLite.
fn pipelined_writer(timeout: Duration) -> Option<NumberWriter> {
    with_slow_inserts(number_writer(100, timeout))
}

pub fn with_slow_inserts(mut writer: NumberWriter) -> Option<NumberWriter> {
    let trigger = match Kind::of(&writer.conn) {
        Kind::Sqlite => return None,
        #[cfg(feature = "postgresql")]
        Kind::Postgresql => {
            "CREATE FUNCTION wait_for_slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 PERFORM pg_sleep(CASE NEW.n % 1000 WHEN 600 THEN 1.6 WHEN 601 THEN 8 WHEN 800 THEN 4 ELSE 0 END);
                 RETURN NEW;
             END $$;
             CREATE TRIGGER waits_for_slow BEFORE INSERT ON numbers FOR EACH ROW EXECUTE FUNCTION wait_for_slow()"
        }
        Kind::Mariadb => {
            "CREATE TRIGGER waits_for_slow BEFORE INSERT ON numbers FOR EACH ROW
                 SET @waited = CASE NEW.n % 1000 WHEN 600 THEN SLEEP(1.6) WHEN 601 THEN SLEEP(8) WHEN 800 THEN SLEEP(4) ELSE 0 END"
        }
    };
    writer.conn.batch_execute(trigger).unwrap();
    // The writer knows the peers' revisions. Otherwise the writer would follow before each plan.
    let page = change_feed::read_page(&mut writer.conn, &Default::default()).unwrap();
    writer.script.expect_peers(page.revisions);
    Some(writer)
}

type Task = actix_web::rt::task::JoinHandle<Result<i64>>;

/// Submits numbers, and checks that each number is published before its answer.
fn submit(writer: &NumberWriter, numbers: &[i64]) -> Vec<Task> {
    let submit = |number: &i64| {
        let (handle, published, number) = (writer.handle.clone(), Arc::clone(&writer.published), *number);
        actix_web::rt::spawn(async move {
            let answer = super::submit(&handle, number).await;
            let is_published = || published.lock().unwrap().concat().contains(&number);
            assert!(
                answer.is_err() || is_published(),
                "{number} is answered and not published"
            );
            answer
        })
    };
    numbers.iter().map(submit).collect()
}

async fn answers(tasks: Vec<Task>) -> Vec<Result<i64>> {
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    answers
}

/// Waits until the writer plans a batch with the number. The INSERT of the batch follows the plan.
async fn wait_for_plan_of(writer: &NumberWriter, number: i64) {
    let is_planned = |call: &Call| matches!(call, Call::Plan(numbers) if numbers.contains(&number));
    let end = Instant::now() + HANG;
    while !writer.script.calls().iter().any(is_planned) {
        assert!(Instant::now() < end, "no plan of {number}");
        actix_web::rt::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The first numbers wait during the write of a single slow number, and become one batch. Returns during the write of
/// this batch.
async fn submit_first_wave(writer: &NumberWriter, first: &[i64]) -> Vec<Task> {
    let slow = 1000 + SLOW_INSERT;
    let mut tasks = submit(writer, &[slow]);
    wait_for_plan_of(writer, slow).await;
    tasks.extend(submit(writer, first));
    wait_for_plan_of(writer, first[0]).await;
    tasks
}

/// Submits the first numbers as one batch, and `others` during the write of this batch.
async fn submit_in_two_waves(writer: &NumberWriter, first: &[i64], others: &[i64]) -> Vec<Result<i64>> {
    let mut tasks = submit_first_wave(writer, first).await;
    tasks.extend(submit(writer, others));
    answers(tasks).await.split_off(1)
}

/// The batches after the single slow number.
fn batches(writer: &NumberWriter) -> Vec<Vec<i64>> {
    writer.published.lock().unwrap()[1..].to_vec()
}

fn speculation() -> Call {
    Call::Speculate(FIRST.to_vec(), OTHERS.to_vec())
}

fn was_called(writer: &NumberWriter, call: &Call) -> bool {
    writer.script.calls().contains(call)
}

#[actix_web::test]
async fn commands_that_arrive_while_a_batch_is_written_are_planned_before_it_is_committed() {
    let Some(mut writer) = pipelined_writer(LONG_TIMEOUT) else {
        return;
    };
    let answers = submit_in_two_waves(&writer, &FIRST, &OTHERS).await;
    assert_eq!(answers, granted(&[&FIRST[..], &OTHERS].concat()));
    assert_eq!(batches(&writer), [FIRST.to_vec(), OTHERS.to_vec()]);
    let calls = writer.script.calls();
    assert_eq!(calls[1..], [Call::Plan(FIRST.to_vec()), speculation()]);
    assert_eq!(writer.count(), 1 + 13);
}

#[actix_web::test]
async fn a_command_that_is_not_plannable_follows_the_pipelined_batch() {
    let Some(mut writer) = pipelined_writer(LONG_TIMEOUT) else {
        return;
    };
    let others = [6001, 5, 6002, 6003, 6004, 6005, 6006];
    let answers = submit_in_two_waves(&writer, &FIRST, &others).await;
    assert_eq!(answers, granted(&[&FIRST[..], &others].concat()));
    assert_eq!(batches(&writer), [FIRST.to_vec(), OTHERS.to_vec(), vec![5]]);
    assert_eq!(writer.count(), 1 + 14);
}

#[actix_web::test]
async fn no_batch_is_pipelined_past_a_command_that_waits_for_the_end_of_the_first() {
    let Some(writer) = pipelined_writer(LONG_TIMEOUT) else {
        return;
    };
    // Number 5 arrives with the first batch, and cannot share the batch's transaction.
    let answers = submit_in_two_waves(&writer, &[&FIRST[..], &[5]].concat(), &OTHERS).await;
    assert_eq!(answers, granted(&[&FIRST[..], &[5], &OTHERS].concat()));
    assert_eq!(batches(&writer), [FIRST.to_vec(), vec![5], OTHERS.to_vec()]);
}

#[actix_web::test]
async fn commands_that_need_locks_are_planned_after_the_commit() {
    let Some(writer) = pipelined_writer(LONG_TIMEOUT) else {
        return;
    };
    let others = [2001, 6001, 6002, 6003, 6004, 6005];
    let answers = submit_in_two_waves(&writer, &FIRST, &others).await;
    assert_eq!(answers, granted(&[&FIRST[..], &others].concat()));
    assert!(was_called(&writer, &Call::Lock(vec![2])));
    assert!(was_called(&writer, &Call::Plan(others.to_vec())), "after the commit");
}

#[actix_web::test]
async fn a_conflict_of_a_pipelined_batch_leads_to_locks_and_not_to_a_rollback_of_the_batch_before_it() {
    let Some(writer) = pipelined_writer(LONG_TIMEOUT) else {
        return;
    };
    let mut tasks = submit_first_wave(&writer, &FIRST).await;
    writer.script.fail_guards(1);
    tasks.extend(submit(&writer, &OTHERS));
    assert!(answers(tasks).await.iter().all(Result::is_ok));
    assert_eq!(batches(&writer), [FIRST.to_vec(), OTHERS.to_vec()]);
    let calls = writer.script.calls();
    let planned = Call::Plan(OTHERS.to_vec());
    let locked = [planned.clone(), Call::Lock(vec![6]), Call::CatchUp, planned];
    assert_eq!(calls[2..], [&[speculation()][..], &locked].concat());
}

/// Only on PostgreSQL can a deferred check fail COMMIT.
#[cfg(feature = "postgresql")]
#[actix_web::test]
async fn a_plan_that_rests_on_a_failed_commit_is_dropped_and_its_commands_are_planned_again() {
    const FAILS: i64 = 700;
    let undone = "RAISE EXCEPTION 'not now' USING ERRCODE = 'serialization_failure'";
    let broken = "PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1)";
    for how in [undone, broken] {
        let Some(mut writer) = pipelined_writer(LONG_TIMEOUT) else {
            return;
        };
        if Kind::of(&writer.conn) != Kind::Postgresql {
            return;
        }
        let trigger = format!(
            "CREATE SEQUENCE times;
             CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 IF NEW.n % 1000 = {FAILS} AND nextval('times') = 1 THEN {how}; END IF;
                 RETURN NULL;
             END $$;
             CREATE CONSTRAINT TRIGGER fails_once AFTER INSERT ON numbers
                 DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fail_once()"
        );
        writer.conn.batch_execute(&trigger).unwrap();
        let first = [&FIRST[..], &[5000 + FAILS]].concat();
        let answers = submit_in_two_waves(&writer, &first, &OTHERS).await;
        assert_eq!(answers, granted(&[&first[..], &OTHERS].concat()));
        assert!(was_called(&writer, &Call::Speculate(first.clone(), OTHERS.to_vec())));
        assert_eq!(writer.count(), 1 + 14);
        let mut published = batches(&writer).concat();
        published.sort_unstable();
        let mut all = [&first[..], &OTHERS].concat();
        all.sort_unstable();
        assert_eq!(published, all, "each is published once");
        assert!(
            !writer.is_invalid.load(Ordering::Acquire),
            "the fence found the outcome: {how}"
        );
    }
}

#[actix_web::test]
async fn a_cancelled_command_is_not_committed_by_the_commit_thread_either() {
    let Some(mut writer) = pipelined_writer(3 * SHORT_TIMEOUT) else {
        return;
    };
    let first = [5001, 5002, 5003, 5004, 5005, 5000 + TOO_SLOW_INSERT];
    let answers = submit_in_two_waves(&writer, &first, &[]).await;
    for answer in answers {
        assert!(matches!(answer, Err(Error::Unavailable { .. })), "{answer:?}");
    }
    // The slow statement has ended when this is granted.
    while super::submit(&writer.handle, 1001).await.is_err() {}
    assert_eq!(writer.count(), 2, "their callers were answered that nothing was done");
}

/// The grouping of commands into batches differs from run to run.
#[actix_web::test]
async fn commands_of_many_clients_are_each_committed_and_published_once() {
    const EACH: i64 = 20;
    let Some(mut writer) = pipelined_writer(LONG_TIMEOUT) else {
        return;
    };
    let client = |client: i64| {
        // Some are not plannable, and some need locks.
        let first = [10_000, 11_000, 12_000, 2_000, 0][(client % 5) as usize] + 1 + client * EACH;
        let numbers: Vec<i64> = (first..first + EACH).collect();
        let (handle, submitted) = (writer.handle.clone(), numbers.clone());
        let task = actix_web::rt::spawn(async move {
            for number in numbers {
                assert_eq!(super::submit(&handle, number).await, Ok(number * 10));
            }
        });
        (submitted, task)
    };
    let (numbers, tasks): (Vec<_>, Vec<_>) = (0..16).map(client).unzip();
    for task in tasks {
        task.await.unwrap();
    }
    let mut published = writer.published.lock().unwrap().concat();
    published.sort_unstable();
    let mut all = numbers.concat();
    all.sort_unstable();
    assert_eq!(published, all);
    assert_eq!(writer.count(), 16 * EACH);
}
