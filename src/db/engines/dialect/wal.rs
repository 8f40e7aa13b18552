//! SQLite's write-ahead log (WAL): the length, and checkpoints, which copy pages of the WAL into the file.
//!
//! Commits append to the log. The first commit that finds the whole log checkpointed, and no reader in the log, starts
//! the log from the beginning again.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Integer;
use diesel::sqlite::SqliteConnection;

use crate::db::DbConnection;
use crate::db::engines::rows::statement::Statement;

/// The length of the log, and its checkpointed part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, QueryableByName)]
pub struct WalStatus {
    /// The number of pages in the log.
    #[diesel(sql_type = Integer, column_name = log)]
    pub pages: i32,
    /// The number of the log's pages that are in the file.
    #[diesel(sql_type = Integer, column_name = checkpointed)]
    pub checkpointed: i32,
}

impl WalStatus {
    /// The number of pages that are not in the file yet.
    pub fn remaining(&self) -> i32 {
        self.pages - self.checkpointed
    }
}

/// SQLite's modes of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointMode {
    /// Copies nothing, and returns the status.
    Noop,
    /// Copies the pages that no reader needs in their old state. Reads and writes go on.
    Passive,
    /// Copies all pages, so the next commit starts the log from the beginning. Blocks writes, and waits for the readers
    /// in the log.
    Restart,
    /// As `Restart`, and truncates the log to nothing.
    Truncate,
}

/// Runs a checkpoint. Returns the length of the log at the beginning, and how many of these pages are in the file now.
/// No pages on a server, which checkpoints by itself.
pub fn wal_checkpoint(conn: &mut DbConnection, mode: CheckpointMode) -> QueryResult<WalStatus> {
    let name = match mode {
        CheckpointMode::Noop => "NOOP",
        CheckpointMode::Passive => "PASSIVE",
        CheckpointMode::Restart => "RESTART",
        CheckpointMode::Truncate => "TRUNCATE",
    };
    match conn {
        DbConnection::Sqlite(inner) => diesel::sql_query(format!("PRAGMA wal_checkpoint({name})")).get_result(inner),
        #[cfg(any(feature = "postgresql", feature = "mariadb"))]
        _ => Ok(WalStatus::default()),
    }
}

/// Sets the number of pages at which a commit of this connection checkpoints. A longer log is truncated to this length
/// when the log starts from the beginning.
pub fn set_wal_limit(conn: &mut DbConnection, pages: i32) -> QueryResult<()> {
    match conn {
        DbConnection::Sqlite(inner) => {
            let bytes = i64::from(pages) * i64::from(pragma(inner, "page_size")?);
            inner.batch_execute(&format!(
                "PRAGMA wal_autocheckpoint = {pages}; PRAGMA journal_size_limit = {bytes}"
            ))
        }
        #[cfg(any(feature = "postgresql", feature = "mariadb"))]
        _ => Ok(()),
    }
}

fn pragma(conn: &mut SqliteConnection, name: &str) -> QueryResult<i32> {
    Statement::<Integer>::of(&format!("PRAGMA {name}")).get_result(conn)
}

/// The size of the database with its log, in pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DatabaseSize {
    pub pages: u64,
    pub page_bytes: u64,
}

/// The size of an SQLite database; zero on a server.
pub fn database_size(conn: &mut DbConnection) -> QueryResult<DatabaseSize> {
    match conn {
        DbConnection::Sqlite(inner) => {
            let mut number = |name| pragma(inner, name).map(|number| u64::try_from(number).unwrap_or_default());
            Ok(DatabaseSize {
                pages: number("page_count")?,
                page_bytes: number("page_size")?,
            })
        }
        #[cfg(any(feature = "postgresql", feature = "mariadb"))]
        _ => Ok(DatabaseSize::default()),
    }
}

/// Sets the number in the header of an SQLite file that is free for applications.
pub fn set_user_version(conn: &mut DbConnection, version: u32) -> QueryResult<()> {
    match conn {
        DbConnection::Sqlite(inner) => inner.batch_execute(&format!("PRAGMA user_version = {version}")),
        #[cfg(any(feature = "postgresql", feature = "mariadb"))]
        _ => Ok(()),
    }
}
