//! The lock timeout of the writer's session: shorter than its default while a caller has less time left.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use actix_web::rt::task::JoinHandle;
use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::db::change_feed::Revisions;
use crate::db::engines::dialect;
use crate::db::tests::support::{Kind, TestDatabase};
use crate::db::writer::queue::WriterHandle;
use crate::db::writer::{Batch, BatchPlan, PlanOutcome, RunOutcome, WalLimits, WriterSettings, start};
use crate::db::{Commit, Database, DatabaseSettings, DbConnection, DbResult};
use crate::error::{Error, Result};

/// A batch that locks the epoch's row before it is planned, or else sleeps for the time of its commands and fails.
struct Sleeper {
    is_locked: bool,
    /// The session's lock timeout, as each attempt found it.
    lock_timeouts: Arc<Mutex<Vec<String>>>,
}

/// The session's lock timeout, as the engine shows it.
fn lock_timeout(conn: &mut DbConnection) -> String {
    #[derive(QueryableByName)]
    struct Setting {
        #[diesel(sql_type = Text)]
        timeout: String,
    }
    let sql = match Kind::of(conn) {
        Kind::Sqlite => "SELECT CAST(timeout AS TEXT) AS timeout FROM pragma_busy_timeout",
        Kind::Mariadb => "SELECT CAST(@@innodb_lock_wait_timeout AS CHAR) AS timeout",
        #[cfg(feature = "postgresql")]
        Kind::Postgresql => "SELECT current_setting('lock_timeout') AS timeout",
    };
    diesel::sql_query(sql)
        .get_result::<Setting>(conn)
        .expect("a setting")
        .timeout
}

impl Batch for Sleeper {
    type Command = Duration;
    type Answer = ();
    type Change = ();

    fn is_plannable(_: &Duration) -> bool {
        true
    }

    fn plan(&mut self, _: &mut DbConnection, _: &[&Duration]) -> DbResult<PlanOutcome<Self>> {
        Ok(PlanOutcome::MissingData)
    }

    fn speculate(&mut self, _: &(), _: &Commit, _: &[&Duration]) -> Option<BatchPlan<Self>> {
        None
    }

    fn run(&mut self, conn: &mut DbConnection, commands: &[&Duration], _: bool) -> DbResult<RunOutcome<Self>> {
        std::thread::sleep(commands.iter().copied().sum());
        self.lock_timeouts.lock().expect("no panic").push(lock_timeout(conn));
        Err(diesel::result::Error::NotFound)
    }

    fn encode(&self, _: &()) -> String {
        String::new()
    }

    fn publish(&mut self, _: (), _: &Commit) -> bool {
        true
    }

    fn reload(&mut self, _: &mut DbConnection) -> DbResult<()> {
        Ok(())
    }

    fn follow(&mut self, _: &mut DbConnection) -> DbResult<()> {
        Ok(())
    }

    fn expected_peers(&self) -> Option<Revisions> {
        None
    }

    fn needs_locks(&mut self, _: &[&Duration], _: bool) -> bool {
        self.is_locked
    }

    fn lock(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        self.lock_timeouts.lock().expect("no panic").push(lock_timeout(conn));
        dialect::hold_registrations(conn)
    }

    fn can_join(&self, _: &Duration) -> bool {
        false
    }

    fn catch_up(&mut self, _: &mut DbConnection) -> DbResult<bool> {
        Ok(true)
    }

    fn invalidate(&mut self) {}
}

/// A writer of sleepers, and another session of its database.
struct SleeperWriter {
    handle: WriterHandle<Sleeper>,
    lock_timeouts: Arc<Mutex<Vec<String>>>,
    /// The lock timeout of a session that was never shortened.
    default: String,
    other: DbConnection,
    _test_database: TestDatabase,
}

impl SleeperWriter {
    fn submit(&self, takes: Duration) -> JoinHandle<Result<()>> {
        let handle = self.handle.clone();
        actix_web::rt::spawn(async move { handle.submit(takes).await })
    }

    /// Submits a command that takes two seconds, and soon after it another, which waits for the first.
    async fn submit_slow_and_waiting(&self) -> [JoinHandle<Result<()>>; 2] {
        let slow = self.submit(Duration::from_millis(2000));
        actix_web::rt::time::sleep(Duration::from_millis(300)).await;
        [slow, self.submit(Duration::ZERO)]
    }

    /// Waits for the commands, and returns for each attempt so far whether the lock timeout was shortened.
    async fn was_shortened(&self, submitted: impl IntoIterator<Item = JoinHandle<Result<()>>>) -> Vec<bool> {
        for refused in submitted {
            refused.await.expect("no panic").expect_err("it is rolled back");
        }
        let lock_timeouts = self.lock_timeouts.lock().expect("no panic");
        lock_timeouts.iter().map(|timeout| *timeout != self.default).collect()
    }
}

fn sleeper_writer(timeout: Duration, default_lock_timeout: Duration, is_locked: bool) -> SleeperWriter {
    let test_database = TestDatabase::empty();
    let database = Database::open(&DatabaseSettings {
        lock_timeout: default_lock_timeout,
        ..DatabaseSettings::new(&test_database.url)
    })
    .expect("a URL");
    database.sync().expect("sync");
    let mut other = database.connect().expect("a connection");
    let lock_timeouts = Arc::default();
    let batch = Sleeper {
        is_locked,
        lock_timeouts: Arc::clone(&lock_timeouts),
    };
    let settings = WriterSettings {
        queue_size: 10,
        commit_timeout: timeout,
        wal: WalLimits::default(),
    };
    let (handle, (), _) = start(database, &settings, |_| Ok((batch, ()))).expect("a writer");
    SleeperWriter {
        handle,
        lock_timeouts,
        default: lock_timeout(&mut other),
        other,
        _test_database: test_database,
    }
}

#[actix_web::test]
async fn a_locked_batch_waits_for_a_lock_no_longer_than_its_callers() {
    let timeout = Duration::from_secs(2);
    let mut writer = sleeper_writer(timeout, 10 * timeout, true);
    if Kind::of(&writer.other) == Kind::Sqlite {
        return;
    }
    dialect::begin_write(&mut writer.other).expect("begin");
    dialect::hold_registrations(&mut writer.other).expect("the lock");
    let began = Instant::now();
    let answer: Result<()> = writer.handle.submit(Duration::ZERO).await;
    assert!(matches!(answer, Err(Error::Unavailable { .. })), "{answer:?}");
    assert!(began.elapsed() < 2 * timeout, "{:?}", began.elapsed());
    dialect::rollback(&mut writer.other).expect("rolled back");
}

/// The last two are one batch first. It fails, and is halved, so that each is tried alone.
#[actix_web::test]
async fn a_command_with_time_is_not_shortened_by_one_without() {
    let writer = sleeper_writer(Duration::from_millis(3500), Duration::from_secs(3), false);
    let [slow, waiting] = writer.submit_slow_and_waiting().await;
    actix_web::rt::time::sleep(Duration::from_millis(1400)).await;
    let all = [slow, waiting, writer.submit(Duration::ZERO)];
    assert_eq!(writer.was_shortened(all).await, [false, true, true, false]);
}

/// The second has waited too long for the default.
#[actix_web::test]
async fn a_shortened_lock_timeout_is_restored_after_the_batch() {
    let writer = sleeper_writer(Duration::from_millis(3500), Duration::from_secs(3), false);
    let both = writer.submit_slow_and_waiting().await;
    assert_eq!(writer.was_shortened(both).await, [false, true]);
    let later = [writer.submit(Duration::ZERO)];
    assert_eq!(writer.was_shortened(later).await, [false, true, false]);
}
