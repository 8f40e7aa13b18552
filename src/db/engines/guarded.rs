//! Guarded writes: several changes of many rows, each with a precondition. Either all preconditions hold, or the
//! transaction is rolled back.
//!
//! PostgreSQL and MariaDB run the writes as one statement, in one round trip. SQLite and older servers run them in
//! turn. Engines differ in the visibility of earlier writes, so no write may depend on earlier changes.

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
use super::rows::{CountFrom, CountKeys, CountMatches, InsertFromRows, OneRow, UpdateFromRows, Value, ValueRows};
use crate::db::{DbConnection, WriteError};
pub use subtract::subtract;

/// A change of many rows with its guard, or a guard alone. The guard is the number of changed or found rows.
#[derive(Debug, Clone)]
pub enum GuardedWrite {
    /// Changes exactly one row.
    UpdateOne(OneRow, Vec<Value>),
    /// Changes exactly one row of the table for each of the rows.
    Update(UpdateFromRows, ValueRows),
    Insert(InsertFromRows, ValueRows),
    /// Finds exactly one row.
    AssertExists(CountFrom, Vec<Value>),
    /// Finds exactly one row of the table for each of the rows.
    AssertMatches(CountMatches, ValueRows),
    /// Finds no row with one of the keys.
    AssertNone(CountKeys, Vec<String>),
}

impl GuardedWrite {
    /// Whether the write can run before the lock set is locked (pre-insert): the write inserts rows independent of
    /// locked rows, or asserts the absence of rows. The write conflicts only with a transaction that inserts the same
    /// rows. This holds for every table of batch plans.
    pub fn can_preinsert(&self) -> bool {
        match self {
            GuardedWrite::Insert(insert, _) => insert.is_repeatable,
            GuardedWrite::AssertNone(..) => true,
            _ => false,
        }
    }

    /// Whether the write changes and finds nothing, for lack of rows or keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of rows or keys.
    fn len(&self) -> usize {
        match self {
            GuardedWrite::UpdateOne(..) | GuardedWrite::AssertExists(..) => 1,
            GuardedWrite::Update(_, rows) | GuardedWrite::Insert(_, rows) | GuardedWrite::AssertMatches(_, rows) => {
                rows.len()
            }
            GuardedWrite::AssertNone(_, keys) => keys.len(),
        }
    }

    /// Runs the write alone, within a transaction.
    ///
    /// # Errors
    /// [`WriteError::Conflict`] if the guard does not hold.
    pub fn run_checked(&self, conn: &mut DbConnection, now: NaiveDateTime) -> Result<(), WriteError> {
        WriteError::unless_touched(self.expected(), self.run(conn, now)?)
    }

    /// The number of rows that the write must change or find.
    fn expected(&self) -> usize {
        match self {
            GuardedWrite::AssertNone(..) => 0,
            others => others.len(),
        }
    }

    fn run(&self, conn: &mut DbConnection, now: NaiveDateTime) -> QueryResult<usize> {
        match self {
            GuardedWrite::UpdateOne(change, values) => change.run(conn, values),
            GuardedWrite::Update(update, rows) => update.run(conn, now, rows),
            GuardedWrite::Insert(insert, rows) => insert.run(conn, now, rows),
            GuardedWrite::AssertExists(count, values) => count.run(conn, values),
            GuardedWrite::AssertMatches(count, rows) => count.run(conn, rows),
            GuardedWrite::AssertNone(count, keys) => count.run(conn, keys),
        }
    }
}

/// How many statements run a list of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecMode {
    /// A statement for each write, within a transaction.
    Sequential,
    /// A single statement for all writes, within a transaction.
    Combined,
    /// A single statement for all writes, which also begins the transaction.
    CombinedWithBegin,
}

impl ExecMode {
    /// The mode if no transaction has begun. For [`ExecMode::Sequential`], the caller begins a transaction first.
    pub fn with_begin(capabilities: Capabilities) -> ExecMode {
        if capabilities.compound_writes {
            ExecMode::CombinedWithBegin
        } else {
            ExecMode::Sequential
        }
    }

    /// The mode within a transaction.
    pub fn in_transaction(capabilities: Capabilities) -> ExecMode {
        if capabilities.compound_writes {
            ExecMode::Combined
        } else {
            ExecMode::Sequential
        }
    }
}

/// Runs all writes, each with at least one row or key. Returns the index of the first write whose guard did not hold;
/// the caller rolls the transaction back.
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
