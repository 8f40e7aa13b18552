//! Statements over many rows at once, each row with values of its own: the number of statements of a commit does not
//! depend on the number of claims.
//!
//! A statement is written once, over a table `v` of the rows. Engines differ in the form of this table, and in the
//! number of rows at a time.

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
use statement::{Bound, Fragment};

/// One value of a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    Int(i64),
    /// A whole number or NULL.
    MaybeInt(Option<i64>),
    Real(f64),
    Text(String),
    /// A text for comparison with a column, byte by byte. MariaDB refuses to compare texts of different collations.
    Key(String),
}

/// Rows of values. The statement names the values by its `columns`.
pub type Rows = Vec<Vec<Value>>;

/// `UPDATE table SET … FROM rows AS v WHERE …`. The table has a column `id`.
#[derive(Debug, Clone, Copy)]
pub struct UpdateFromRows {
    pub table: &'static str,
    /// The names of the values of a row, which `set` and `filter` use as `v.name`.
    pub columns: &'static [&'static str],
    /// The assignments. `{now}` stands for the time.
    pub set: &'static str,
    pub filter: &'static str,
}

/// The clock of a row's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The clock of this host, for times that clients read.
    Host,
    /// The clock of the database, for comparing times of several hosts.
    Database,
}

/// `INSERT INTO table …`. The table has a column `created_at`, which is set to the time.
#[derive(Debug, Clone, Copy)]
pub struct InsertFromRows {
    pub table: &'static str,
    /// The columns of the values of a row.
    pub columns: &'static [&'static str],
    /// The clock of `created_at`.
    pub clock: Clock,
    /// Whether a second plan of the same commands inserts the same rows.
    pub is_repeatable: bool,
}

/// The text after FROM in a query that counts rows. The text is the same on every engine, with a `?` for each value.
#[derive(Debug, Clone)]
pub struct CountFrom(pub String);

/// Counts the rows whose column has one of the given keys. The keys are a list, not a table of rows: MariaDB uses no
/// index for comparing a column with texts of a different collation.
#[derive(Debug, Clone, Copy)]
pub struct CountKeys {
    pub table: &'static str,
    pub column: &'static str,
}

/// Counts the rows of the table with the values of one of the given rows, which differ from each other.
#[derive(Debug, Clone, Copy)]
pub struct CountMatches {
    pub table: &'static str,
    /// The columns of the values of a row. The first column is the primary key.
    pub columns: [&'static str; 2],
}

/// A statement for changing one row. The text is the same on every engine, with a `?` for each value.
#[derive(Debug, Clone, Copy)]
pub struct OneRow(pub &'static str);

/// Builds a statement with the engine's own module, and runs the statement by `execute` or `count`.
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
    /// Runs the update over all `rows`. Returns the number of updated rows.
    pub fn run(&self, conn: &mut DbConnection, now: NaiveDateTime, rows: &[Vec<Value>]) -> QueryResult<usize> {
        let chunks = rows.chunks(rows_at_once(conn, self.columns.len() + 1));
        chunks
            .map(|rows| run!(&mut *conn, update(self, now, rows), execute))
            .sum()
    }
}

impl InsertFromRows {
    /// Inserts all `rows`. Returns the number of inserted rows.
    pub fn run(&self, conn: &mut DbConnection, now: NaiveDateTime, rows: &[Vec<Value>]) -> QueryResult<usize> {
        let chunks = rows.chunks(rows_at_once(conn, self.columns.len() + 1));
        chunks
            .map(|rows| run!(&mut *conn, insert(self, now, rows), execute))
            .sum()
    }
}

impl OneRow {
    /// Runs the statement. Returns the number of changed rows.
    pub fn run(&self, conn: &mut DbConnection, values: &[Value]) -> QueryResult<usize> {
        run!(conn, one_row(self, values), execute)
    }
}

impl InsertFromRows {
    /// The INSERT with a bind parameter for each value. `database_time` is the engine's SQL for its current time.
    fn with_placeholders(&self, now: NaiveDateTime, database_time: &str, rows: &[Vec<Value>]) -> Fragment {
        let (time, host_time) = match self.clock {
            Clock::Host => ("?", Some(now)),
            Clock::Database => (database_time, None),
        };
        let row = format!("({time}, {})", vec!["?"; self.columns.len()].join(", "));
        let (table, columns, placeholders) = (self.table, self.columns.join(", "), vec![row; rows.len()].join(", "));
        let values = |row: &Vec<Value>| {
            (host_time.into_iter().map(Bound::from))
                .chain(row.iter().cloned().map(Bound::from))
                .collect()
        };
        let bound = rows.iter().flat_map(|row| -> Vec<Bound> { values(row) }).collect();
        let text = format!("INSERT INTO {table} (created_at, {columns}) VALUES {placeholders}");
        Fragment { text, bound }
    }
}

impl CountFrom {
    /// Counts the rows.
    pub fn run(&self, conn: &mut DbConnection, values: &[Value]) -> QueryResult<usize> {
        run!(conn, count_rows(self, values), count)
    }
}

impl CountKeys {
    /// Counts the rows with one of the `keys`.
    pub fn run(&self, conn: &mut DbConnection, keys: &[String]) -> QueryResult<usize> {
        let chunks = keys.chunks(rows_at_once(conn, 1));
        chunks.map(|keys| run!(&mut *conn, count_keys(self, keys), count)).sum()
    }
}

impl CountMatches {
    /// Counts the rows that match one of the `rows`.
    pub fn run(&self, conn: &mut DbConnection, rows: &[Vec<Value>]) -> QueryResult<usize> {
        let chunks = rows.chunks(rows_at_once(conn, self.columns.len()));
        chunks
            .map(|rows| run!(&mut *conn, count_matches(self, rows), count))
            .sum()
    }
}
