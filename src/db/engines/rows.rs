//! Statements about many rows at once, each row with values of its own: what makes the cost of a commit independent of how
//! many claims are in it.
//!
//! A statement is written once, over a table `v` of the rows; how an engine is given that table, and how many rows at a time,
//! is its own.

mod delete;
#[cfg(feature = "mariadb")]
pub(in crate::db) mod mariadb;
#[cfg(feature = "postgresql")]
pub(in crate::db) mod postgresql;
pub(in crate::db) mod sqlite;
pub(in crate::db) mod statement;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use serde::Serialize;

use super::dialect::rows_at_once;
use crate::db::DbConnection;
pub use delete::DeleteRows;
use statement::Bound;

/// One value of a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    Int(i64),
    /// A whole number or NULL.
    MaybeInt(Option<i64>),
    Real(f64),
    Text(String),
    /// A text that is compared, byte by byte: MariaDB compares no two texts of different collations.
    Key(String),
}

/// Rows whose values are named by the statement that they are for.
pub type Rows = Vec<Vec<Value>>;

/// `UPDATE table SET … FROM rows AS v WHERE …`. The table has a column `id`.
#[derive(Debug, Clone, Copy)]
pub struct UpdateFromRows {
    pub table: &'static str,
    /// The names of the values of a row, to be used as `v.name`.
    pub columns: &'static [&'static str],
    /// What is set; `{now}` is the time.
    pub set: &'static str,
    pub filter: &'static str,
}

/// New rows of a table that has a column `created_at`, which is given the time.
#[derive(Debug, Clone, Copy)]
pub struct InsertFromRows {
    pub table: &'static str,
    /// The columns of the values of a row.
    pub columns: &'static [&'static str],
}

/// `SELECT … FROM` this, for whoever looks how many rows there are: every engine takes it as it is, with a `?` for each value.
#[derive(Debug, Clone)]
pub struct CountFrom(pub String);

/// The rows of a table whose column has one of some keys. Not by a table of rows: MariaDB uses no index of a column for
/// texts of another collation.
#[derive(Debug, Clone, Copy)]
pub struct CountKeys {
    pub table: &'static str,
    pub column: &'static str,
}

/// A statement of one row, which every engine takes as it is: a `?` for each value.
#[derive(Debug, Clone, Copy)]
pub struct OneRow(pub &'static str);

/// Runs one statement on whichever connection is inside: what the engine's module makes of it, by `execute` or `count`.
macro_rules! run {
    ($conn:expr, $function:ident($($argument:expr),*), $how:ident) => {
        match $conn {
            DbConnection::Sqlite(conn) => $how!(conn, sqlite::$function($($argument),*)),
            #[cfg(feature = "postgresql")]
            DbConnection::Postgresql(conn) => $how!(conn, postgresql::$function($($argument),*)),
            #[cfg(feature = "mariadb")]
            DbConnection::Mariadb(conn) => $how!(conn, mariadb::$function($($argument),*)),
        }
    };
}

macro_rules! execute {
    ($conn:ident, $statement:expr) => {
        $statement.execute($conn)
    };
}

macro_rules! count {
    ($conn:ident, $statement:expr) => {
        $statement.get_result::<i64>($conn).map(|count| count as usize)
    };
}

impl UpdateFromRows {
    /// Runs it over all `rows` and answers how many rows of the table were updated.
    pub fn run(&self, conn: &mut DbConnection, now: NaiveDateTime, rows: &[Vec<Value>]) -> QueryResult<usize> {
        let chunks = rows.chunks(rows_at_once(conn, self.columns.len() + 1));
        chunks
            .map(|rows| run!(&mut *conn, update(self, now, rows), execute))
            .sum()
    }
}

impl InsertFromRows {
    /// Inserts all `rows` and answers how many that made.
    pub fn run(&self, conn: &mut DbConnection, now: NaiveDateTime, rows: &[Vec<Value>]) -> QueryResult<usize> {
        let chunks = rows.chunks(rows_at_once(conn, self.columns.len() + 1));
        chunks
            .map(|rows| run!(&mut *conn, insert(self, now, rows), execute))
            .sum()
    }
}

impl OneRow {
    /// Runs it and answers how many rows it changed.
    pub fn run(&self, conn: &mut DbConnection, values: &[Value]) -> QueryResult<usize> {
        run!(conn, one_row(self, values), execute)
    }
}

impl InsertFromRows {
    /// With a place for each value.
    fn with_values(&self, now: NaiveDateTime, rows: &[Vec<Value>]) -> (String, Vec<Bound>) {
        let row = format!("({})", vec!["?"; self.columns.len() + 1].join(", "));
        let (table, columns, rows_of_places) = (self.table, self.columns.join(", "), vec![row; rows.len()].join(", "));
        let values = |row: &Vec<Value>| {
            std::iter::once(now.into())
                .chain(row.iter().cloned().map(Bound::from))
                .collect()
        };
        let bound = rows.iter().flat_map(|row| -> Vec<Bound> { values(row) }).collect();
        (
            format!("INSERT INTO {table} (created_at, {columns}) VALUES {rows_of_places}"),
            bound,
        )
    }
}

impl CountFrom {
    /// Counts the rows.
    pub fn run(&self, conn: &mut DbConnection, values: &[Value]) -> QueryResult<usize> {
        run!(conn, look(self, values), count)
    }
}

impl CountKeys {
    /// Counts the rows that have one of the `keys`.
    pub fn run(&self, conn: &mut DbConnection, keys: &[String]) -> QueryResult<usize> {
        let chunks = keys.chunks(rows_at_once(conn, 1));
        chunks.map(|keys| run!(&mut *conn, count_keys(self, keys), count)).sum()
    }
}
