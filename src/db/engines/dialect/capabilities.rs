//! Where one way to the server does what elsewhere takes several.

use diesel::QueryResult;

use super::commit;
#[cfg(feature = "mariadb")]
use super::mariadb;
use crate::db::DbConnection;

/// What a connection can do with one way to the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether one statement can change rows of several tables and look whether that was as it must be. SQLite is no way off.
    pub compound_writes: bool,
    /// Whether what ends a transaction may have been prepared before.
    pub prepared_commit: bool,
}

/// What this connection can do at once.
pub fn capabilities(conn: &mut DbConnection) -> QueryResult<Capabilities> {
    match conn {
        DbConnection::Sqlite(_) => Ok(Capabilities::default()),
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(_) => Ok(Capabilities {
            compound_writes: true,
            prepared_commit: false,
        }),
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(inner) => mariadb::capabilities(inner),
    }
}

/// Commits what `begin_write`, or a statement that begins a transaction, began: with as few ways to the server as this
/// connection can do with.
pub fn commit_prepared(conn: &mut DbConnection, capabilities: Capabilities) -> QueryResult<()> {
    match conn {
        each if !capabilities.prepared_commit => commit(each),
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(inner) => mariadb::commit_prepared(inner),
        other => commit(other),
    }
}
