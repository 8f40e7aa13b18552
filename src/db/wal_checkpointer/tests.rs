//! A WAL that grows while it is checkpointed, with and without readers.

use std::path::PathBuf;

use diesel::connection::SimpleConnection;

use super::*;
use crate::db::tests::support::TestDatabase;

/// Small, so that a test need not write much.
const SMALL: WalLimits = WalLimits {
    checkpoint_pages: 200,
    idle_checkpoint_pages: 50,
    remainder_pages: 300,
    force_pages: 1_000,
};
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// A commit of the tests has a few pages.
const COMMITS: i32 = 4_000;

/// A connection that commits as the writer does, and the checkpointer of its database.
struct CommitLoad {
    checkpointer: Option<WalCheckpointer>,
    conn: DbConnection,
    database: Database,
    wal: PathBuf,
    _kept: TestDatabase,
}

fn commit_load() -> CommitLoad {
    let kept = TestDatabase::file();
    let database = kept.open();
    let mut conn = database.connect_to(Purpose::Create).unwrap();
    conn.batch_execute("CREATE TABLE texts (id INTEGER PRIMARY KEY, text BLOB)")
        .unwrap();
    let checkpointer = WalCheckpointer::start(&database, SMALL).unwrap();
    checkpointer.as_ref().unwrap().take_over(&mut conn).unwrap();
    let path = kept.url.strip_prefix("sqlite:///").unwrap();
    CommitLoad {
        checkpointer,
        conn,
        database,
        wal: format!("{path}-wal").into(),
        _kept: kept,
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

    /// The length that the WAL's file has reached, in pages.
    fn file_pages(&self) -> u64 {
        std::fs::metadata(&self.wal).unwrap().len() / 4_096
    }

    fn status(&mut self) -> WalStatus {
        dialect::wal_checkpoint(&mut self.conn, CheckpointMode::Noop)
            .unwrap()
            .unwrap()
    }

    /// Waits until the thread has copied all pages that it copies while there are commits.
    fn wait_for_checkpoint(&mut self) {
        self.wait_until_fewer_are_left_than(SMALL.checkpoint_pages);
    }

    fn wait_until_fewer_are_left_than(&mut self, pages: i32) {
        let began = Instant::now();
        while self.status().remaining() >= pages {
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}", self.status());
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// A reading transaction that pins the pages of now until it is dropped.
fn reader(load: &CommitLoad) -> DbConnection {
    let mut conn = load.database.connect_to(Purpose::Read).unwrap();
    conn.batch_execute("BEGIN; SELECT COUNT(*) FROM texts").unwrap();
    conn
}

#[test]
fn the_wal_stays_short_under_commits_without_a_pause() {
    let mut load = commit_load();
    // SQLite's own checkpoint, which takes over later, is turned off.
    load.conn.batch_execute("PRAGMA wal_autocheckpoint = 0").unwrap();
    (0..COMMITS).for_each(|_| load.commit());
    // More than five times as many pages were written. The bound has room for those that came during a checkpoint.
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
        "the reader pins all of them"
    );
    drop(reader);
    load.wait_for_checkpoint();
    // All pages were copied without a commit in between, so the next commit restarts the WAL.
    (0..COMMITS / 4).for_each(|_| load.commit());
    load.wait_for_checkpoint();
    load.commit();
    assert!(load.status().pages < 2 * SMALL.force_pages, "{:?}", load.status());
    assert!(with_reader < Duration::from_secs(10), "{with_reader:?}");
}

/// Under load there is always some short reader. It has ended when the writer finishes the checkpoint.
#[test]
fn a_reader_that_has_just_begun_does_not_keep_the_writer_from_being_asked() {
    let mut load = commit_load();
    load.checkpointer = None;
    load.conn.batch_execute("PRAGMA wal_autocheckpoint = 0").unwrap();
    let mut thread = CheckpointThread {
        database: load.database.clone(),
        path: load.wal.clone(),
        limits: SMALL,
        handshake: Arc::default(),
        conn: None,
        file: None,
        incomplete: None,
    };
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
fn an_idle_writer_has_few_pages_copied_too() {
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
fn without_the_thread_commits_checkpoint_the_wal_themselves() {
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
fn a_wal_that_another_process_left_is_checkpointed_at_the_start() {
    let mut load = commit_load();
    load.checkpointer = None;
    (0..SMALL.checkpoint_pages).for_each(|_| load.commit());
    assert!(load.status().remaining() >= SMALL.checkpoint_pages);
    load.checkpointer = WalCheckpointer::start(&load.database, SMALL).unwrap();
    load.wait_for_checkpoint();
}
