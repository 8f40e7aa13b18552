//! The writer with a batch of its own kind: numbers that are written into a table, some of them guilty.

mod ahead;
mod beforehand;
mod turns;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::BigInt;

use super::dialect;
use super::queue::WriterHandle;
use super::testing::{Kind, TestDatabase};
use super::writer::{Batch, Bounds, Plan, Planned, Ran, WriterSettings, start};
use super::{Commit, Database, DbConnection, DbResult, Settings};
use crate::error::{Error, Result};
use turns::Turns;

/// What a number does when it is written.
const TWICE: i64 = -1;
const PANICS: i64 = -2;
/// Is committed, and cannot be published.
const LOST: i64 = -3;
/// Finds its transaction undone by the server, once.
const UNDONE: i64 = -4;
/// Stands still for longer than its caller waits, as a database does that is paused.
const STILL: i64 = -5;

/// Writes numbers; a batch is published into `seen`.
struct Numbers {
    seen: Arc<Mutex<Vec<Vec<i64>>>>,
    doubtful: Arc<AtomicBool>,
    undone: bool,
    turns: Arc<Turns>,
}

impl Batch for Numbers {
    type Command = i64;
    type Answer = i64;
    type Change = Vec<i64>;

    fn may_be_planned(number: &i64) -> bool {
        turns::may_be_planned(*number)
    }

    fn plan(&mut self, _: &mut DbConnection, commands: &[&i64]) -> DbResult<Planned<Self>> {
        Ok(self.turns.plan(commands))
    }

    fn foresee(&mut self, change: &Vec<i64>, _: &Commit, commands: &[&i64]) -> Option<Plan<Self>> {
        self.turns.foresee(change, commands)
    }

    fn run(&mut self, conn: &mut DbConnection, commands: &[&i64], on_database: bool) -> DbResult<Ran<Self>> {
        self.turns.note(turns::Asked::Run { on_database });
        for number in commands.iter().filter(|number| !turns::is_refused(***number)) {
            assert!(**number != PANICS, "a defect");
            if **number == UNDONE && !std::mem::replace(&mut self.undone, true) {
                conn.batch_execute("ROLLBACK")?;
            }
            if **number == STILL {
                std::thread::sleep(5 * SHORT);
            }
            let times = if **number == TWICE { 2 } else { 1 };
            for _ in 0..times {
                diesel::sql_query(format!("INSERT INTO numbers (n) VALUES ({number})")).execute(conn)?;
            }
        }
        let answers: Vec<Result<i64>> = commands.iter().map(|number| turns::answer(**number)).collect();
        let granted = commands.iter().zip(&answers).filter(|(_, answer)| answer.is_ok());
        let written: Vec<i64> = granted.map(|(number, _)| **number).collect();
        Ok(Ran::Decided {
            answers,
            change: (!written.is_empty()).then_some(written),
        })
    }

    fn describe(&self, change: &Vec<i64>) -> String {
        format!("{change:?}")
    }

    fn publish(&mut self, change: Vec<i64>, commit: &Commit) -> bool {
        if change.contains(&LOST) {
            return false;
        }
        self.turns.committed(commit);
        // Time enough for who is answered too early to look.
        std::thread::sleep(Duration::from_millis(5));
        self.seen.lock().unwrap().push(change);
        true
    }

    fn read_back(&mut self, _: &mut DbConnection) -> DbResult<()> {
        panic!("a defect");
    }

    fn follow(&mut self, _: &mut DbConnection) -> DbResult<()> {
        self.turns.note(turns::Asked::Follow);
        Ok(())
    }

    fn quiet(&self) -> Option<crate::db::followed::Revisions> {
        self.turns.expected()
    }

    fn needs_turn(&mut self, commands: &[&i64], lost: bool) -> bool {
        self.turns.is_needed(commands, lost)
    }

    fn take_turn(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        match self.turns.take() {
            true => Ok(()),
            false => conn.batch_execute("ROLLBACK"),
        }
    }

    fn may_join(&self, number: &i64) -> bool {
        self.turns.is_for(*number)
    }

    fn catch_up(&mut self, _: &mut DbConnection) -> DbResult<bool> {
        Ok(self.turns.catch_up())
    }

    fn doubt(&mut self) {
        self.doubtful.store(true, Ordering::Release);
    }
}

struct Bench {
    writer: WriterHandle<Numbers>,
    seen: Arc<Mutex<Vec<Vec<i64>>>>,
    doubtful: Arc<AtomicBool>,
    turns: Arc<Turns>,
    conn: DbConnection,
    _kept: TestDatabase,
}

fn bench(queue_size: usize, patience: Duration) -> Bench {
    bench_with(queue_size, patience, Duration::from_millis(20))
}

fn bench_with(queue_size: usize, patience: Duration, lock_timeout: Duration) -> Bench {
    let kept = TestDatabase::empty();
    let settings = Settings {
        lock_timeout,
        ..Settings::new(&kept.url)
    };
    let database = Database::open(&settings).unwrap();
    database.sync().unwrap();
    let mut conn = database.connect().unwrap();
    diesel::sql_query("CREATE TABLE numbers (n INTEGER NOT NULL UNIQUE, created_at TIMESTAMP NULL)")
        .execute(&mut conn)
        .unwrap();
    let (seen, doubtful, turns) = (Arc::default(), Arc::default(), Arc::<Turns>::default());
    let batch = Numbers {
        seen: Arc::clone(&seen),
        doubtful: Arc::clone(&doubtful),
        undone: false,
        turns: Arc::clone(&turns),
    };
    let settings = WriterSettings {
        queue_size,
        commit_timeout: patience,
        log: Bounds::default(),
    };
    let (writer, (), _) = start(database, &settings, |_| Ok((batch, ()))).unwrap();
    Bench {
        writer,
        seen,
        doubtful,
        turns,
        conn,
        _kept: kept,
    }
}

impl Bench {
    /// Holds what the writer locks first, until it is rolled back.
    fn lock(&mut self) {
        dialect::begin_write(&mut self.conn).unwrap();
        diesel::sql_query("UPDATE placet_writers SET revision = revision")
            .execute(&mut self.conn)
            .unwrap();
    }

    /// Submits numbers while the database is locked, so that they wait together; then lets them go.
    async fn together(&mut self, numbers: &[i64], locked: Duration) -> Vec<Result<i64>> {
        self.lock();
        let tasks: Vec<_> = numbers.iter().map(|number| self.submit(*number)).collect();
        actix_web::rt::time::sleep(locked).await;
        dialect::rollback(&mut self.conn).unwrap();
        let mut answers = Vec::new();
        for task in tasks {
            answers.push(task.await.unwrap());
        }
        answers
    }

    /// Submits a number on a task of its own.
    fn submit(&self, number: i64) -> actix_web::rt::task::JoinHandle<Result<i64>> {
        let writer = self.writer.clone();
        actix_web::rt::spawn(async move { writer.submit(number).await })
    }

    fn count(&mut self) -> i64 {
        #[derive(QueryableByName)]
        struct Count {
            #[diesel(sql_type = BigInt)]
            n: i64,
        }
        diesel::sql_query("SELECT COUNT(*) AS n FROM numbers")
            .get_result::<Count>(&mut self.conn)
            .unwrap()
            .n
    }
}

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(300);

#[actix_web::test]
async fn what_waits_together_is_one_transaction() {
    let mut bench = bench(100, LONG);
    let numbers: Vec<i64> = (1..=20).collect();
    let answers = bench.together(&numbers, SHORT).await;
    assert_eq!(
        answers,
        numbers.iter().map(|number| Ok(number * 10)).collect::<Vec<_>>()
    );
    let batches = bench.seen.lock().unwrap().clone();
    assert!(
        batches.len() <= 2,
        "the first may go alone, the rest go together: {batches:?}"
    );
    assert_eq!(bench.count(), 20);
}

#[actix_web::test]
async fn a_guilty_command_is_found_and_the_others_are_committed() {
    for guilty in [TWICE, PANICS] {
        let mut bench = bench(100, LONG);
        let answers = bench.together(&[1, 2, guilty, 3, 4, 5], SHORT).await;
        for (number, answer) in [1, 2, guilty, 3, 4, 5].iter().zip(&answers) {
            match (*number == guilty, answer) {
                (true, Err(Error::Internal { .. })) => {}
                (false, Ok(it)) => assert_eq!(*it, number * 10),
                other => panic!("{number}: {other:?}"),
            }
        }
        assert_eq!(bench.count(), 5);
        assert_eq!(bench.writer.submit(9).await, Ok(90), "the writer goes on");
    }
}

#[actix_web::test]
async fn a_lock_that_outlasts_patience_is_answered_and_leaves_nothing() {
    let mut bench = bench(100, SHORT);
    let answers = bench.together(&[1, 2, 3], 4 * SHORT).await;
    for answer in answers {
        assert!(
            matches!(answer, Err(Error::Unavailable { .. } | Error::Busy { .. })),
            "{answer:?}"
        );
    }
    assert_eq!(bench.writer.submit(4).await, Ok(40));
    assert_eq!(bench.count(), 1, "what was refused is not done later");
}

#[actix_web::test]
async fn what_its_caller_gave_up_is_never_committed() {
    let mut bench = bench(100, SHORT);
    let given_up = bench.writer.submit(STILL).await;
    assert!(matches!(given_up, Err(Error::Unavailable { .. })), "{given_up:?}");
    // The writer is still at it, and finds out before it commits.
    actix_web::rt::time::sleep(3 * SHORT).await;
    assert_eq!(bench.writer.submit(1).await, Ok(10));
    assert_eq!(bench.count(), 1, "it was told that nothing was done");
}

#[actix_web::test]
async fn a_change_waits_no_longer_than_the_timeout_for_its_turn_and_its_tries_together() {
    let patience = Duration::from_secs(2);
    let mut bench = bench(100, patience);
    bench.lock();
    let began = Instant::now();
    let submit = |number: i64| {
        let writer = bench.writer.clone();
        actix_web::rt::spawn(async move { (writer.submit(number).await, began.elapsed()) })
    };
    let first = submit(1);
    actix_web::rt::time::sleep(patience / 2).await;
    let second = submit(2);
    assert!(first.await.unwrap().0.is_err());
    let (refused, after) = second.await.unwrap();
    assert!(refused.is_err(), "the lock is held");
    assert!(
        after < 7 * patience / 4,
        "its tries began anew with its turn: {after:?}"
    );
    dialect::rollback(&mut bench.conn).unwrap();
}

#[actix_web::test]
async fn a_full_queue_refuses_at_once() {
    let mut bench = bench(2, LONG);
    bench.lock();
    // The writer takes the first alone and waits with it for the lock.
    let mut tasks = vec![bench.submit(1)];
    actix_web::rt::time::sleep(SHORT).await;
    tasks.extend((2..=8).map(|number| bench.submit(number)));
    actix_web::rt::time::sleep(SHORT).await;
    dialect::rollback(&mut bench.conn).unwrap();
    let mut granted = Vec::new();
    for task in tasks {
        match task.await.unwrap() {
            Ok(it) => granted.push(it),
            Err(error) => assert!(matches!(error, Error::Busy { .. }), "{error:?}"),
        }
    }
    assert_eq!(granted, [10, 20, 30]);
    assert_eq!(bench.count(), 3);
}

#[actix_web::test]
async fn what_could_not_be_published_leaves_a_doubt_and_is_acknowledged() {
    let mut bench = bench(100, LONG);
    assert_eq!(bench.writer.submit(1).await, Ok(10));
    assert!(!bench.doubtful.load(Ordering::Acquire));
    let lost = bench.writer.submit(LOST).await;
    assert_eq!(lost, Ok(LOST * 10), "it is committed all the same");
    assert!(bench.doubtful.load(Ordering::Acquire));
    assert_eq!(bench.count(), 2);
}

/// As Galera does it where another node was faster: there is no doubt, and neither a half nor nothing is acknowledged.
#[actix_web::test]
async fn a_batch_that_was_undone_before_its_commit_is_tried_again() {
    let mut bench = bench(100, LONG);
    if Kind::of(&bench.conn) != Kind::Mariadb {
        return;
    }
    assert_eq!(
        bench.together(&[1, UNDONE, 2], SHORT).await,
        [Ok(10), Ok(UNDONE * 10), Ok(20)]
    );
    assert_eq!(bench.count(), 3);
    assert!(!bench.doubtful.load(Ordering::Acquire), "no fence is needed");
}
