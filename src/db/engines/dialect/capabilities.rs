//! Capabilities of servers that save round trips.

use diesel::QueryResult;

use super::commit;
#[cfg(feature = "mariadb")]
use super::mariadb;
use crate::db::DbConnection;

/// The work that a server can do in a single round trip. All are false on SQLite, which has no round trips.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether one statement can change rows of several tables and check the guards.
    pub compound_writes: bool,
    /// Whether a transaction can be ended by a prepared statement.
    pub prepared_commit: bool,
}

/// The capabilities of the connection's server.
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

/// Commits a transaction of `begin_write` or a compound statement, in as few round trips as the server allows.
pub fn commit_prepared(conn: &mut DbConnection, capabilities: Capabilities) -> QueryResult<()> {
    match conn {
        each if !capabilities.prepared_commit => commit(each),
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(inner) => mariadb::commit_prepared(inner),
        other => commit(other),
    }
}
