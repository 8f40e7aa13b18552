//! How a transaction begins and ends, and what it holds.

use std::time::Duration;

use diesel::prelude::*;

#[cfg(feature = "mariadb")]
use super::mariadb;
#[cfg(feature = "postgresql")]
use super::postgresql;
use super::{engine, sqlite};
use crate::db::{DbConnection, SetupError};

/// Reads within one moment of the database: whatever is committed meanwhile is not seen.
pub fn read_transaction<T, E>(
    conn: &mut DbConnection,
    read: impl FnOnce(&mut DbConnection) -> Result<T, E>,
) -> Result<T, E>
where
    E: From<diesel::result::Error>,
{
    transaction(conn, begin_read, read, commit_plainly)
}

fn begin_read(conn: &mut DbConnection) -> QueryResult<()> {
    engine!(conn, begin_read)
}

/// Begins a transaction that will write.
///
/// Begin, commit and roll back are plain statements, for the writer must know which of them failed. Within, diesel's
/// own `transaction` must not be used.
pub fn begin_write(conn: &mut DbConnection) -> QueryResult<()> {
    engine!(conn, begin_write)
}

/// Lets no other writer decide or commit anything until the transaction ends: takes the rows of `placet_writers`, which
/// are the first that every batch writes. For what no row that both would write can guard. Registrations are held first:
/// whoever registered before that is among the rows.
pub fn hold_writers(conn: &mut DbConnection) -> QueryResult<()> {
    hold_registrations(conn)?;
    engine!(conn, hold_writers)
}

/// Lets no writer register until the transaction ends: takes the row of `placet_epoch`.
pub fn hold_registrations(conn: &mut DbConnection) -> QueryResult<()> {
    engine!(conn, hold_registrations)
}

/// How long statements of this session wait for another's lock from now on.
pub fn set_lock_timeout(conn: &mut DbConnection, patience: Duration) -> QueryResult<()> {
    engine!(conn, set_lock_timeout, patience)
}

/// Commits what `begin_write` began.
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

/// Rolls back what `begin_write` began, and fails where it was undone before: no lock then guarded what was read.
pub fn abandon(conn: &mut DbConnection) -> QueryResult<()> {
    match conn {
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(inner) => mariadb::end_write(inner, "ROLLBACK"),
        other => rollback(other),
    }
}

/// Undoes what was done since `begin_write`.
pub fn rollback(conn: &mut DbConnection) -> QueryResult<()> {
    engine!(conn, rollback)
}

/// Does all of `write` in one transaction that writes, or nothing of it.
pub fn write_transaction<T, E>(
    conn: &mut DbConnection,
    write: impl FnOnce(&mut DbConnection) -> Result<T, E>,
) -> Result<T, E>
where
    E: From<diesel::result::Error>,
{
    transaction(conn, begin_write, write, commit)
}

type Step = fn(&mut DbConnection) -> QueryResult<()>;

fn transaction<T, E>(
    conn: &mut DbConnection,
    begin: Step,
    run: impl FnOnce(&mut DbConnection) -> Result<T, E>,
    commit: Step,
) -> Result<T, E>
where
    E: From<diesel::result::Error>,
{
    if let Err(error) = begin(conn) {
        // A Galera node that cannot say in time what the others committed has begun it all the same.
        drop(rollback(conn));
        return Err(error.into());
    }
    finish(conn, run, commit)
}

/// Runs what a transaction is for, and ends it.
fn finish<T, E>(
    conn: &mut DbConnection,
    run: impl FnOnce(&mut DbConnection) -> Result<T, E>,
    commit: Step,
) -> Result<T, E>
where
    E: From<diesel::result::Error>,
{
    let result = run(conn);
    match &result {
        Ok(_) => commit(conn)?,
        // The first error says more than one of rolling back; dropping the connection rolls back too.
        Err(_) => drop(rollback(conn)),
    }
    result
}

/// Changes the schema: alone, though several processes are told to at once, and all or nothing where the engine can.
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
