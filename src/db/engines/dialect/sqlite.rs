//! SQLite: one file with one write lock, served by one process.

use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel::sqlite::SqliteConnection;
use rustix::fs::{Access, access};

use super::OpenMode;
use crate::db::SetupError;
use crate::db::connect::url;
use crate::db::engines::rows::statement::Fragment;

pub const TABLE_NAMES: &str =
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite^_%' ESCAPE '^'";

/// The time between two attempts to enable the write-ahead log.
const WAL_RETRY_INTERVAL: Duration = Duration::from_millis(10);

pub fn connect(path: &Path, mode: OpenMode, lock_timeout: Duration) -> Result<SqliteConnection, SetupError> {
    let place = url::DbTarget::of_file(path).to_string();
    let failed = |detail: String| {
        if path.exists() || mode == OpenMode::Create {
            SetupError::Connect {
                place: place.clone(),
                detail: write_refusal(path, &detail).unwrap_or(detail),
            }
        } else {
            SetupError::Missing { place: place.clone() }
        }
    };
    let uri_mode = if mode == OpenMode::Create { "rwc" } else { "rw" };
    let uri = url::file_uri(path, uri_mode).map_err(|error| failed(error.to_string()))?;
    let mut conn = SqliteConnection::establish(&uri).map_err(|error| failed(error.to_string()))?;
    set_up_session(&mut conn, mode, lock_timeout).map_err(|error| failed(error.to_string()))?;
    Ok(conn)
}

/// The operating system's reason why the file or its directory cannot be written, if SQLite's message concerns this.
/// SQLite's own message depends on the existing files. The check does not open the file, because closing the file would
/// release this process's locks on the file.
fn write_refusal(path: &Path, detail: &str) -> Option<String> {
    let messages = ["unable to open database file", "attempt to write a readonly database"];
    if !messages.iter().any(|message| detail.starts_with(message)) {
        return None;
    }
    let absolute = std::path::absolute(path).ok()?;
    let refusal = |path: &Path| access(path, Access::WRITE_OK).err().map(std::io::Error::from);
    let refusals = [Some(absolute.as_path()), absolute.parent()]
        .into_iter()
        .flatten()
        .filter_map(refusal);
    let mut refusals =
        refusals.filter(|it| matches!(it.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem));
    refusals.next().map(|error| error.to_string())
}

/// Sets up the session. With `synchronous = FULL` a commit in WAL mode survives a power cut. Foreign keys are enforced
/// as on servers, so tests on SQLite find an order of statements that servers would refuse.
fn set_up_session(conn: &mut SqliteConnection, mode: OpenMode, lock_timeout: Duration) -> QueryResult<()> {
    conn.batch_execute(&format!(
        "PRAGMA busy_timeout = {}; PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;",
        lock_timeout.as_millis()
    ))?;
    match mode {
        OpenMode::Read => conn.batch_execute(READER_PRAGMAS),
        // The journal mode is stored in the file, so a reader, which may not change the mode, need not set it.
        OpenMode::Write | OpenMode::Create => {
            enable_wal(conn, lock_timeout)?;
            conn.batch_execute(WRITER_PRAGMAS)
        }
    }
}

/// A reader caches 500 KiB of pages instead of 2,000. There may be many readers, and every commit invalidates their
/// caches. The kernel's page cache keeps the file's pages for all readers.
const READER_PRAGMAS: &str = "PRAGMA query_only = ON; PRAGMA cache_size = -500";

/// Makes commits cheaper, with the same durability.
///
/// - The statement journal is in memory, not in a temporary file.
/// - The WAL is checkpointed after 4,000 pages instead of 1,000. Until this length most pages are written several
///   times, and are copied into the file once. For the serving process's writer, a separate thread checkpoints
///   (`crate::db::wal_checkpointer`).
///
/// The page cache has SQLite's default size, because no claim was faster with a larger cache.
const WRITER_PRAGMAS: &str = "PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 4000";

/// Turns on the write-ahead log, which a file of OpenStack Placement does not have. While a second connection writes,
/// SQLite refuses at once, with any busy timeout. So this function waits itself, for at most `lock_timeout`.
fn enable_wal(conn: &mut SqliteConnection, lock_timeout: Duration) -> QueryResult<()> {
    let deadline = Instant::now() + lock_timeout;
    loop {
        match conn.batch_execute("PRAGMA journal_mode = WAL") {
            Err(error) if error.to_string().contains("database is locked") && Instant::now() < deadline => {
                std::thread::sleep(WAL_RETRY_INTERVAL);
            }
            result => return result,
        }
    }
}

/// Begins a deferred transaction: a consistent read of the database as it is at the first SELECT.
pub fn begin_read(conn: &mut SqliteConnection) -> QueryResult<()> {
    conn.batch_execute("BEGIN")
}

/// Takes the write lock at once. A transaction that reads before writing would fail with "database is locked" at the
/// first write, without a wait.
pub fn begin_write(conn: &mut SqliteConnection) -> QueryResult<()> {
    conn.batch_execute("BEGIN IMMEDIATE")
}

/// A number that changes with each commit of a second connection. A checkpoint that does not truncate the WAL is no
/// commit.
pub fn data_version(conn: &mut SqliteConnection) -> QueryResult<i64> {
    Fragment::new("PRAGMA data_version", [])
        .cached::<BigInt>()
        .get_result(conn)
}

/// Does nothing: `begin_write` holds the only lock.
pub fn hold_registrations(_: &mut SqliteConnection) -> QueryResult<()> {
    Ok(())
}

/// Does nothing: `begin_write` holds the only lock.
pub fn hold_writers(_: &mut SqliteConnection) -> QueryResult<()> {
    Ok(())
}

pub fn set_lock_timeout(conn: &mut SqliteConnection, lock_timeout: Duration) -> QueryResult<()> {
    conn.batch_execute(&format!("PRAGMA busy_timeout = {}", lock_timeout.as_millis()))
}

/// Succeeds also if SQLite has already rolled back by itself after an error.
pub fn rollback(conn: &mut SqliteConnection) -> QueryResult<()> {
    match conn.batch_execute("ROLLBACK") {
        Err(error) if error.to_string().contains("no transaction is active") => Ok(()),
        result => result,
    }
}

/// Does nothing: `begin_write` holds the only lock.
pub fn lock_schema(_: &mut SqliteConnection) -> QueryResult<()> {
    Ok(())
}

pub fn unlock_schema(_: &mut SqliteConnection) {}
