//! Several changes of many rows that hold together or not at all: by one statement where the engine can, so that there is
//! one way to the server for all of them, and one after the other where it cannot.
//!
//! Whether a write sees what an earlier one changed differs between the two. So none may rest on that.

#[cfg(feature = "mariadb")]
mod insert_chunks;
#[cfg(feature = "mariadb")]
mod mariadb;
#[cfg(feature = "postgresql")]
mod postgresql;
mod subtract;

use chrono::NaiveDateTime;
use diesel::QueryResult;

use super::dialect::Capabilities;
use super::rows::{CountFrom, CountKeys, InsertFromRows, OneRow, Rows, UpdateFromRows, Value};
use crate::db::DbConnection;
pub use subtract::subtract;

/// A change of exactly as many rows as it is given, or a look at what must be there, as one row, or must not.
#[derive(Debug, Clone)]
pub enum GuardedWrite {
    UpdateOne(OneRow, Vec<Value>),
    Update(UpdateFromRows, Rows),
    Insert(InsertFromRows, Rows),
    AssertExists(CountFrom, Vec<Value>),
    AssertNone(CountKeys, Vec<String>),
}

impl GuardedWrite {
    /// Whether it is about rows that are not there yet: who makes them stands in nobody's way but that of who makes the same.
    /// That is so of all tables that plans make rows of.
    pub fn inserts_only(&self) -> bool {
        matches!(self, GuardedWrite::Insert(..) | GuardedWrite::AssertNone(..))
    }

    /// How many rows it is to change, or to find.
    fn expected(&self) -> usize {
        match self {
            GuardedWrite::UpdateOne(..) | GuardedWrite::AssertExists(..) => 1,
            GuardedWrite::Update(_, rows) | GuardedWrite::Insert(_, rows) => rows.len(),
            GuardedWrite::AssertNone(..) => 0,
        }
    }

    fn run(&self, conn: &mut DbConnection, now: NaiveDateTime) -> QueryResult<usize> {
        match self {
            GuardedWrite::UpdateOne(it, values) => it.run(conn, values),
            GuardedWrite::Update(it, rows) => it.run(conn, now, rows),
            GuardedWrite::Insert(it, rows) => it.run(conn, now, rows),
            GuardedWrite::AssertExists(it, values) => it.run(conn, values),
            GuardedWrite::AssertNone(it, keys) => it.run(conn, keys),
        }
    }
}

/// In how many statements writes are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecMode {
    Sequential,
    Combined,
    /// At once, and the transaction is begun with it.
    CombinedWithBegin,
}

impl ExecMode {
    /// Where no transaction was begun yet; if it is to be done one by one, one must be.
    pub fn with_begin(capabilities: Capabilities) -> ExecMode {
        if capabilities.compound_writes {
            ExecMode::CombinedWithBegin
        } else {
            ExecMode::Sequential
        }
    }

    /// Within a transaction.
    pub fn in_transaction(capabilities: Capabilities) -> ExecMode {
        if capabilities.compound_writes {
            ExecMode::Combined
        } else {
            ExecMode::Sequential
        }
    }
}

/// Does all writes, each of which has rows or keys, and answers which one, the first of them, was not as it must be: then all
/// of it is to be rolled back.
pub fn run(
    conn: &mut DbConnection,
    now: NaiveDateTime,
    writes: &[GuardedWrite],
    mode: ExecMode,
) -> QueryResult<Option<usize>> {
    match conn {
        each if mode == ExecMode::Sequential => run_sequentially(each, now, writes),
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(conn) => postgresql::run(conn, now, writes, mode),
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(conn) => mariadb::run(conn, now, writes, mode),
        sqlite @ DbConnection::Sqlite(_) => run_sequentially(sqlite, now, writes),
    }
}

fn run_sequentially(
    conn: &mut DbConnection,
    now: NaiveDateTime,
    writes: &[GuardedWrite],
) -> QueryResult<Option<usize>> {
    for (at, write) in writes.iter().enumerate() {
        if write.run(conn, now)? != write.expected() {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
