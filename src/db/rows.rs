//! Updates and deletions of many rows in one statement, each row with values of its own: what makes the cost of a commit independent
//! of how many claims are in it.

use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel::query_builder::{BoxedSqlQuery, SqlQuery};
use diesel::sql_types::{BigInt, Double, Integer, Nullable, Text, Timestamp};
use diesel::sqlite::Sqlite;

use super::DbConnection;
use super::dialect::LIST_MAX;

/// One bound value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Int(i64),
    /// A whole number or NULL.
    MaybeInt(Option<i64>),
    Real(f64),
    Text(String),
}

/// `UPDATE table SET …, updated_at = now FROM rows AS v WHERE …`.
pub struct UpdateFromRows {
    pub table: &'static str,
    /// The names of the values of a row, to be used as `v.name`.
    pub columns: &'static [&'static str],
    pub set: &'static str,
    pub filter: &'static str,
}

impl UpdateFromRows {
    /// Runs it over all `rows` and answers how many rows of the table were updated.
    pub fn run(&self, conn: &mut DbConnection, now: NaiveDateTime, rows: &[Vec<Value>]) -> QueryResult<usize> {
        let mut updated = 0;
        for chunk in rows.chunks(LIST_MAX / (self.columns.len() + 1)) {
            updated += match conn {
                DbConnection::Sqlite(conn) => {
                    let query = diesel::sql_query(self.sqlite(chunk.len())).into_boxed();
                    let query = chunk.iter().flatten().fold(query, bind);
                    query.bind::<Timestamp, _>(now).execute(conn)?
                }
            };
        }
        Ok(updated)
    }

    fn sqlite(&self, rows: usize) -> String {
        let row = format!("({})", vec!["?"; self.columns.len()].join(", "));
        format!(
            "WITH v({}) AS (VALUES {}) UPDATE {} SET {}, updated_at = ? FROM v WHERE {}",
            self.columns.join(", "),
            vec![row; rows].join(", "),
            self.table,
            self.set,
            self.filter,
        )
    }
}

/// `DELETE FROM table WHERE (columns) IN (rows)`.
pub struct DeleteRows {
    pub table: &'static str,
    pub columns: [&'static str; 2],
}

impl DeleteRows {
    /// Runs it over all pairs and answers how many rows of the table were deleted.
    pub fn run(&self, conn: &mut DbConnection, rows: &[(i32, i32)]) -> QueryResult<usize> {
        let mut deleted = 0;
        for chunk in rows.chunks(LIST_MAX / 2) {
            deleted += match conn {
                DbConnection::Sqlite(conn) => {
                    let query = diesel::sql_query(self.sqlite(chunk.len())).into_boxed();
                    let bind = |query: BoxedSqlQuery<'static, Sqlite, SqlQuery>, (first, second): &(i32, i32)| {
                        query.bind::<Integer, _>(*first).bind::<Integer, _>(*second)
                    };
                    chunk.iter().fold(query, bind).execute(conn)?
                }
            };
        }
        Ok(deleted)
    }

    fn sqlite(&self, rows: usize) -> String {
        let columns = self.columns.join(", ");
        format!(
            "DELETE FROM {} WHERE ({columns}) IN (VALUES {})",
            self.table,
            vec!["(?, ?)"; rows].join(", ")
        )
    }
}

fn bind<'a>(query: BoxedSqlQuery<'a, Sqlite, SqlQuery>, value: &Value) -> BoxedSqlQuery<'a, Sqlite, SqlQuery> {
    match value.clone() {
        Value::Int(it) => query.bind::<BigInt, _>(it),
        Value::MaybeInt(it) => query.bind::<Nullable<BigInt>, _>(it),
        Value::Real(it) => query.bind::<Double, _>(it),
        Value::Text(it) => query.bind::<Text, _>(it),
    }
}
