//! Numbers that are planned behind a commit that is under way, where the database is a way off.

use super::turns::Asked;
use super::*;
use crate::db::followed;

/// What some numbers of each thousand come to: the statement stands still for a while, or for longer than anybody waits.
const SLOW: i64 = 600;
const TOO_SLOW: i64 = 601;

/// How long the statement stands still, and when within that time others come.
const A_WHILE: Duration = Duration::from_millis(400);
const WITHIN: Duration = Duration::from_millis(150);

/// Which batch comes first: as many as are worth another thread, and one that takes a while.
const FIRST: [i64; 7] = [5001, 5002, 5003, 5004, 5005, 5006, 5000 + SLOW];
const OTHERS: [i64; 6] = [6001, 6002, 6003, 6004, 6005, 6006];

/// `None` where the database is no way off: nothing is planned behind anything there.
fn a_way_off(patience: Duration) -> Option<Bench> {
    with_a_trigger(bench(100, patience))
}

fn with_a_trigger(mut bench: Bench) -> Option<Bench> {
    let trigger = match Kind::of(&bench.conn) {
        Kind::Sqlite => return None,
        #[cfg(feature = "postgresql")]
        Kind::Postgresql => {
            "CREATE FUNCTION stand_still() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 PERFORM pg_sleep(CASE NEW.n % 1000 WHEN 600 THEN 0.4 WHEN 601 THEN 3 ELSE 0 END);
                 RETURN NEW;
             END $$;
             CREATE TRIGGER stands_still BEFORE INSERT ON numbers FOR EACH ROW EXECUTE FUNCTION stand_still()"
        }
        Kind::Mariadb => {
            "CREATE TRIGGER stands_still BEFORE INSERT ON numbers FOR EACH ROW
                 SET @stood = CASE NEW.n % 1000 WHEN 600 THEN SLEEP(0.4) WHEN 601 THEN SLEEP(3) ELSE 0 END"
        }
    };
    bench.conn.batch_execute(trigger).unwrap();
    // The writer knows how far everybody is, or it would follow before each plan.
    let news = followed::news(&mut bench.conn, &Default::default()).unwrap();
    *bench.turns.expected.lock().unwrap() = Some(news.now);
    Some(bench)
}

type Task = actix_web::rt::task::JoinHandle<Result<i64>>;

/// Submits numbers, each of which is shown when it is answered.
fn submit(bench: &Bench, numbers: &[i64]) -> Vec<Task> {
    let submit = |number: &i64| {
        let (writer, seen, number) = (bench.writer.clone(), Arc::clone(&bench.seen), *number);
        actix_web::rt::spawn(async move {
            let answer = writer.submit(number).await;
            let is_shown = || seen.lock().unwrap().concat().contains(&number);
            assert!(answer.is_err() || is_shown(), "{number} is answered and not shown");
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

/// The first wait while one number alone is written, so that they are a batch; the others come while that is written.
async fn one_behind_the_other(bench: &Bench, first: &[i64], others: &[i64]) -> Vec<Result<i64>> {
    let mut tasks = submit(bench, &[1000 + SLOW]);
    actix_web::rt::time::sleep(WITHIN).await;
    tasks.extend(submit(bench, first));
    actix_web::rt::time::sleep(A_WHILE).await;
    tasks.extend(submit(bench, others));
    answers(tasks).await.split_off(1)
}

fn granted(numbers: &[i64]) -> Vec<Result<i64>> {
    numbers.iter().map(|number| Ok(number * 10)).collect()
}

fn batches(bench: &Bench) -> Vec<Vec<i64>> {
    bench.seen.lock().unwrap()[1..].to_vec()
}

fn behind() -> Asked {
    Asked::PlanBehind(FIRST.to_vec(), OTHERS.to_vec())
}

fn was_asked(bench: &Bench, what: &Asked) -> bool {
    bench.turns.asked().contains(what)
}

#[actix_web::test]
async fn who_comes_while_a_batch_is_written_is_decided_behind_it() {
    let Some(mut bench) = a_way_off(LONG) else { return };
    let answers = one_behind_the_other(&bench, &FIRST, &OTHERS).await;
    assert_eq!(answers, granted(&[&FIRST[..], &OTHERS].concat()));
    assert_eq!(batches(&bench), [FIRST.to_vec(), OTHERS.to_vec()]);
    let asked = bench.turns.asked();
    assert_eq!(asked[1..], [Asked::PlanFor(FIRST.to_vec()), behind()]);
    assert_eq!(bench.count(), 1 + 13);
}

#[actix_web::test]
async fn who_cannot_be_decided_behind_a_commit_is_next() {
    let Some(mut bench) = a_way_off(LONG) else { return };
    let others = [6001, 5, 6002, 6003, 6004, 6005, 6006];
    let answers = one_behind_the_other(&bench, &FIRST, &others).await;
    assert_eq!(answers, granted(&[&FIRST[..], &others].concat()));
    assert_eq!(batches(&bench), [FIRST.to_vec(), OTHERS.to_vec(), vec![5]]);
    assert_eq!(bench.count(), 1 + 14);
}

#[actix_web::test]
async fn nobody_goes_before_who_waits_for_the_end_of_a_batch() {
    let Some(bench) = a_way_off(LONG) else { return };
    // It comes with the first, whose batch it cannot share.
    let answers = one_behind_the_other(&bench, &[&FIRST[..], &[5]].concat(), &OTHERS).await;
    assert_eq!(answers, granted(&[&FIRST[..], &[5], &OTHERS].concat()));
    assert_eq!(batches(&bench), [FIRST.to_vec(), vec![5], OTHERS.to_vec()]);
}

/// The session would have to wait for locks less long for their sake, which is not told it while somebody else uses it.
#[actix_web::test]
async fn who_has_little_time_left_is_not_decided_behind_a_commit() {
    let (patience, lock_timeout) = (Duration::from_millis(3500), Duration::from_millis(2900));
    let Some(bench) = with_a_trigger(bench_with(100, patience, lock_timeout)) else {
        return;
    };
    let first = [5001, 5002, 5003, 5004, 5005, 5000 + TOO_SLOW];
    let answers = one_behind_the_other(&bench, &first, &OTHERS).await;
    assert_eq!(answers, granted(&[&first[..], &OTHERS].concat()));
    assert!(was_asked(&bench, &Asked::PlanFor(first.to_vec())));
    assert!(was_asked(&bench, &Asked::PlanFor(OTHERS.to_vec())), "after it");
}

#[actix_web::test]
async fn who_needs_a_turn_takes_it_after_the_commit() {
    let Some(bench) = a_way_off(LONG) else { return };
    let others = [2001, 6001, 6002, 6003, 6004, 6005];
    let answers = one_behind_the_other(&bench, &FIRST, &others).await;
    assert_eq!(answers, granted(&[&FIRST[..], &others].concat()));
    assert!(was_asked(&bench, &Asked::TakeTurn));
    assert!(!was_asked(&bench, &Asked::PlanBehind(FIRST.to_vec(), others.to_vec())));
}

#[actix_web::test]
async fn a_plan_that_loses_behind_a_commit_waits_for_its_turn_and_the_one_before_it_holds() {
    let Some(bench) = a_way_off(LONG) else { return };
    let mut tasks = submit(&bench, &[1000 + SLOW]);
    actix_web::rt::time::sleep(WITHIN).await;
    tasks.extend(submit(&bench, &FIRST));
    actix_web::rt::time::sleep(A_WHILE).await;
    bench.turns.lose(1);
    tasks.extend(submit(&bench, &OTHERS));
    assert!(answers(tasks).await.iter().all(Result::is_ok));
    assert_eq!(batches(&bench), [FIRST.to_vec(), OTHERS.to_vec()]);
    let asked = bench.turns.asked();
    let planned = Asked::PlanFor(OTHERS.to_vec());
    let turn = [planned.clone(), Asked::TakeTurn, Asked::CatchUp, planned];
    assert_eq!(asked[2..], [&[behind()][..], &turn].concat());
}

/// Only on PostgreSQL does a check that waits for COMMIT fail it.
#[cfg(feature = "postgresql")]
#[actix_web::test]
async fn what_was_decided_behind_a_commit_that_fails_is_decided_anew() {
    const FAILS: i64 = 700;
    let undone = "RAISE EXCEPTION 'not now' USING ERRCODE = 'serialization_failure'";
    let broken = "PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1)";
    for how in [undone, broken] {
        let Some(mut bench) = a_way_off(LONG) else { return };
        if Kind::of(&bench.conn) != Kind::Postgresql {
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
        bench.conn.batch_execute(&trigger).unwrap();
        let first = [&FIRST[..], &[5000 + FAILS]].concat();
        let answers = one_behind_the_other(&bench, &first, &OTHERS).await;
        assert_eq!(answers, granted(&[&first[..], &OTHERS].concat()));
        assert!(was_asked(&bench, &Asked::PlanBehind(first.clone(), OTHERS.to_vec())));
        assert_eq!(bench.count(), 1 + 14);
        let mut shown = batches(&bench).concat();
        shown.sort_unstable();
        let mut all = [&first[..], &OTHERS].concat();
        all.sort_unstable();
        assert_eq!(shown, all, "each is shown once");
        assert!(bench.doubtful.load(Ordering::Acquire), "what {how} left was a doubt");
    }
}

#[actix_web::test]
async fn what_its_caller_gave_up_is_not_committed_by_another_thread_either() {
    let Some(mut bench) = a_way_off(2 * SHORT) else { return };
    let first = [5001, 5002, 5003, 5004, 5005, 5000 + TOO_SLOW];
    let answers = one_behind_the_other(&bench, &first, &[]).await;
    for answer in answers {
        assert!(matches!(answer, Err(Error::Unavailable { .. })), "{answer:?}");
    }
    // The statement has its end before this is answered.
    while bench.writer.submit(1001).await.is_err() {}
    assert_eq!(bench.count(), 2, "they were told that nothing was done");
}

/// Who meets whom is chance here: what is granted is there once, and shown once.
#[actix_web::test]
async fn in_a_crowd_all_are_committed_once() {
    const EACH: i64 = 20;
    let Some(mut bench) = a_way_off(LONG) else { return };
    let client = |client: i64| {
        // Some may not be planned, and some need a turn.
        let first = [10_000, 11_000, 12_000, 2_000, 0][(client % 5) as usize] + 1 + client * EACH;
        let numbers: Vec<i64> = (first..first + EACH).collect();
        let (writer, answered) = (bench.writer.clone(), numbers.clone());
        let task = actix_web::rt::spawn(async move {
            for number in numbers {
                assert_eq!(writer.submit(number).await, Ok(number * 10));
            }
        });
        (answered, task)
    };
    let (numbers, tasks): (Vec<_>, Vec<_>) = (0..16).map(client).unzip();
    for task in tasks {
        task.await.unwrap();
    }
    let mut shown = bench.seen.lock().unwrap().concat();
    shown.sort_unstable();
    let mut all = numbers.concat();
    all.sort_unstable();
    assert_eq!(shown, all);
    assert_eq!(bench.count(), 16 * EACH);
}
