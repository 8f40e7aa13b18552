//! SQLite: one file, one lock for all of it, and only one process that serves it.

use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use diesel_migrations::embed_migrations;
use rustix::fs::{Access, access};

use super::Purpose;
use super::migrations::Migrations;
use crate::db::SetupError;
use crate::db::connect::url;

pub const MIGRATIONS: Migrations = Migrations {
    openstack: embed_migrations!("migrations/sqlite/openstack"),
    placet: embed_migrations!("migrations/sqlite/placet"),
    to_422ece571366: include_str!("../../../../migrations/sqlite/upgrade/422ece571366.sql"),
    to_a082b8bb98d0: include_str!("../../../../migrations/sqlite/upgrade/a082b8bb98d0.sql"),
};

pub const TABLE_NAMES: &str =
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite^_%' ESCAPE '^'";

/// Between two tries to change how the file is kept.
const PAUSE: Duration = Duration::from_millis(10);

pub fn connect(path: &Path, purpose: Purpose, patience: Duration) -> Result<SqliteConnection, SetupError> {
    let place = path.display().to_string();
    let failed = |detail: String| match path.exists() || purpose == Purpose::Create {
        true => SetupError::Connect {
            place: place.clone(),
            detail: what_the_system_says(path, &detail).unwrap_or(detail),
        },
        false => SetupError::Missing { place: place.clone() },
    };
    let mode = if purpose == Purpose::Create { "rwc" } else { "rw" };
    let uri = url::file_uri(path, mode).map_err(|error| failed(error.to_string()))?;
    let mut conn = SqliteConnection::establish(&uri).map_err(|error| failed(error.to_string()))?;
    prepare(&mut conn, purpose, patience).map_err(|error| failed(error.to_string()))?;
    Ok(conn)
}

/// Why the file, or one beside it, may not be written. Of that SQLite has one word or another, by which files it finds there
/// already. The file is not opened to learn it: to close it again would give back the locks that this process has on it.
fn what_the_system_says(path: &Path, detail: &str) -> Option<String> {
    let is_about_that = ["unable to open database file", "attempt to write a readonly database"];
    if !is_about_that.iter().any(|words| detail.starts_with(words)) {
        return None;
    }
    let absolute = std::path::absolute(path).ok()?;
    let refusal = |path: &Path| access(path, Access::WRITE_OK).err().map(std::io::Error::from);
    let refusals = [Some(absolute.as_path()), absolute.parent()]
        .into_iter()
        .flatten()
        .filter_map(refusal);
    let mut telling =
        refusals.filter(|it| matches!(it.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem));
    telling.next().map(|error| error.to_string())
}

/// A session's settings. `synchronous = FULL` is what makes a commit in WAL mode survive a power cut. Foreign keys are
/// enforced as the other databases do it, so that an order of statements that they would refuse is found here.
fn prepare(conn: &mut SqliteConnection, purpose: Purpose, patience: Duration) -> QueryResult<()> {
    conn.batch_execute(&format!(
        "PRAGMA busy_timeout = {}; PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;",
        patience.as_millis()
    ))?;
    match purpose {
        Purpose::Read => conn.batch_execute(READING),
        // The file remembers it, so a reader need not ask for what only a writer may change.
        Purpose::Write | Purpose::Create => {
            keep_a_log(conn, patience)?;
            conn.batch_execute(THRIFT)
        }
    }
}

/// There may be many who read, and what one of them keeps is worth nothing after the next commit of anybody: so many KiB of
/// pages instead of 2,000. The system keeps the file's pages for all of them.
const READING: &str = "PRAGMA query_only = ON; PRAGMA cache_size = -500";

/// What a writer's commits cost less with, and stay what they are. What a statement could have to undo is kept in memory, not
/// in a file of its own. Pages go from the log into the file after so many instead of 1,000: most of them were written
/// several times by then, and go once; those of the process's one writer are moved by another thread (`crate::db::wal_checkpointer`).
/// More pages in memory than SQLite keeps by itself make no claim faster.
const THRIFT: &str = "PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 4000";

/// Has the file keep a write-ahead log. A file that OpenStack Placement made has none, and while somebody else writes it
/// none is begun: SQLite says so at once, whatever the patience.
fn keep_a_log(conn: &mut SqliteConnection, patience: Duration) -> QueryResult<()> {
    let deadline = Instant::now() + patience;
    loop {
        match conn.batch_execute("PRAGMA journal_mode = WAL") {
            Err(error) if error.to_string().contains("database is locked") && Instant::now() < deadline => {
                std::thread::sleep(PAUSE);
            }
            result => return result,
        }
    }
}

/// A deferred transaction takes its snapshot with the first SELECT and keeps it.
pub fn begin_read(conn: &mut SqliteConnection) -> QueryResult<()> {
    conn.batch_execute("BEGIN")
}

/// Takes the lock at once: a transaction that only reads first fails with "database is locked" when it comes to write,
/// and no waiting helps it.
pub fn begin_write(conn: &mut SqliteConnection) -> QueryResult<()> {
    conn.batch_execute("BEGIN IMMEDIATE")
}

/// `begin_write` holds the one lock.
pub fn hold_registrations(_: &mut SqliteConnection) -> QueryResult<()> {
    Ok(())
}

/// `begin_write` holds the one lock.
pub fn hold_writers(_: &mut SqliteConnection) -> QueryResult<()> {
    Ok(())
}

pub fn set_lock_timeout(conn: &mut SqliteConnection, patience: Duration) -> QueryResult<()> {
    conn.batch_execute(&format!("PRAGMA busy_timeout = {}", patience.as_millis()))
}

/// SQLite may have rolled back by itself after an error; that is no failure.
pub fn rollback(conn: &mut SqliteConnection) -> QueryResult<()> {
    match conn.batch_execute("ROLLBACK") {
        Err(error) if error.to_string().contains("no transaction is active") => Ok(()),
        result => result,
    }
}

/// `begin_write` locked it.
pub fn lock_schema(_: &mut SqliteConnection) -> QueryResult<()> {
    Ok(())
}

pub fn unlock_schema(_: &mut SqliteConnection) {}
