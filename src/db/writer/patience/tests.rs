//! A writer whose callers have less patience than its session: what it waits for, and what the session is left with.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use actix_web::rt::task::JoinHandle;
use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::db::followed::Revisions;
use crate::db::queue::WriterHandle;
use crate::db::testing::{Kind, TestDatabase};
use crate::db::writer::{Batch, Bounds, Plan, Planned, Ran, WriterSettings, start};
use crate::db::{Commit, Database, DbConnection, DbResult, Settings, dialect};
use crate::error::{Error, Result};

/// A batch that takes a turn, in which it locks the epoch's row, or else is refused by the database after so long.
struct Hurried {
    takes_turn: bool,
    /// What the session waits for a lock, as each try found it and as the turn did.
    found: Arc<Mutex<Vec<String>>>,
}

/// As the engine says it.
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

impl Batch for Hurried {
    type Command = Duration;
    type Answer = ();
    type Change = ();

    fn may_be_planned(_: &Duration) -> bool {
        true
    }

    fn plan(&mut self, _: &mut DbConnection, _: &[&Duration]) -> DbResult<Planned<Self>> {
        Ok(Planned::Unknown)
    }

    fn foresee(&mut self, _: &(), _: &Commit, _: &[&Duration]) -> Option<Plan<Self>> {
        None
    }

    fn run(&mut self, conn: &mut DbConnection, commands: &[&Duration], _: bool) -> DbResult<Ran<Self>> {
        std::thread::sleep(commands.iter().copied().sum());
        self.found.lock().expect("no panic").push(lock_timeout(conn));
        Err(diesel::result::Error::NotFound)
    }

    fn describe(&self, _: &()) -> String {
        String::new()
    }

    fn publish(&mut self, _: (), _: &Commit) -> bool {
        true
    }

    fn read_back(&mut self, _: &mut DbConnection) -> DbResult<()> {
        Ok(())
    }

    fn follow(&mut self, _: &mut DbConnection) -> DbResult<()> {
        Ok(())
    }

    fn quiet(&self) -> Option<Revisions> {
        None
    }

    fn needs_turn(&mut self, _: &[&Duration], _: bool) -> bool {
        self.takes_turn
    }

    fn take_turn(&mut self, conn: &mut DbConnection) -> DbResult<()> {
        self.found.lock().expect("no panic").push(lock_timeout(conn));
        dialect::hold_registrations(conn)
    }

    fn may_join(&self, _: &Duration) -> bool {
        false
    }

    fn catch_up(&mut self, _: &mut DbConnection) -> DbResult<bool> {
        Ok(true)
    }

    fn doubt(&mut self) {}
}

struct Bench {
    writer: WriterHandle<Hurried>,
    found: Arc<Mutex<Vec<String>>>,
    /// What a session waits that nobody hurried.
    always: String,
    other: DbConnection,
    _kept: TestDatabase,
}

impl Bench {
    fn submit(&self, takes: Duration) -> JoinHandle<Result<()>> {
        let writer = self.writer.clone();
        actix_web::rt::spawn(async move { writer.submit(takes).await })
    }

    /// A command that takes two seconds, and one that waits for it from early on.
    async fn slow_and_waiting(&self) -> [JoinHandle<Result<()>>; 2] {
        let slow = self.submit(Duration::from_millis(2000));
        actix_web::rt::time::sleep(Duration::from_millis(300)).await;
        [slow, self.submit(Duration::ZERO)]
    }

    /// Waits for them, and says whether the session was in a hurry whenever that was looked at so far.
    async fn hurries(&self, submitted: impl IntoIterator<Item = JoinHandle<Result<()>>>) -> Vec<bool> {
        for refused in submitted {
            refused.await.expect("no panic").expect_err("it is rolled back");
        }
        let found = self.found.lock().expect("no panic");
        found.iter().map(|it| *it != self.always).collect()
    }
}

/// A writer whose callers and session have so much patience.
fn bench(patience: Duration, lock_timeout_is: Duration, takes_turn: bool) -> Bench {
    let kept = TestDatabase::empty();
    let database = Database::open(&Settings {
        lock_timeout: lock_timeout_is,
        ..Settings::new(&kept.url)
    })
    .expect("a URL");
    database.sync().expect("sync");
    let mut other = database.connect().expect("a connection");
    let found = Arc::default();
    let batch = Hurried {
        takes_turn,
        found: Arc::clone(&found),
    };
    let settings = WriterSettings {
        queue_size: 10,
        commit_timeout: patience,
        log: Bounds::default(),
    };
    let (writer, (), _) = start(database, &settings, |_| Ok((batch, ()))).expect("a writer");
    Bench {
        writer,
        found,
        always: lock_timeout(&mut other),
        other,
        _kept: kept,
    }
}

#[actix_web::test]
async fn a_lock_that_a_turn_waits_for_is_given_up_when_its_callers_give_up() {
    let patience = Duration::from_secs(2);
    let mut bench = bench(patience, 10 * patience, true);
    if Kind::of(&bench.other) == Kind::Sqlite {
        return;
    }
    dialect::begin_write(&mut bench.other).expect("begin");
    dialect::hold_registrations(&mut bench.other).expect("the lock");
    let began = Instant::now();
    let answer: Result<()> = bench.writer.submit(Duration::ZERO).await;
    assert!(matches!(answer, Err(Error::Unavailable { .. })), "{answer:?}");
    assert!(began.elapsed() < 2 * patience, "{:?}", began.elapsed());
    dialect::rollback(&mut bench.other).expect("let go");
}

/// The two are one batch first, and then each stands alone.
#[actix_web::test]
async fn who_has_time_is_not_hurried_by_who_has_not() {
    let bench = bench(Duration::from_millis(3500), Duration::from_secs(3), false);
    let [slow, hurried] = bench.slow_and_waiting().await;
    actix_web::rt::time::sleep(Duration::from_millis(1400)).await;
    let all = [slow, hurried, bench.submit(Duration::ZERO)];
    assert_eq!(bench.hurries(all).await, [false, true, true, false]);
}

/// The second waited for too long to wait as long again.
#[actix_web::test]
async fn a_session_that_was_in_a_hurry_is_not_afterwards() {
    let bench = bench(Duration::from_millis(3500), Duration::from_secs(3), false);
    let both = bench.slow_and_waiting().await;
    assert_eq!(bench.hurries(both).await, [false, true]);
    let later = [bench.submit(Duration::ZERO)];
    assert_eq!(bench.hurries(later).await, [false, true, false]);
}
