//! Logs that grow under somebody's hands.

use std::path::PathBuf;

use diesel::connection::SimpleConnection;

use super::*;
use crate::db::testing::TestDatabase;

/// Little, so that a test need not write much.
const SMALL: Bounds = Bounds {
    begin: 200,
    quiet: 50,
    rest: 300,
    most: 1_000,
};
const ALWAYS: Duration = Duration::from_secs(5);
/// A commit of the tests has a few pages.
const COMMITS: i32 = 4_000;

/// Somebody who commits as the writer does.
struct Busy {
    mover: Option<Mover>,
    conn: DbConnection,
    database: Database,
    log: PathBuf,
    _kept: TestDatabase,
}

fn busy() -> Busy {
    let kept = TestDatabase::file();
    let database = kept.open();
    let mut conn = database.connect_to(Purpose::Create).unwrap();
    conn.batch_execute("CREATE TABLE texts (id INTEGER PRIMARY KEY, text BLOB)")
        .unwrap();
    let mover = Mover::start(&database, SMALL).unwrap();
    mover.as_ref().unwrap().relieve(&mut conn).unwrap();
    let path = kept.url.strip_prefix("sqlite:///").unwrap();
    Busy {
        mover,
        conn,
        database,
        log: format!("{path}-wal").into(),
        _kept: kept,
    }
}

impl Busy {
    fn commit(&mut self) {
        self.conn
            .batch_execute("INSERT INTO texts (text) VALUES (randomblob(8000))")
            .unwrap();
        if let Some(mover) = &self.mover {
            assert!(mover.after_batch(&mut self.conn, ALWAYS));
        }
    }

    /// Pages that the log's file has had room for so far.
    fn pages(&self) -> u64 {
        std::fs::metadata(&self.log).unwrap().len() / 4_096
    }

    fn now(&mut self) -> Log {
        dialect::move_log(&mut self.conn, Move::Nothing).unwrap().unwrap()
    }

    /// Waits until the thread has moved everything, of its own accord.
    fn until_all_is_moved(&mut self) {
        self.until_less_is_left_than(SMALL.begin);
    }

    fn until_less_is_left_than(&mut self, pages: i32) {
        let began = Instant::now();
        while self.now().left() >= pages {
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}", self.now());
            std::thread::sleep(LOOK);
        }
    }
}

/// Begins to read, and goes on until the connection is dropped.
fn reader(busy: &Busy) -> DbConnection {
    let mut conn = busy.database.connect_to(Purpose::Read).unwrap();
    conn.batch_execute("BEGIN; SELECT COUNT(*) FROM texts").unwrap();
    conn
}

#[test]
fn a_log_stays_short_while_somebody_writes_without_a_pause() {
    let mut busy = busy();
    // Without SQLite's own help, which comes later.
    busy.conn.batch_execute("PRAGMA wal_autocheckpoint = 0").unwrap();
    (0..COMMITS).for_each(|_| busy.commit());
    // Written were five times as many and more; what came while the thread was at work is in it too.
    assert!(busy.pages() < 3 * SMALL.most as u64, "{} pages", busy.pages());
}

#[test]
fn who_reads_in_the_log_stops_nobody_and_is_no_more_than_waited_for() {
    let mut busy = busy();
    busy.commit();
    let reader = reader(&busy);
    let began = Instant::now();
    (0..COMMITS / 4).for_each(|_| busy.commit());
    let with_reader = began.elapsed();
    assert!(busy.now().left() > SMALL.most, "the reader has all of it kept");
    drop(reader);
    busy.until_all_is_moved();
    // What was moved while nobody wrote begins anew with the next commit.
    (0..COMMITS / 4).for_each(|_| busy.commit());
    busy.until_all_is_moved();
    busy.commit();
    assert!(busy.now().pages < 2 * SMALL.most, "{:?}", busy.now());
    assert!(with_reader < Duration::from_secs(10), "{with_reader:?}");
}

/// As requests do: there is always somebody, who is gone when the writer comes.
#[test]
fn who_began_to_read_a_moment_ago_does_not_keep_the_writer_from_being_asked() {
    let mut busy = busy();
    busy.mover = None;
    busy.conn.batch_execute("PRAGMA wal_autocheckpoint = 0").unwrap();
    let mut moving = Moving {
        database: busy.database.clone(),
        path: busy.log.clone(),
        bounds: SMALL,
        asked: Arc::default(),
        conn: None,
        file: None,
        tried: None,
    };
    let mut fill = |busy: &mut Busy, pages: i32| {
        let least = busy.now().pages + pages;
        while busy.now().pages < least {
            busy.commit();
        }
        moving.move_most().unwrap()
    };
    let _early = reader(&busy);
    assert!(fill(&mut busy, SMALL.rest / 2), "hardly anything is left to the writer");
    assert!(
        !fill(&mut busy, SMALL.rest),
        "nobody can move more while this one reads"
    );
}

#[test]
fn what_is_little_is_moved_as_soon_as_nobody_commits() {
    let mut busy = busy();
    while busy.now().left() < SMALL.begin / 2 {
        busy.commit();
    }
    busy.until_less_is_left_than(1);
    busy.commit();
    assert!(
        busy.now().pages < SMALL.quiet,
        "it begins anew by itself: {:?}",
        busy.now()
    );
}

#[test]
fn without_the_thread_commits_see_to_the_log_themselves() {
    let mut busy = busy();
    busy.mover = None;
    (0..COMMITS / 2).for_each(|_| busy.commit());
    assert!(busy.pages() < 3 * SMALL.most as u64, "{} pages", busy.pages());
}

#[test]
fn what_another_process_left_in_the_log_is_moved_at_the_start() {
    let mut busy = busy();
    busy.mover = None;
    (0..SMALL.begin).for_each(|_| busy.commit());
    assert!(busy.now().left() >= SMALL.begin);
    busy.mover = Mover::start(&busy.database, SMALL).unwrap();
    busy.until_all_is_moved();
}
