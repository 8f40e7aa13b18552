//! Tests of the writer with a batch that inserts numbers into a table. Some numbers make it fail, each in its own way.

mod held_rows;
mod large;
mod pessimistic;
mod pipeline;
mod preinserts;
mod script;
mod suspension;
mod waiting;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::BigInt;

use super::queue::{Submitted, WriterHandle};
use super::{
    Batch, BatchChange, BatchCommand, BatchPlan, Decision, Executed, HeldRows, LockSet, WalLimits, WriterSettings,
    start,
};
use crate::db::engines::dialect;
use crate::db::tests::support::{Kind, TestDatabase};
use crate::db::{Commit, Database, DatabaseSettings, DbConnection, DbResult, WriteError};
use crate::error::{Error, Result};
use script::Script;

// Numbers that make the batch fail when it runs.
/// Is inserted twice, which the table refuses.
const DUPLICATE: i64 = -1;
const PANICS: i64 = -2;
/// Is committed, but cannot be published.
const UNPUBLISHABLE: i64 = -3;
/// The server rolls its transaction back, once.
const ROLLED_BACK: i64 = -4;
/// Takes longer than its caller waits, as a paused database does.
const HANGS: i64 = -5;
/// The machine is suspended while it runs, for the writer's thread.
const SUSPENDS: i64 = -6;

/// A number of `-n * ROWS`, or a little less, counts as `n` rows.
const ROWS: i64 = 1000;

/// Inserts numbers; each batch is published into `published`.
struct Numbers {
    published: Arc<Mutex<Vec<Vec<i64>>>>,
    is_invalid: Arc<AtomicBool>,
    was_rolled_back: bool,
    script: Arc<Script>,
}

impl BatchCommand for i64 {
    fn is_plannable(&self) -> bool {
        script::is_plannable(*self)
    }

    fn rows(&self) -> usize {
        if script::has_large_rows(*self) {
            return 1000;
        }
        usize::try_from(-*self / ROWS).unwrap_or(0)
    }

    fn new_rows(&self) -> HeldRows {
        HeldRows {
            providers: LockSet::from([script::provider(*self)]),
            ..HeldRows::default()
        }
    }
}

impl BatchChange for Vec<i64> {
    fn encode(&self) -> String {
        format!("{self:?}")
    }
}

impl Batch for Numbers {
    type Command = i64;
    type Answer = i64;
    type Change = Vec<i64>;

    fn plan(&mut self, _: &mut DbConnection, commands: &[&i64]) -> DbResult<Option<BatchPlan<Self>>> {
        Ok(self.script.plan(commands))
    }

    fn speculate(&mut self, change: &Vec<i64>, _: &Commit, commands: &[&i64]) -> Option<BatchPlan<Self>> {
        self.script.speculate(change, commands)
    }

    fn run(
        &mut self,
        conn: &mut DbConnection,
        commands: &[&i64],
        from_database: bool,
    ) -> std::result::Result<Executed<Self>, WriteError> {
        self.script.record(script::Call::Run { from_database });
        for number in commands.iter().filter(|number| !script::is_refused(***number)) {
            assert!(**number != PANICS, "a defect");
            if **number == ROLLED_BACK && !std::mem::replace(&mut self.was_rolled_back, true) {
                conn.batch_execute("ROLLBACK")?;
            }
            if **number == HANGS {
                std::thread::sleep(5 * SHORT_TIMEOUT);
            }
            if **number == SUSPENDS {
                suspension::suspend();
            }
            let times = if **number == DUPLICATE { 2 } else { 1 };
            for _ in 0..times {
                diesel::sql_query(format!("INSERT INTO numbers (n) VALUES ({number})")).execute(conn)?;
            }
        }
        let granted = commands.iter().filter(|number| !script::is_refused(***number));
        let written: Vec<i64> = granted.map(|number| **number).collect();
        let decision = |number: &&i64| match script::answer(**number) {
            Ok(answer) => Decision::Granted(answer),
            Err(refusal) => Decision::Refused(refusal),
        };
        Ok(Executed {
            decisions: commands.iter().map(decision).collect(),
            change: (!written.is_empty()).then_some(written),
        })
    }

    fn publish(&mut self, _: Option<&mut DbConnection>, change: Vec<i64>, commit: &Commit) {
        assert!(!change.contains(&UNPUBLISHABLE), "a defect");
        self.script.committed(commit);
        // A caller that is answered too early has time to notice.
        std::thread::sleep(Duration::from_millis(5));
        self.published.lock().unwrap().push(change);
    }

    fn follow(&mut self, _: &mut DbConnection) -> DbResult<()> {
        self.script.record(script::Call::Follow);
        Ok(())
    }

    fn expected_peers(&self) -> Option<crate::db::change_feed::Revisions> {
        self.script.expected_peers()
    }

    fn lock(&mut self, conn: &mut DbConnection, lock_set: &LockSet) -> DbResult<()> {
        if self.script.lock(lock_set) {
            Ok(())
        } else {
            conn.batch_execute("ROLLBACK")
        }
    }

    fn catch_up(&mut self, _: &mut DbConnection) -> DbResult<bool> {
        Ok(self.script.catch_up())
    }

    fn reconnected(&mut self, _: &mut DbConnection) -> DbResult<()> {
        Ok(())
    }

    fn held_rows(&mut self, _: &mut DbConnection, commands: &[&i64]) -> DbResult<HeldRows> {
        Ok(self.script.held_rows(commands))
    }

    fn needs(&self, number: &i64, rows: &HeldRows) -> bool {
        rows.providers.contains(&script::provider(*number))
    }

    fn invalidate(&mut self) {
        self.is_invalid.store(true, Ordering::Release);
    }
}

/// Submits a number as the service does. One that is refused on the snapshot is submitted again, as if the tables would
/// grant it.
async fn submit(handle: &WriterHandle<Numbers>, number: i64) -> Result<i64> {
    let deadline = handle.deadline();
    let refused = match handle.submit(number, deadline).await? {
        Submitted::Committed(answer) => return Ok(answer),
        Submitted::Unverified(number) => number,
    };
    match handle.submit_from_database(refused, deadline).await? {
        Submitted::Committed(answer) => Ok(answer),
        Submitted::Unverified(number) => panic!("{number} was not decided from the database"),
    }
}

/// A writer of numbers, and another connection to its database.
struct NumberWriter {
    handle: WriterHandle<Numbers>,
    published: Arc<Mutex<Vec<Vec<i64>>>>,
    is_invalid: Arc<AtomicBool>,
    script: Arc<Script>,
    conn: DbConnection,
    _test_database: TestDatabase,
}

fn number_writer(queue_size: usize, timeout: Duration) -> NumberWriter {
    number_writer_with(queue_size, timeout, Duration::from_millis(20))
}

fn number_writer_with(queue_size: usize, timeout: Duration, lock_timeout: Duration) -> NumberWriter {
    let test_database = TestDatabase::empty();
    let settings = DatabaseSettings {
        lock_timeout,
        ..DatabaseSettings::new(&test_database.url)
    };
    let database = Database::open(&settings).unwrap();
    database.sync().unwrap();
    let mut conn = database.connect().unwrap();
    diesel::sql_query("CREATE TABLE numbers (n INTEGER NOT NULL UNIQUE, created_at TIMESTAMP NULL)")
        .execute(&mut conn)
        .unwrap();
    let (published, is_invalid, script) = (Arc::default(), Arc::default(), Arc::<Script>::default());
    let batch = Numbers {
        published: Arc::clone(&published),
        is_invalid: Arc::clone(&is_invalid),
        was_rolled_back: false,
        script: Arc::clone(&script),
    };
    let settings = WriterSettings {
        queue_size,
        commit_timeout: timeout,
        wal: WalLimits::default(),
    };
    let (handle, (), _) = start(database, &settings, |_| Ok((batch, ()))).unwrap();
    NumberWriter {
        handle,
        published,
        is_invalid,
        script,
        conn,
        _test_database: test_database,
    }
}

impl NumberWriter {
    /// Locks the row that the writer locks first, until a rollback.
    fn lock(&mut self) {
        dialect::begin_write(&mut self.conn).unwrap();
        diesel::sql_query("UPDATE placet_writers SET revision = revision")
            .execute(&mut self.conn)
            .unwrap();
    }

    /// Submits numbers while that row is locked, for the time `locked`, so that they wait together.
    async fn submit_while_locked(&mut self, numbers: &[i64], locked: Duration) -> Vec<Result<i64>> {
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

    /// Inserts a number in a transaction that does not end before a rollback.
    fn hold_number(&mut self, number: i64) {
        dialect::begin_write(&mut self.conn).unwrap();
        diesel::sql_query(format!("INSERT INTO numbers (n) VALUES ({number})"))
            .execute(&mut self.conn)
            .unwrap();
    }

    /// Submits a number on another task.
    fn submit(&self, number: i64) -> actix_web::rt::task::JoinHandle<Result<i64>> {
        let handle = self.handle.clone();
        actix_web::rt::spawn(async move { submit(&handle, number).await })
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

const LONG_TIMEOUT: Duration = Duration::from_secs(20);
const SHORT_TIMEOUT: Duration = Duration::from_millis(300);

#[actix_web::test]
async fn commands_that_wait_together_share_a_transaction() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    let numbers: Vec<i64> = (1..=20).collect();
    let answers = writer.submit_while_locked(&numbers, SHORT_TIMEOUT).await;
    assert_eq!(
        answers,
        numbers.iter().map(|number| Ok(number * 10)).collect::<Vec<_>>()
    );
    let batches = writer.published.lock().unwrap().clone();
    assert!(
        batches.len() <= 2,
        "the first may be a batch of its own, the others are one: {batches:?}"
    );
    assert_eq!(writer.count(), 20);
}

#[actix_web::test]
async fn only_the_command_at_fault_is_refused() {
    for at_fault in [DUPLICATE, PANICS] {
        let mut writer = number_writer(100, LONG_TIMEOUT);
        let answers = writer
            .submit_while_locked(&[1, 2, at_fault, 3, 4, 5], SHORT_TIMEOUT)
            .await;
        for (number, answer) in [1, 2, at_fault, 3, 4, 5].iter().zip(&answers) {
            match (*number == at_fault, answer) {
                (true, Err(Error::Internal { .. })) => {}
                (false, Ok(granted)) => assert_eq!(*granted, number * 10),
                other => panic!("{number}: {other:?}"),
            }
        }
        assert_eq!(writer.count(), 5);
        assert_eq!(submit(&writer.handle, 9).await, Ok(90), "the writer continues");
    }
}

#[actix_web::test]
async fn commands_whose_timeout_passes_during_a_lock_are_refused_and_not_committed() {
    let mut writer = number_writer(100, SHORT_TIMEOUT);
    let answers = writer.submit_while_locked(&[1, 2, 3], 4 * SHORT_TIMEOUT).await;
    for answer in answers {
        assert!(
            matches!(answer, Err(Error::Unavailable { .. } | Error::Busy { .. })),
            "{answer:?}"
        );
    }
    assert_eq!(submit(&writer.handle, 4).await, Ok(40));
    assert_eq!(writer.count(), 1, "a refused command is not committed later");
}

#[actix_web::test]
async fn a_cancelled_command_is_never_committed() {
    let mut writer = number_writer(100, SHORT_TIMEOUT);
    let cancelled = submit(&writer.handle, HANGS).await;
    assert!(matches!(cancelled, Err(Error::Unavailable { .. })), "{cancelled:?}");
    // The writer still runs the command, and looks at its gate before COMMIT.
    actix_web::rt::time::sleep(3 * SHORT_TIMEOUT).await;
    assert_eq!(submit(&writer.handle, 1).await, Ok(10));
    assert_eq!(writer.count(), 1, "its caller was answered that nothing was done");
}

#[actix_web::test]
async fn the_timeout_bounds_waiting_and_retries_together() {
    let timeout = Duration::from_secs(2);
    let mut writer = number_writer(100, timeout);
    writer.lock();
    let began = Instant::now();
    let submit = |number: i64| {
        let handle = writer.handle.clone();
        actix_web::rt::spawn(async move { (submit(&handle, number).await, began.elapsed()) })
    };
    let first = submit(1);
    actix_web::rt::time::sleep(timeout / 2).await;
    let second = submit(2);
    assert!(first.await.unwrap().0.is_err());
    let (refused, after) = second.await.unwrap();
    assert!(refused.is_err(), "the lock is held");
    assert!(
        after < 7 * timeout / 4,
        "the timeout began again with the first attempt: {after:?}"
    );
    dialect::rollback(&mut writer.conn).unwrap();
}

#[actix_web::test]
async fn a_commit_that_cannot_be_published_is_granted_and_invalidates_the_snapshot() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    assert_eq!(submit(&writer.handle, 1).await, Ok(10));
    assert!(!writer.is_invalid.load(Ordering::Acquire));
    let answer = submit(&writer.handle, UNPUBLISHABLE).await;
    assert_eq!(answer, Ok(UNPUBLISHABLE * 10), "it is committed");
    assert!(writer.is_invalid.load(Ordering::Acquire));
    assert_eq!(writer.count(), 2);
}

/// Galera does this if another node committed first. The outcome is not in doubt, and no part of the batch is committed
/// alone.
#[actix_web::test]
async fn a_batch_that_the_server_rolled_back_before_commit_is_tried_again() {
    let mut writer = number_writer(100, LONG_TIMEOUT);
    if Kind::of(&writer.conn) != Kind::Mariadb {
        return;
    }
    assert_eq!(
        writer.submit_while_locked(&[1, ROLLED_BACK, 2], SHORT_TIMEOUT).await,
        [Ok(10), Ok(ROLLED_BACK * 10), Ok(20)]
    );
    assert_eq!(writer.count(), 3);
    assert!(!writer.is_invalid.load(Ordering::Acquire), "no fence is needed");
}
