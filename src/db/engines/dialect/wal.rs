//! SQLite's write-ahead log (WAL): the length, and checkpoints, which copy pages of the WAL into the file.
//!
//! Commits append to the log. The first commit that finds the whole log checkpointed, and no reader in the log, starts
//! the log from the beginning again.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Integer;

use crate::db::DbConnection;

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
/// `None` on a server, which checkpoints by itself.
pub fn wal_checkpoint(conn: &mut DbConnection, mode: CheckpointMode) -> QueryResult<Option<WalStatus>> {
    let name = match mode {
        CheckpointMode::Noop => "NOOP",
        CheckpointMode::Passive => "PASSIVE",
        CheckpointMode::Restart => "RESTART",
        CheckpointMode::Truncate => "TRUNCATE",
    };
    match conn {
        DbConnection::Sqlite(inner) => diesel::sql_query(format!("PRAGMA wal_checkpoint({name})"))
            .get_result(inner)
            .map(Some),
        #[cfg(any(feature = "postgresql", feature = "mariadb"))]
        _ => Ok(None),
    }
}

/// Sets the number of pages at which a commit of this connection checkpoints. A longer log is truncated to this length
/// when the log starts from the beginning.
pub fn set_wal_limit(conn: &mut DbConnection, pages: i32) -> QueryResult<()> {
    match conn {
        DbConnection::Sqlite(inner) => {
            let page: PageSize = diesel::sql_query("PRAGMA page_size").get_result(inner)?;
            let bytes = i64::from(pages) * i64::from(page.page_size);
            inner.batch_execute(&format!(
                "PRAGMA wal_autocheckpoint = {pages}; PRAGMA journal_size_limit = {bytes}"
            ))
        }
        #[cfg(any(feature = "postgresql", feature = "mariadb"))]
        _ => Ok(()),
    }
}

#[derive(QueryableByName)]
struct PageSize {
    #[diesel(sql_type = Integer)]
    page_size: i32,
}

#[derive(QueryableByName)]
struct PageCount {
    #[diesel(sql_type = Integer)]
    page_count: i32,
}

/// The size of the database with its log, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseSize {
    pub pages: u64,
    pub page_bytes: u64,
}

/// The size of an SQLite database; zero on a server.
pub fn database_size(conn: &mut DbConnection) -> QueryResult<DatabaseSize> {
    match conn {
        DbConnection::Sqlite(inner) => {
            let count: PageCount = diesel::sql_query("PRAGMA page_count").get_result(inner)?;
            let size: PageSize = diesel::sql_query("PRAGMA page_size").get_result(inner)?;
            Ok(DatabaseSize {
                pages: u64::try_from(count.page_count).unwrap_or_default(),
                page_bytes: u64::try_from(size.page_size).unwrap_or_default(),
            })
        }
        #[cfg(any(feature = "postgresql", feature = "mariadb"))]
        _ => Ok(DatabaseSize {
            pages: 0,
            page_bytes: 0,
        }),
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
