//! Tests of checkpoints of a growing WAL, with and without readers.

use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use diesel::connection::SimpleConnection;

use super::*;
use crate::db::tests::support::TestDatabase;

/// Small limits, which a test reaches with few commits.
const SMALL: WalLimits = WalLimits {
    checkpoint_pages: 200,
    idle_checkpoint_pages: 50,
    remainder_pages: 300,
    force_pages: 1_000,
};
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);
/// The number of commits of a test, each of a few pages.
const COMMITS: i32 = 4_000;

/// A connection that commits like the writer, and the checkpointer of its database.
struct CommitLoad {
    checkpointer: Option<WalCheckpointer>,
    conn: DbConnection,
    database: Database,
    wal: PathBuf,
    _test_database: TestDatabase,
}

fn commit_load() -> CommitLoad {
    let test_database = TestDatabase::file();
    let database = test_database.open();
    let mut conn = database.connect_to(OpenMode::Create).unwrap();
    conn.batch_execute("CREATE TABLE texts (id INTEGER PRIMARY KEY, text BLOB)")
        .unwrap();
    let checkpointer = WalCheckpointer::start(&database, SMALL).unwrap();
    checkpointer.as_ref().unwrap().defer_auto_checkpoint(&mut conn).unwrap();
    let path = test_database.url.strip_prefix("sqlite:///").unwrap();
    CommitLoad {
        checkpointer,
        conn,
        database,
        wal: format!("{path}-wal").into(),
        _test_database: test_database,
    }
}

impl CommitLoad {
    fn commit(&mut self) {
        self.conn
            .batch_execute("INSERT INTO texts (text) VALUES (randomblob(8000))")
            .unwrap();
        if let Some(checkpointer) = &self.checkpointer {
            assert!(checkpointer.after_batch(&mut self.conn, LOCK_TIMEOUT));
        }
    }

    /// The length of the WAL file, in pages.
    fn file_pages(&self) -> u64 {
        std::fs::metadata(&self.wal).unwrap().len() / 4_096
    }

    fn status(&mut self) -> WalStatus {
        dialect::wal_checkpoint(&mut self.conn, CheckpointMode::Noop).unwrap()
    }

    /// Waits until fewer pages are left than the thread copies under load.
    fn wait_for_checkpoint(&mut self) {
        self.wait_until_fewer_are_left_than(SMALL.checkpoint_pages);
    }

    fn wait_until_fewer_are_left_than(&mut self, pages: i32) {
        let began = Instant::now();
        while self.status().remaining() >= pages {
            assert!(began.elapsed() < Duration::from_secs(600), "{:?}", self.status());
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// A read transaction, which pins the current pages until dropped.
fn reader(load: &CommitLoad) -> DbConnection {
    let mut conn = load.database.connect_to(OpenMode::Read).unwrap();
    conn.batch_execute("BEGIN; SELECT COUNT(*) FROM texts").unwrap();
    conn
}

#[test]
fn the_wal_stays_short_under_steady_commits() {
    let mut load = commit_load();
    // Without SQLite's own checkpoint, which would hide a defect of the thread.
    load.conn.batch_execute("PRAGMA wal_autocheckpoint = 0").unwrap();
    (0..COMMITS).for_each(|_| load.commit());
    // More than five times as many pages were written. The bound has room for pages that are added during a checkpoint.
    assert!(
        load.file_pages() < 3 * SMALL.force_pages as u64,
        "{} pages",
        load.file_pages()
    );
}

#[test]
fn a_long_running_reader_pins_pages_and_delays_no_commit() {
    let mut load = commit_load();
    load.commit();
    let reader = reader(&load);
    let began = Instant::now();
    (0..COMMITS / 4).for_each(|_| load.commit());
    let with_reader = began.elapsed();
    assert!(
        load.status().remaining() > SMALL.force_pages,
        "the reader pins all pages"
    );
    drop(reader);
    load.wait_for_checkpoint();
    // All pages are copied and there was no commit since, so the next commit restarts the WAL.
    (0..COMMITS / 4).for_each(|_| load.commit());
    load.wait_for_checkpoint();
    load.commit();
    assert!(load.status().pages < 2 * SMALL.force_pages, "{:?}", load.status());
    assert!(with_reader < LOCK_TIMEOUT, "{with_reader:?}");
}

/// Under load there is always a short reader, which has ended when the writer finishes the checkpoint.
#[test]
fn the_writer_is_asked_although_a_reader_has_just_begun() {
    let mut load = commit_load();
    load.checkpointer = None;
    load.conn.batch_execute("PRAGMA wal_autocheckpoint = 0").unwrap();
    let paths = FilePaths::of(&load.wal.with_file_name("placet.sqlite")).unwrap();
    let mut thread = CheckpointThread::new(load.database.clone(), paths, SMALL, Arc::default());
    let mut copies_after = |load: &mut CommitLoad, pages: i32| {
        let least = load.status().pages + pages;
        while load.status().pages < least {
            load.commit();
        }
        thread.copy_pages().unwrap()
    };
    let _early = reader(&load);
    assert!(
        copies_after(&mut load, SMALL.remainder_pages / 2),
        "hardly any page is left to the writer"
    );
    assert!(
        !copies_after(&mut load, SMALL.remainder_pages),
        "the reader pins all pages since it began"
    );
}

#[test]
fn even_few_pages_are_copied_when_the_writer_is_idle() {
    let mut load = commit_load();
    while load.status().remaining() < SMALL.checkpoint_pages / 2 {
        load.commit();
    }
    load.wait_until_fewer_are_left_than(1);
    load.commit();
    assert!(
        load.status().pages < SMALL.idle_checkpoint_pages,
        "the commit restarts the WAL: {:?}",
        load.status()
    );
}

#[test]
fn without_the_thread_sqlite_checkpoints_the_wal() {
    let mut load = commit_load();
    load.checkpointer = None;
    (0..COMMITS / 2).for_each(|_| load.commit());
    assert!(
        load.file_pages() < 3 * SMALL.force_pages as u64,
        "{} pages",
        load.file_pages()
    );
}

#[test]
fn a_wal_of_an_earlier_process_is_checkpointed_at_the_start() {
    let mut load = commit_load();
    load.checkpointer = None;
    (0..SMALL.checkpoint_pages).for_each(|_| load.commit());
    assert!(load.status().remaining() >= SMALL.checkpoint_pages);
    load.checkpointer = WalCheckpointer::start(&load.database, SMALL).unwrap();
    load.wait_for_checkpoint();
}

#[test]
fn damage_is_found_before_a_checkpoint_covers_it() {
    let test_database = TestDatabase::file();
    let database = test_database.open();
    let mut conn = database.connect_to(OpenMode::Create).unwrap();
    conn.batch_execute("CREATE TABLE texts (id INTEGER PRIMARY KEY, text BLOB)")
        .unwrap();
    database.lock_for_serving().unwrap();
    database.guard().begin(&database, "a writer").unwrap();
    let paths = FilePaths::of(database.target().file().unwrap()).unwrap();
    let file = ManuallyDrop::new(File::options().write(true).open(&paths.database).unwrap());
    let mut thread = CheckpointThread::new(database.clone(), paths, SMALL, Arc::default());
    thread.checkpoint(CheckpointMode::Noop).unwrap();
    // The log has the header's page, because the file grows.
    conn.batch_execute("INSERT INTO texts (text) VALUES (randomblob(500000))")
        .unwrap();
    file.write_all_at(&[b'x'; 100], 0).unwrap();
    thread.checkpoint_if_due(Wakeup::Idle).unwrap();
    let reported = database.guard().check_writable();
    assert!(matches!(reported, Err(SetupError::FileDamaged { .. })), "{reported:?}");
}
