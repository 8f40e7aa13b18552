//! A writer whose callers have less patience than its session: what it waits for, and what the session is left with.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::db::followed::Revisions;
use crate::db::queue::WriterHandle;
use crate::db::testing::{Kind, TestDatabase};
use crate::db::writer::{Batch, Bounds, Planned, Ran, WriterSettings, start};
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

    fn run(&mut self, conn: &mut DbConnection, commands: &[&Duration], _: bool) -> DbResult<Ran<Self>> {
        std::thread::sleep(commands.iter().copied().sum());
        self.found.lock().expect("no panic").push(lock_timeout(conn));
        Err(diesel::result::Error::NotFound)
    }

    fn describe(&self, _: &()) -> String {
        String::new()
    }

    fn publish(&mut self, _: &mut DbConnection, _: (), _: &Commit) -> DbResult<()> {
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
    let (writer, _) = start(database, &settings, |_| Ok(batch)).expect("a writer");
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
    let submit = |command| {
        let writer = bench.writer.clone();
        actix_web::rt::spawn(async move { writer.submit(command).await })
    };
    let slow = submit(Duration::from_millis(2000));
    actix_web::rt::time::sleep(Duration::from_millis(300)).await;
    let hurried = submit(Duration::ZERO);
    actix_web::rt::time::sleep(Duration::from_millis(1400)).await;
    for refused in [slow, hurried, submit(Duration::ZERO)] {
        refused.await.expect("no panic").expect_err("it is rolled back");
    }
    let found = bench.found.lock().expect("no panic").clone();
    let is_hurried: Vec<bool> = found.iter().map(|it| *it != bench.always).collect();
    assert_eq!(is_hurried, [false, true, true, false], "{found:?}");
}

#[actix_web::test]
async fn a_session_that_was_in_a_hurry_is_not_afterwards() {
    let bench = bench(Duration::from_millis(3500), Duration::from_secs(3), false);
    let submit = |command| {
        let writer = bench.writer.clone();
        actix_web::rt::spawn(async move { writer.submit(command).await })
    };
    let slow = submit(Duration::from_millis(2000));
    actix_web::rt::time::sleep(Duration::from_millis(300)).await;
    let hurried = submit(Duration::ZERO);
    for refused in [slow, hurried, submit(Duration::ZERO)] {
        refused.await.expect("no panic").expect_err("it is rolled back");
    }
    bench
        .writer
        .submit(Duration::ZERO)
        .await
        .expect_err("it is rolled back");
    let found = bench.found.lock().expect("no panic").clone();
    assert_eq!(found[0], bench.always);
    assert_ne!(found[1], bench.always, "it waited for too long to wait as long again");
    assert_eq!(found.last(), Some(&bench.always));
}
