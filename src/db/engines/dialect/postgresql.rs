//! PostgreSQL: many writers, row locks, READ COMMITTED.

use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::pg::PgConnection;
use diesel::prelude::*;

use super::OpenMode;
use crate::db::SetupError;
use crate::db::connect::url::Server;

pub const TABLE_NAMES: &str = "SELECT tablename::text AS name FROM pg_tables WHERE schemaname = current_schema()";

/// The key of the advisory lock that serialises changes of the schema: "placet" in ASCII. Every placet must use the
/// same number.
const SCHEMA_LOCK: i64 = 0x70_6c_61_63_65_74;

pub fn connect(server: &Server, mode: OpenMode, lock_timeout: Duration) -> Result<PgConnection, SetupError> {
    let conn = PgConnection::establish(&server.libpq_uri());
    let mut conn = conn.map_err(|error| server.connect_error(&error.to_string()))?;
    let prepared = set_up_session(&mut conn, mode, lock_timeout);
    prepared.map_err(|error| server.connect_error(&error.to_string()))?;
    Ok(conn)
}

/// Sets up the session:
///
/// - no timeout of a statement, a transaction or an idle session, whatever the role or the database sets: placet waits
///   for locks until the caller's deadline, and loads whole tables;
/// - an idle timeout, so that a transaction whose client is gone does not keep its locks;
/// - a `random_page_cost` for solid-state disks. The default is for spinning disks, and makes PostgreSQL read whole
///   tables for a list of some hundred keys;
/// - English messages, if the user may set them, because `messages` reads the texts of errors without a kind;
/// - no `jit` (PostgreSQL 11 and newer). If the estimate of rows is too high, PostgreSQL compiles a statement for
///   longer than any of placet's runs;
/// - `transaction_timeout` exists from PostgreSQL 17 on, `idle_session_timeout` from 14 on;
/// - `synchronous_commit`, if it is off: a commit that was acknowledged would be lost if the server crashes.
fn set_up_session(conn: &mut PgConnection, mode: OpenMode, lock_timeout: Duration) -> QueryResult<()> {
    conn.batch_execute(&format!(
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED, {access}; \
         SET lock_timeout = {lock_timeout}; \
         SET statement_timeout = 0; \
         SET idle_in_transaction_session_timeout = {idle}; \
         SET random_page_cost = 1.1; \
         DO $$ BEGIN PERFORM set_config('lc_messages', 'C', false); \
               EXCEPTION WHEN insufficient_privilege THEN NULL; END $$; \
         DO $$ BEGIN PERFORM set_config('jit', 'off', false); \
               EXCEPTION WHEN undefined_object THEN NULL; END $$; \
         DO $$ BEGIN PERFORM set_config('transaction_timeout', '0', false); \
               EXCEPTION WHEN undefined_object THEN NULL; END $$; \
         DO $$ BEGIN PERFORM set_config('idle_session_timeout', '0', false); \
               EXCEPTION WHEN undefined_object THEN NULL; END $$; \
         DO $$ BEGIN IF current_setting('synchronous_commit') = 'off' THEN \
               PERFORM set_config('synchronous_commit', 'on', false); END IF; END $$",
        access = if mode == OpenMode::Read {
            "READ ONLY"
        } else {
            "READ WRITE"
        },
        lock_timeout = lock_timeout.as_millis().max(1),
        idle = super::IDLE_IN_TRANSACTION_TIMEOUT.as_millis(),
    ))
}

/// Begins a read without an idle timeout. A read holds no row locks, and loading one table of a large cloud may take
/// longer than the timeout of writers.
pub fn begin_read(conn: &mut PgConnection) -> QueryResult<()> {
    conn.batch_execute(
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0",
    )
}

pub fn begin_write(conn: &mut PgConnection) -> QueryResult<()> {
    conn.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED")
}

pub fn hold_registrations(conn: &mut PgConnection) -> QueryResult<()> {
    diesel::sql_query("SELECT id FROM placet_epoch FOR UPDATE")
        .execute(conn)
        .map(|_| ())
}

pub fn hold_writers(conn: &mut PgConnection) -> QueryResult<()> {
    diesel::sql_query("SELECT id FROM placet_writers ORDER BY id FOR UPDATE")
        .execute(conn)
        .map(|_| ())
}

/// At least one millisecond, because 0 means no timeout.
pub fn set_lock_timeout(conn: &mut PgConnection, lock_timeout: Duration) -> QueryResult<()> {
    conn.batch_execute(&format!("SET lock_timeout = {}", lock_timeout.as_millis().max(1)))
}

pub fn rollback(conn: &mut PgConnection) -> QueryResult<()> {
    conn.batch_execute("ROLLBACK")
}

/// Waits for a concurrent sync without a limit. The end of the transaction releases the lock.
pub fn lock_schema(conn: &mut PgConnection) -> QueryResult<()> {
    conn.batch_execute(&format!(
        "SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock({SCHEMA_LOCK})"
    ))
}

pub fn unlock_schema(_: &mut PgConnection) {}
