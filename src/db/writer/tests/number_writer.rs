//! A writer of numbers on a database of its own, and the connection of the writer's test.

use std::thread::JoinHandle;

use diesel::sql_types::BigInt;

use super::*;
use crate::caller::CallerKey;
use crate::db::tests::support::TestDatabase;
use crate::db::writer::handle::WriterHandle;
use crate::db::writer::job::{Submitted, WhenHeld};
use crate::db::writer::{WalLimits, WriterSettings, start};
use crate::db::{Database, DatabaseSettings};

/// How long the writer waits for the lock of a row.
pub const LOCK_TIMEOUT: Duration = Duration::from_millis(20);

/// The caller of numbers that are submitted without a name.
pub fn caller() -> CallerKey {
    caller_named("")
}

pub fn caller_named(name: &str) -> CallerKey {
    CallerKey::of_user(name, "project")
}

/// Submits a number as the service does. After a refusal on the snapshot the number is submitted again, as if the
/// tables would grant the number.
pub async fn submit(handle: &WriterHandle<Numbers>, number: i64) -> Result<i64> {
    submit_for(handle, &caller(), number).await
}

/// As [`submit`], for this caller.
pub async fn submit_for(handle: &WriterHandle<Numbers>, caller: &CallerKey, number: i64) -> Result<i64> {
    let deadline = handle.deadline();
    let refused = match handle.submit(caller, number, deadline, WhenHeld::Wait).await? {
        Submitted::Committed(answer) => return Ok(answer),
        Submitted::Unverified(number) => number,
        Submitted::Held => panic!("{number} was to wait"),
    };
    match handle
        .submit_from_database(caller, refused, deadline, WhenHeld::Wait)
        .await?
    {
        Submitted::Committed(answer) => Ok(answer),
        _ => panic!("{refused} was not decided from the database"),
    }
}

/// A writer of numbers, and a second connection to the writer's database.
pub struct NumberWriter {
    pub handle: WriterHandle<Numbers>,
    pub published: Arc<Mutex<Vec<Vec<i64>>>>,
    pub is_invalid: Arc<AtomicBool>,
    pub script: Arc<Script>,
    pub conn: DbConnection,
    /// The writer's thread, until [`Self::join`].
    thread: Option<JoinHandle<()>>,
    _test_database: TestDatabase,
}

pub fn number_writer(queue_size: usize, timeout: Duration) -> NumberWriter {
    let (test_database, _) = TestDatabase::synced();
    let url = test_database.url.clone();
    writer_at(&url, test_database, queue_size, timeout)
}

/// A writer with this URL of the test's database, which has all tables.
pub fn writer_at(url: &str, test_database: TestDatabase, queue_size: usize, timeout: Duration) -> NumberWriter {
    let mut conn = test_database.open().connect().unwrap();
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
    let settings = DatabaseSettings {
        lock_timeout: LOCK_TIMEOUT,
        ..DatabaseSettings::new(url)
    };
    let database = Database::open(&settings).unwrap();
    let settings = WriterSettings {
        queue_size,
        commit_timeout: timeout,
        wal: WalLimits::default(),
        claim_memory: Duration::from_secs(3600),
        // The election ends a pipeline.
        election_interval: Duration::from_secs(3600),
    };
    let (handle, (), thread) = start(database, &settings, |_| Ok((batch, ()))).unwrap();
    NumberWriter {
        handle,
        published,
        is_invalid,
        script,
        conn,
        thread: Some(thread),
        _test_database: test_database,
    }
}

impl NumberWriter {
    /// Locks the row which the writer locks first, until a rollback.
    pub fn lock(&mut self) {
        dialect::begin_write(&mut self.conn).unwrap();
        diesel::sql_query("UPDATE placet_writers SET revision = revision")
            .execute(&mut self.conn)
            .unwrap();
    }

    /// Submits numbers while the row of `lock` is locked, for the time `locked`. So the numbers wait together.
    pub async fn submit_while_locked(&mut self, numbers: &[i64], locked: Duration) -> Vec<Result<i64>> {
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

    /// Inserts a number in a transaction which does not end before a rollback.
    pub fn hold_number(&mut self, number: i64) {
        dialect::begin_write(&mut self.conn).unwrap();
        diesel::sql_query(format!("INSERT INTO numbers (n) VALUES ({number})"))
            .execute(&mut self.conn)
            .unwrap();
    }

    /// Submits a number on a task of its own.
    pub fn submit(&self, number: i64) -> actix_web::rt::task::JoinHandle<Result<i64>> {
        let handle = self.handle.clone();
        actix_web::rt::spawn(async move { submit(&handle, number).await })
    }

    /// Gives up the handle. The queue is closed when all callers are gone.
    pub fn close_queue(&mut self) {
        let settings = WriterSettings {
            queue_size: 0,
            commit_timeout: Duration::ZERO,
            wal: WalLimits::default(),
            claim_memory: Duration::from_secs(3600),
            // The election ends a pipeline.
            election_interval: Duration::from_secs(3600),
        };
        (self.handle, _) = WriterHandle::new(&settings);
    }

    /// Waits until the writer has ended.
    pub async fn join(&mut self) {
        let thread = self.thread.take().unwrap();
        let began = Instant::now();
        while !thread.is_finished() {
            assert!(began.elapsed() < LONG_TIMEOUT, "the writer does not end");
            actix_web::rt::time::sleep(Duration::from_millis(5)).await;
        }
        thread.join().unwrap();
    }

    pub fn count(&mut self) -> i64 {
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
