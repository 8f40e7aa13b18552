//! Updates and deletions of many rows in one statement, each row with values of its own: what makes the cost of a commit independent
//! of how many claims are in it.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Double, Nullable, Text, Timestamp};

use super::DbConnection;
use super::arrays::{self, Bound, Made, unnest};
use super::dialect::LIST_MAX;
#[cfg(feature = "postgresql")]
use super::together::Together;

/// One bound value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Int(i64),
    /// A whole number or NULL.
    MaybeInt(Option<i64>),
    Real(f64),
    Text(String),
    /// A text or NULL.
    MaybeText(Option<String>),
    /// A text that is compared, byte by byte: MariaDB compares no two texts of different collations.
    Key(String),
}

/// `UPDATE table SET …, updated_at = now FROM rows AS v WHERE …`. The table has a column `id`.
pub struct UpdateFromRows {
    pub table: &'static str,
    /// The names of the values of a row, to be used as `v.name`.
    pub columns: &'static [&'static str],
    pub set: &'static str,
    /// The column that is given the time.
    pub stamp: &'static str,
    pub filter: &'static str,
}

/// Runs a statement of text with values of rows and perhaps a time, in the order in which they stand in it.
macro_rules! run {
    ($conn:expr, $sql:expr, $rows:expr, $last:expr) => {{
        let query = diesel::sql_query($sql).into_boxed();
        let query = $rows.iter().flatten().fold(query, |query, value| match value.clone() {
            Value::Int(it) => query.bind::<BigInt, _>(it),
            Value::MaybeInt(it) => query.bind::<Nullable<BigInt>, _>(it),
            Value::Real(it) => query.bind::<Double, _>(it),
            Value::Text(it) | Value::Key(it) => query.bind::<Text, _>(it),
            Value::MaybeText(it) => query.bind::<Nullable<Text>, _>(it),
        });
        match $last {
            Some(time) => query.bind::<Timestamp, _>(time).execute($conn)?,
            None => query.execute($conn)?,
        }
    }};
}

impl UpdateFromRows {
    /// Runs it over all `rows` and answers how many rows of the table were updated.
    pub fn run(&self, conn: &mut DbConnection, now: NaiveDateTime, rows: &[Vec<Value>]) -> QueryResult<usize> {
        let mut updated = 0;
        for chunk in rows.chunks(LIST_MAX / (self.columns.len() + 1)) {
            updated += match conn {
                DbConnection::Sqlite(conn) => run!(conn, self.sqlite(chunk.len()), chunk, Some(now)),
                #[cfg(feature = "postgresql")]
                DbConnection::Postgresql(_) => {
                    let mut together = Together::default();
                    together.update(self, now, chunk);
                    together.run(conn)?.iter().sum()
                }
                #[cfg(feature = "mariadb")]
                DbConnection::Mariadb(conn) => run!(conn, self.mariadb(chunk), chunk, Some(now)),
            };
        }
        Ok(updated)
    }

    /// From some hundred rows on SQLite would make an index of them, by a column in which most may be alike, and look every
    /// row of the table up in it. Behind a plus no index is made: each of the rows is looked up in the table.
    fn sqlite(&self, rows: usize) -> String {
        let row = format!("({})", vec!["?"; self.columns.len()].join(", "));
        format!(
            "WITH v({}) AS (VALUES {}) UPDATE {} SET {}, {} = ? FROM v WHERE {}",
            self.columns.join(", "),
            vec![row; rows].join(", "),
            self.table,
            self.set,
            self.stamp,
            self.filter.replace("v.", "+v."),
        )
    }

    /// The rows come first in the join, and each is looked up by its id: the table is never scanned, nothing else is
    /// locked.
    #[cfg(feature = "mariadb")]
    fn mariadb(&self, rows: &[Vec<Value>]) -> String {
        let place = |value: &Value| match value {
            Value::Key(_) => "CAST(? AS BINARY)",
            _ => "?",
        };
        let first = |row: &Vec<Value>| {
            let named = |(value, name): (&Value, &&str)| format!("{} AS {name}", place(value));
            row.iter().zip(self.columns).map(named).collect::<Vec<_>>().join(", ")
        };
        let other = |row: &Vec<Value>| row.iter().map(place).collect::<Vec<_>>().join(", ");
        let selects: Vec<String> = rows
            .iter()
            .enumerate()
            .map(|(place, row)| format!("SELECT {}", if place == 0 { first(row) } else { other(row) }))
            .collect();
        let set: Vec<String> = self.set.split(", ").map(|it| format!("{}.{it}", self.table)).collect();
        format!(
            "UPDATE ({}) v STRAIGHT_JOIN {table} ON {} SET {}, {table}.{} = ?",
            selects.join(" UNION ALL "),
            self.filter,
            set.join(", "),
            self.stamp,
            table = self.table,
        )
    }
}

/// `INSERT INTO table SELECT … FROM rows AS v …`, for engines that take rows as arrays.
pub struct InsertFromRows {
    /// With the columns that are written; the first is given the time.
    pub into: &'static str,
    /// The names of the values of a row, to be used as `v.name`.
    pub columns: &'static [&'static str],
    /// What is written into the columns behind the time.
    pub select: &'static str,
    /// What the rows are joined with, and what follows.
    pub rest: &'static str,
}

impl InsertFromRows {
    /// Inserts what is not there yet, and answers of each row that it made what `returning` says.
    pub fn make(
        &self,
        conn: &mut DbConnection,
        now: NaiveDateTime,
        rows: &[Vec<Value>],
        returning: &str,
    ) -> QueryResult<Vec<Made>> {
        let (text, bound) = self.postgresql(now, rows);
        arrays::made(conn, format!("{text} RETURNING {returning}"), bound)
    }

    /// The statement, without what it returns.
    pub(super) fn postgresql(&self, now: NaiveDateTime, rows: &[Vec<Value>]) -> (String, Vec<Bound>) {
        let (rows, bound) = unnest(self.columns, rows);
        let text = format!(
            "INSERT INTO {} SELECT ?::timestamp, {} FROM {rows} {}",
            self.into, self.select, self.rest
        );
        (text, std::iter::once(Bound::Time(now)).chain(bound).collect())
    }
}

/// Deletes the rows whose two columns have one of the pairs.
pub struct DeleteRows {
    pub table: &'static str,
    pub columns: [&'static str; 2],
}

impl DeleteRows {
    /// Runs it over all pairs and answers how many rows of the table were deleted.
    pub fn run(&self, conn: &mut DbConnection, rows: &[(i32, i32)]) -> QueryResult<usize> {
        let mut deleted = 0;
        for chunk in rows.chunks(LIST_MAX / 2) {
            let values: Vec<Vec<Value>> = chunk
                .iter()
                .map(|(first, second)| vec![Value::Int((*first).into()), Value::Int((*second).into())])
                .collect();
            let none = None::<NaiveDateTime>;
            deleted += match conn {
                DbConnection::Sqlite(conn) => run!(conn, self.sqlite(chunk.len()), values, none),
                #[cfg(feature = "postgresql")]
                DbConnection::Postgresql(conn) => run!(conn, self.postgresql(chunk.len()), values, none),
                #[cfg(feature = "mariadb")]
                DbConnection::Mariadb(conn) => run!(conn, self.mariadb(chunk.len()), values, none),
            };
        }
        Ok(deleted)
    }

    fn sqlite(&self, rows: usize) -> String {
        let (table, [first, second]) = (self.table, self.columns);
        // From the values' side: over a large table a list of pairs has all of it read.
        format!(
            "DELETE FROM {table} WHERE rowid IN (SELECT {table}.rowid FROM (VALUES {pairs}) v \
             CROSS JOIN {table} ON {table}.{first} = v.column1 AND {table}.{second} = v.column2)",
            pairs = vec!["(?, ?)"; rows].join(", "),
        )
    }

    #[cfg(feature = "postgresql")]
    fn postgresql(&self, rows: usize) -> String {
        let pairs: Vec<String> = (0..rows)
            .map(|row| format!("(${}, ${})", 2 * row + 1, 2 * row + 2))
            .collect();
        self.with(&format!("VALUES {}", pairs.join(", ")))
    }

    /// As with updates: MariaDB scans the whole table for a list of pairs, and locks as it goes.
    #[cfg(feature = "mariadb")]
    fn mariadb(&self, rows: usize) -> String {
        let (table, [first, second]) = (self.table, self.columns);
        format!(
            "DELETE {table} FROM (SELECT ? AS one, ? AS other{more}) v \
             STRAIGHT_JOIN {table} ON {table}.{first} = v.one AND {table}.{second} = v.other",
            more = " UNION ALL SELECT ?, ?".repeat(rows - 1),
        )
    }

    #[cfg(feature = "postgresql")]
    fn with(&self, pairs: &str) -> String {
        format!(
            "DELETE FROM {} WHERE ({}) IN ({pairs})",
            self.table,
            self.columns.join(", ")
        )
    }
}
