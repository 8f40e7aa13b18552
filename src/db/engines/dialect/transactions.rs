//! Transactions: the begin, the end, and the row locks against concurrent writers.

use std::time::Duration;

use diesel::prelude::*;

#[cfg(feature = "mariadb")]
use super::mariadb;
#[cfg(feature = "postgresql")]
use super::postgresql;
use super::{engine, sqlite};
use crate::db::{DbConnection, SetupError};

/// A consistent read of the database. Later commits are not visible.
pub fn read_transaction<T, E: From<diesel::result::Error>>(
    conn: &mut DbConnection,
    read: impl FnOnce(&mut DbConnection) -> Result<T, E>,
) -> Result<T, E> {
    transaction(conn, begin_read, read, commit_plainly)
}

fn begin_read(conn: &mut DbConnection) -> QueryResult<()> {
    engine!(conn, begin_read)
}

/// Begins a transaction that writes.
///
/// BEGIN, COMMIT and ROLLBACK are plain statements, because the writer must know which statement failed. diesel's own
/// `transaction` must not be used inside.
pub fn begin_write(conn: &mut DbConnection) -> QueryResult<()> {
    engine!(conn, begin_write)
}

/// Stops all concurrent writers until the transaction ends: locks the rows of `placet_writers`, which every batch
/// writes first. The lock is for conflicts in which the two transactions write no row in common. Registrations are
/// stopped before, so the locked rows include every writer.
pub fn hold_writers(conn: &mut DbConnection) -> QueryResult<()> {
    hold_registrations(conn)?;
    engine!(conn, hold_writers)
}

/// Stops registrations of writers until the transaction ends: locks the row of `placet_epoch`.
pub fn hold_registrations(conn: &mut DbConnection) -> QueryResult<()> {
    engine!(conn, hold_registrations)
}

/// A number that differs if a second connection has committed since the last call on this connection. `None` on
/// servers, which have no such number, because foreign processes commit all the time.
pub fn data_version(conn: &mut DbConnection) -> QueryResult<Option<i64>> {
    match conn {
        DbConnection::Sqlite(inner) => sqlite::data_version(inner).map(Some),
        #[cfg(any(feature = "postgresql", feature = "mariadb"))]
        _ => Ok(None),
    }
}

/// Limits how long statements of this session wait for a lock, from now on.
pub fn set_lock_timeout(conn: &mut DbConnection, lock_timeout: Duration) -> QueryResult<()> {
    engine!(conn, set_lock_timeout, lock_timeout)
}

/// Commits the transaction of `begin_write`.
pub fn commit(conn: &mut DbConnection) -> QueryResult<()> {
    match conn {
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(inner) => mariadb::end_write(inner, "COMMIT"),
        other => commit_plainly(other),
    }
}

fn commit_plainly(conn: &mut DbConnection) -> QueryResult<()> {
    use diesel::connection::SimpleConnection;
    conn.batch_execute("COMMIT")
}

/// Rolls back the transaction of `begin_write`. Fails if the server had rolled the transaction back before: the locks
/// were released, and the rows as read may have changed.
pub fn checked_rollback(conn: &mut DbConnection) -> QueryResult<()> {
    match conn {
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(inner) => mariadb::end_write(inner, "ROLLBACK"),
        other => rollback(other),
    }
}

/// Rolls back the transaction of `begin_write`.
pub fn rollback(conn: &mut DbConnection) -> QueryResult<()> {
    engine!(conn, rollback)
}

/// Runs `write` in one transaction. Rolls back if it fails.
pub fn write_transaction<T, E: From<diesel::result::Error>>(
    conn: &mut DbConnection,
    write: impl FnOnce(&mut DbConnection) -> Result<T, E>,
) -> Result<T, E> {
    transaction(conn, begin_write, write, commit)
}

type TransactionStatement = fn(&mut DbConnection) -> QueryResult<()>;

fn transaction<T, E: From<diesel::result::Error>>(
    conn: &mut DbConnection,
    begin: TransactionStatement,
    run: impl FnOnce(&mut DbConnection) -> Result<T, E>,
    commit: TransactionStatement,
) -> Result<T, E> {
    if let Err(error) = begin(conn) {
        // A Galera node that times out in the wait for foreign commits has begun the transaction all the same.
        drop(rollback(conn));
        return Err(error.into());
    }
    finish(conn, run, commit)
}

/// Runs the body of a transaction, and commits or rolls back.
fn finish<T, E: From<diesel::result::Error>>(
    conn: &mut DbConnection,
    run: impl FnOnce(&mut DbConnection) -> Result<T, E>,
    commit: TransactionStatement,
) -> Result<T, E> {
    let result = run(conn);
    match &result {
        Ok(_) => commit(conn)?,
        // The first error says more than an error of the rollback. If the rollback fails, the end of the connection
        // rolls back.
        Err(_) => drop(rollback(conn)),
    }
    result
}

/// Changes the schema under a lock, one process at a time. The change is all or nothing if the engine can roll back
/// DDL, which MariaDB cannot.
pub fn change_schema<T>(
    conn: &mut DbConnection,
    change: impl FnOnce(&mut DbConnection) -> Result<T, SetupError>,
) -> Result<T, SetupError> {
    match &mut *conn {
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(inner) => mariadb::begin_schema(inner)?,
        other => begin_write(other)?,
    }
    let locked = engine!(&mut *conn, lock_schema).map_err(SetupError::from);
    let result = locked.and_then(|()| finish(conn, change, commit_plainly));
    engine!(conn, unlock_schema);
    result
}
