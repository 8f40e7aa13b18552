//! Where one way to the server does what elsewhere takes several.

use diesel::QueryResult;

use super::commit;
#[cfg(feature = "mariadb")]
use super::mariadb;
use crate::db::DbConnection;

/// What a connection can do with one way to the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AtOnce {
    /// Whether one statement can change rows of several tables and look whether that was as it must be. SQLite is no way off.
    pub writes: bool,
    /// Whether what ends a transaction may have been prepared before.
    pub ends: bool,
}

/// What this connection can do at once.
pub fn at_once(conn: &mut DbConnection) -> QueryResult<AtOnce> {
    match conn {
        DbConnection::Sqlite(_) => Ok(AtOnce::default()),
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(_) => Ok(AtOnce {
            writes: true,
            ends: false,
        }),
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(inner) => mariadb::at_once(inner),
    }
}

/// Commits what `begin_write`, or a statement that begins a transaction, began: with as few ways to the server as this
/// connection can do with.
pub fn commit_quickly(conn: &mut DbConnection, at_once: AtOnce) -> QueryResult<()> {
    match conn {
        each if !at_once.ends => commit(each),
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(inner) => mariadb::commit_prepared(inner),
        other => commit(other),
    }
}
