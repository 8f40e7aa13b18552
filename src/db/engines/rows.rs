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

use super::dialect::rows_at_once;
use crate::db::DbConnection;
pub use delete::DeleteRows;
pub use statement::Value;
use statement::{Bound, Fragment, Statement};

/// Rows of values. The statement names the values by its `columns`.
pub type ValueRows = Vec<Vec<Value>>;

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

/// Builds a fragment with the engine's own module.
macro_rules! build {
    ($conn:expr, $function:ident($($argument:expr),*)) => {
        match $conn {
            DbConnection::Sqlite(_) => sqlite::$function($($argument),*),
            #[cfg(feature = "postgresql")]
            DbConnection::Postgresql(_) => postgresql::$function($($argument),*),
            #[cfg(feature = "mariadb")]
            DbConnection::Mariadb(_) => mariadb::$function($($argument),*),
        }
    };
}

/// The statement over rows. On MariaDB the text differs with the number of rows.
fn over_rows(conn: &DbConnection, fragment: Fragment) -> Statement {
    match conn {
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(_) => fragment.uncached(),
        _ => fragment.cached(),
    }
}

/// Counts rows by a statement over rows. `from` is the text after FROM.
fn count(conn: &mut DbConnection, from: Fragment) -> QueryResult<usize> {
    let statement = over_rows(conn, from.prefixed("SELECT COUNT(*) FROM "));
    Ok(statement.number(conn)? as usize)
}

impl UpdateFromRows {
    /// Runs the update over all `rows`. Returns the number of updated rows.
    pub fn run(&self, conn: &mut DbConnection, now: NaiveDateTime, rows: &[Vec<Value>]) -> QueryResult<usize> {
        let chunks = rows.chunks(rows_at_once(conn, self.columns.len() + 1));
        chunks
            .map(|rows| over_rows(conn, build!(&*conn, update(self, now, rows))).run(conn))
            .sum()
    }
}

impl InsertFromRows {
    /// By this host's clock, and not repeatable.
    pub const fn new(table: &'static str, columns: &'static [&'static str]) -> InsertFromRows {
        InsertFromRows {
            table,
            columns,
            clock: Clock::Host,
            is_repeatable: false,
        }
    }

    /// A second plan of the same commands inserts the same rows.
    pub const fn repeatable(self) -> InsertFromRows {
        InsertFromRows {
            is_repeatable: true,
            ..self
        }
    }

    /// Inserts all `rows`. Returns the number of inserted rows.
    pub fn run(&self, conn: &mut DbConnection, now: NaiveDateTime, rows: &[Vec<Value>]) -> QueryResult<usize> {
        let chunks = rows.chunks(rows_at_once(conn, self.columns.len() + 1));
        chunks
            .map(|rows| over_rows(conn, build!(&*conn, insert(self, now, rows))).run(conn))
            .sum()
    }

    /// The INSERT with a bind parameter for each value. `database_time` is the engine's SQL for its current time.
    fn with_placeholders(&self, now: NaiveDateTime, database_time: &str, rows: &[Vec<Value>]) -> Fragment {
        let (time, host_time) = match self.clock {
            Clock::Host => ("?", Some(Bound::Time(now))),
            Clock::Database => (database_time, None),
        };
        let row = format!("({time}, {})", vec!["?"; self.columns.len()].join(", "));
        let (table, columns, placeholders) = (self.table, self.columns.join(", "), vec![row; rows.len()].join(", "));
        let mut bound = Vec::new();
        for row in rows {
            bound.extend(host_time.clone());
            bound.extend(row.iter().cloned().map(Bound::Value));
        }
        let text = format!("INSERT INTO {table} (created_at, {columns}) VALUES {placeholders}");
        Fragment { text, bound }
    }
}

impl OneRow {
    /// Runs the statement. Returns the number of changed rows.
    pub fn run(&self, conn: &mut DbConnection, values: &[Value]) -> QueryResult<usize> {
        let statement: Statement = Fragment::new(self.0, values).cached();
        statement.run(conn)
    }
}

impl CountFrom {
    /// Counts the rows.
    pub fn run(&self, conn: &mut DbConnection, values: &[Value]) -> QueryResult<usize> {
        let statement: Statement = Fragment::new(format!("SELECT COUNT(*) FROM {}", self.0), values).cached();
        Ok(statement.number(conn)? as usize)
    }
}

impl CountKeys {
    /// Counts the rows with one of the `keys`.
    pub fn run(&self, conn: &mut DbConnection, keys: &[String]) -> QueryResult<usize> {
        let chunks = keys.chunks(rows_at_once(conn, 1));
        chunks
            .map(|keys| count(conn, build!(&*conn, with_keys(self, keys))))
            .sum()
    }
}

impl CountMatches {
    /// Counts the rows that match one of the `rows`.
    pub fn run(&self, conn: &mut DbConnection, rows: &[Vec<Value>]) -> QueryResult<usize> {
        let chunks = rows.chunks(rows_at_once(conn, self.columns.len()));
        chunks
            .map(|rows| count(conn, build!(&*conn, matching(self, rows))))
            .sum()
    }
}
