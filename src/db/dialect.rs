//! All that differs between databases. A noun that needs something here asks by a name that says what, not how.

use std::time::Duration;

use chrono::{NaiveDateTime, Timelike, Utc};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::DatabaseErrorInformation;
use diesel::sql_types::Text;
use diesel::sqlite::SqliteConnection;

use super::url::{self, Target};
use super::{DbConnection, Fault, SetupError};

/// Runs one diesel expression on whichever connection is inside.
///
/// Most queries need no such thing and run on a [`DbConnection`] as it is. Those that diesel builds for one backend at
/// a time (inserting many rows, `on_conflict`, `returning`) do.
macro_rules! on_each {
    ($conn:expr, $inner:ident => $run:expr) => {
        match $conn {
            $crate::db::DbConnection::Sqlite($inner) => $run,
        }
    };
}

/// Inserts many rows of a struct in one statement: `insert_rows!(conn, table, &rows)`; no rows, no statement.
///
/// With `, or_ignore` a row that a unique constraint refuses is left out; what is counted then differs by database.
///
/// The struct must derive `Insertable` with `#[diesel(treat_none_as_default_value = false)]`: without it diesel
/// inserts row by row on SQLite, in a transaction of its own.
macro_rules! insert_rows {
    ($conn:expr, $table:path, $rows:expr) => {
        $crate::db::dialect::insert_rows!(@ insert_into, $conn, $table, $rows)
    };
    ($conn:expr, $table:path, $rows:expr, or_ignore) => {
        $crate::db::dialect::insert_rows!(@ insert_or_ignore_into, $conn, $table, $rows)
    };
    (@ $insert:ident, $conn:expr, $table:path, $rows:expr) => {
        $crate::db::dialect::each_chunk($rows, |rows| {
            $crate::db::dialect::on_each!(&mut *$conn, inner => diesel::$insert($table).values(rows).execute(inner))
        })
    };
}

pub(crate) use {insert_rows, on_each};

/// How many values one statement takes as a list: SQLite binds at most 32,766.
pub const LIST_MAX: usize = 30_000;
/// How many rows one INSERT takes: no table has more columns than eleven.
const ROWS_MAX: usize = LIST_MAX / 11;

/// Runs an insert for each chunk of rows that one statement can take, and adds up what each counted.
pub fn each_chunk<R>(rows: &[R], mut insert: impl FnMut(&[R]) -> QueryResult<usize>) -> QueryResult<usize> {
    rows.chunks(ROWS_MAX).try_fold(0, |sum, chunk| Ok(sum + insert(chunk)?))
}

/// Runs a query for each part of a list that one statement can take, and joins what they found.
pub fn in_lists<K, T>(keys: &[K], mut query: impl FnMut(&[K]) -> QueryResult<Vec<T>>) -> QueryResult<Vec<T>> {
    let mut found = Vec::new();
    for list in keys.chunks(LIST_MAX) {
        found.append(&mut query(list)?);
    }
    Ok(found)
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Reading only: it refuses to write.
    Read,
    /// Reading and writing what is there.
    Write,
    /// As `Write`, and an embedded database that is missing is made.
    Create,
}

/// Opens a connection and sets its session up; `patience` is how long it waits for another process's lock.
pub fn connect(target: &Target, purpose: Purpose, patience: Duration) -> Result<DbConnection, SetupError> {
    match target {
        Target::Sqlite(path) => {
            let place = path.display().to_string();
            let failed = |detail: String| match path.exists() || purpose == Purpose::Create {
                true => SetupError::Connect {
                    place: place.clone(),
                    detail,
                },
                false => SetupError::Missing { place: place.clone() },
            };
            let mode = if purpose == Purpose::Create { "rwc" } else { "rw" };
            let uri = url::file_uri(path, mode).map_err(|error| failed(error.to_string()))?;
            let mut conn = SqliteConnection::establish(&uri).map_err(|error| failed(error.to_string()))?;
            prepare_sqlite(&mut conn, purpose, patience).map_err(|error| failed(error.to_string()))?;
            Ok(DbConnection::Sqlite(conn))
        }
    }
}

/// A session's settings. `synchronous = FULL` is what makes a commit in WAL mode survive a power cut. Foreign keys are
/// enforced as the other databases do it, so that an order of statements that they would refuse is found here.
fn prepare_sqlite(conn: &mut SqliteConnection, purpose: Purpose, patience: Duration) -> QueryResult<()> {
    conn.batch_execute(&format!(
        "PRAGMA busy_timeout = {}; PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL;",
        patience.as_millis()
    ))?;
    match purpose {
        Purpose::Read => conn.batch_execute("PRAGMA query_only = ON"),
        // The file remembers it, so a reader need not ask for what only a writer may change.
        Purpose::Write | Purpose::Create => conn.batch_execute("PRAGMA journal_mode = WAL"),
    }
}

/// Whether a pooled connection still answers. A file does not go away, so SQLite is not asked.
pub fn is_alive(conn: &mut DbConnection) -> bool {
    match conn {
        DbConnection::Sqlite(_) => true,
    }
}

/// Reads within one moment of the database: whatever is committed meanwhile is not seen.
pub fn read_transaction<T, E>(
    conn: &mut DbConnection,
    read: impl FnOnce(&mut DbConnection) -> Result<T, E>,
) -> Result<T, E>
where
    E: From<diesel::result::Error>,
{
    // SQLite's deferred transaction takes its snapshot with the first SELECT and keeps it.
    conn.transaction(read)
}

/// Begins a transaction that will write. On SQLite it takes the lock at once: one that only reads first fails with
/// "database is locked" when it comes to write, and no waiting helps it.
///
/// Begin, commit and roll back are plain statements, for the writer must know which of them failed. Within, diesel's
/// own `transaction` must not be used.
pub fn begin_write(conn: &mut DbConnection) -> QueryResult<()> {
    match conn {
        DbConnection::Sqlite(conn) => conn.batch_execute("BEGIN IMMEDIATE"),
    }
}

/// How long statements of this session wait for another's lock from now on.
pub fn wait_for_locks(conn: &mut DbConnection, patience: Duration) -> QueryResult<()> {
    match conn {
        DbConnection::Sqlite(conn) => conn.batch_execute(&format!("PRAGMA busy_timeout = {}", patience.as_millis())),
    }
}

/// Commits what `begin_write` began.
pub fn commit(conn: &mut DbConnection) -> QueryResult<()> {
    conn.batch_execute("COMMIT")
}

/// Undoes what was done since `begin_write`. SQLite may have done so by itself after an error; that is no failure.
pub fn rollback(conn: &mut DbConnection) -> QueryResult<()> {
    match (conn.batch_execute("ROLLBACK"), conn) {
        (Err(error), DbConnection::Sqlite(_)) if error.to_string().contains("no transaction is active") => Ok(()),
        (result, _) => result,
    }
}

/// Does all of `write` in one transaction that writes, or nothing of it.
pub fn write_transaction<T, E>(
    conn: &mut DbConnection,
    write: impl FnOnce(&mut DbConnection) -> Result<T, E>,
) -> Result<T, E>
where
    E: From<diesel::result::Error>,
{
    begin_write(conn)?;
    let result = write(conn);
    match &result {
        Ok(_) => commit(conn)?,
        // The first error says more than one of rolling back; dropping the connection rolls back too.
        Err(_) => drop(rollback(conn)),
    }
    result
}

/// The names of all tables.
pub fn table_names(conn: &mut DbConnection) -> QueryResult<Vec<String>> {
    #[derive(QueryableByName)]
    struct Table {
        #[diesel(sql_type = Text)]
        name: String,
    }
    let sql = match conn {
        DbConnection::Sqlite(_) => {
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite^_%' ESCAPE '^'"
        }
    };
    let tables: Vec<Table> = diesel::sql_query(sql).load(conn)?;
    Ok(tables.into_iter().map(|table| table.name).collect())
}

/// The constraint that a row violated, by the name that the schema gives it.
pub fn constraint_name(information: &dyn DatabaseErrorInformation) -> Option<String> {
    if let Some(name) = information.constraint_name() {
        return Some(name.to_string());
    }
    // SQLite names the columns: "UNIQUE constraint failed: inventories.resource_provider_id, inventories.…".
    let (_, columns) = information.message().split_once("constraint failed: ")?;
    let (table, column) = columns.split(", ").next()?.split_once('.')?;
    match (table, column, columns.contains(", ")) {
        ("inventories", "resource_provider_id", true) => {
            Some("uniq_inventories0resource_provider_resource_class".to_string())
        }
        (_, "id", _) | (_, _, true) => Some(format!("{table}_pkey")),
        _ => Some(format!("uniq_{table}0{column}")),
    }
}

/// Sorts the errors that diesel gives no kind. SQLite's texts are fixed for each of its codes.
pub fn classify_message(message: &str) -> Fault {
    const RETRY: [&str; 3] = [
        "database is locked",
        "database table is locked",
        "database schema is locked",
    ];
    const STOP: [&str; 5] = [
        "database disk image is malformed",
        "file is not a database",
        "database or disk is full",
        "attempt to write a readonly database",
        "disk I/O error",
    ];
    if RETRY.iter().any(|text| message.starts_with(text)) {
        Fault::Retry
    } else if STOP.iter().any(|text| message.starts_with(text)) {
        Fault::Stop
    } else if message.starts_with("unable to open database file") {
        Fault::Lost
    } else {
        Fault::Unknown
    }
}

/// This moment, as the tables keep it: UTC, microseconds.
///
/// Never a whole millisecond, so that SQLite's text always has the six digits that Python writes and reads.
pub fn now() -> NaiveDateTime {
    let now = Utc::now().naive_utc();
    let micros = now.nanosecond() / 1_000;
    let micros = if micros.is_multiple_of(1_000) {
        micros + 1
    } else {
        micros
    };
    now.with_nanosecond(micros * 1_000).unwrap_or(now)
}
