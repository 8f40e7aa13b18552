//! PostgreSQL: many writers, row locks, READ COMMITTED.

use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel_migrations::embed_migrations;

use super::Purpose;
use super::migrations::Migrations;
use crate::db::SetupError;
use crate::db::connect::url::Server;

pub const MIGRATIONS: Migrations = Migrations {
    openstack: embed_migrations!("migrations/postgresql/openstack"),
    placet: embed_migrations!("migrations/postgresql/placet"),
    to_422ece571366: include_str!("../../../../migrations/postgresql/upgrade/422ece571366.sql"),
    to_a082b8bb98d0: include_str!("../../../../migrations/postgresql/upgrade/a082b8bb98d0.sql"),
};

pub const TABLE_NAMES: &str = "SELECT tablename::text AS name FROM pg_tables WHERE schemaname = current_schema()";

/// Any number will do, as long as every placet takes the same: "placet" in ASCII.
const SCHEMA_LOCK: i64 = 0x70_6c_61_63_65_74;

pub fn connect(server: &Server, purpose: Purpose, patience: Duration) -> Result<PgConnection, SetupError> {
    let mut conn = PgConnection::establish(&server.libpq_uri()).map_err(|error| server.failed(&error.to_string()))?;
    prepare(&mut conn, purpose, patience).map_err(|error| server.failed(&error.to_string()))?;
    Ok(conn)
}

/// A session's settings. A transaction whose client is gone must not hold a hot provider. The language of messages is
/// the administrator's to choose: where this user may, it is English, because `messages` reads the texts of errors that
/// diesel gives no kind. The price of a page (`random_page_cost`) is by default that of a turning disk: for a list of some
/// hundred keys whole tables would be read. Compiling (`jit`, from PostgreSQL 11 on) takes longer than any statement of
/// placet's runs, and is begun where a guess at how many rows there are is too high.
fn prepare(conn: &mut PgConnection, purpose: Purpose, patience: Duration) -> QueryResult<()> {
    conn.batch_execute(&format!(
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED, {access}; \
         SET lock_timeout = {patience}; \
         SET idle_in_transaction_session_timeout = {idle}; \
         SET random_page_cost = 1.1; \
         DO $$ BEGIN PERFORM set_config('lc_messages', 'C', false); \
               EXCEPTION WHEN insufficient_privilege THEN NULL; END $$; \
         DO $$ BEGIN PERFORM set_config('jit', 'off', false); \
               EXCEPTION WHEN undefined_object THEN NULL; END $$",
        access = if purpose == Purpose::Read {
            "READ ONLY"
        } else {
            "READ WRITE"
        },
        patience = patience.as_millis().max(1),
        idle = super::IDLE_IN_TRANSACTION.as_millis(),
    ))
}

/// May be idle for as long as it likes: it holds no rows, and a start that reads a big cloud may be busy with one table for
/// longer than a writer may be idle.
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

pub fn set_lock_timeout(conn: &mut PgConnection, patience: Duration) -> QueryResult<()> {
    conn.batch_execute(&format!("SET lock_timeout = {}", patience.as_millis().max(1)))
}

pub fn rollback(conn: &mut PgConnection) -> QueryResult<()> {
    conn.batch_execute("ROLLBACK")
}

/// Waits for another sync as long as it takes; the transaction's end gives the lock back.
pub fn lock_schema(conn: &mut PgConnection) -> QueryResult<()> {
    conn.batch_execute(&format!(
        "SET LOCAL lock_timeout = 0; SELECT pg_advisory_xact_lock({SCHEMA_LOCK})"
    ))
}

pub fn unlock_schema(_: &mut PgConnection) {}
