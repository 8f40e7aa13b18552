//! SQLite's log, which takes what is committed before the file does: how long it is, and how its pages get into the file.
//! It begins anew with the first commit that finds all of it moved, and nobody reading in it.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Integer;

use crate::db::DbConnection;

/// How far a log is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, QueryableByName)]
pub struct WalStatus {
    /// Pages since it was last begun anew.
    #[diesel(sql_type = Integer, column_name = log)]
    pub pages: i32,
    /// Those of them that are in the file.
    #[diesel(sql_type = Integer, column_name = checkpointed)]
    pub checkpointed: i32,
}

impl WalStatus {
    /// Pages that are not in the file yet.
    pub fn remaining(&self) -> i32 {
        self.pages - self.checkpointed
    }
}

/// What to do with a log's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointMode {
    /// To look how far it is.
    Noop,
    /// To move what nobody reads any more, while others read and write.
    Passive,
    /// To move all of it, so that it begins anew: nobody writes meanwhile, and whoever reads in it is waited for.
    Restart,
}

/// Moves pages, and says how far the log was when it began, and which of those pages are in the file now. `None` where the
/// engine sees to its own log.
pub fn wal_checkpoint(conn: &mut DbConnection, mode: CheckpointMode) -> QueryResult<Option<WalStatus>> {
    let name = match mode {
        CheckpointMode::Noop => "NOOP",
        CheckpointMode::Passive => "PASSIVE",
        CheckpointMode::Restart => "RESTART",
    };
    match conn {
        DbConnection::Sqlite(inner) => diesel::sql_query(format!("PRAGMA wal_checkpoint({name})"))
            .get_result(inner)
            .map(Some),
        #[cfg(any(feature = "postgresql", feature = "mariadb"))]
        _ => Ok(None),
    }
}

/// Has the commits of a connection move nothing before the log has so many pages, and a log that was longer cut to that
/// when it begins anew.
pub fn set_wal_limit(conn: &mut DbConnection, until: i32) -> QueryResult<()> {
    match conn {
        DbConnection::Sqlite(inner) => {
            let page: PageSize = diesel::sql_query("PRAGMA page_size").get_result(inner)?;
            let bytes = i64::from(until) * i64::from(page.page_size);
            inner.batch_execute(&format!(
                "PRAGMA wal_autocheckpoint = {until}; PRAGMA journal_size_limit = {bytes}"
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
