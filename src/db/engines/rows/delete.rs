//! Deletes many rows by pairs of numbers, in one statement.

use diesel::prelude::*;

use super::Value;
#[cfg(feature = "postgresql")]
use super::postgresql::Array;
use super::statement::{Bound, Statement};
use crate::db::DbConnection;
use crate::db::engines::dialect::LIST_MAX;

/// Deletes the rows whose two columns have one of the pairs.
pub struct DeleteRows {
    pub table: &'static str,
    pub columns: [&'static str; 2],
}
impl DeleteRows {
    /// Runs the delete over all pairs. Returns the number of deleted rows.
    pub fn run(&self, conn: &mut DbConnection, rows: &[(i32, i32)]) -> QueryResult<usize> {
        let mut deleted = 0;
        for chunk in rows.chunks(LIST_MAX / 2) {
            let numbers = chunk
                .iter()
                .flat_map(|(first, second)| [i64::from(*first), i64::from(*second)]);
            deleted += match conn {
                DbConnection::Sqlite(conn) => Statement::uncached(
                    self.sqlite(chunk.len()),
                    numbers.map(|it| Bound::Value(Value::Int(it))).collect(),
                )
                .execute(conn)?,
                #[cfg(feature = "postgresql")]
                DbConnection::Postgresql(conn) => Statement::uncached(
                    self.postgresql(chunk.len()),
                    numbers.map(|it| Array::Value(Value::Int(it))).collect(),
                )
                .execute(conn)?,
                #[cfg(feature = "mariadb")]
                DbConnection::Mariadb(conn) => Statement::uncached(
                    self.mariadb(chunk.len()),
                    numbers.map(|it| Bound::Value(Value::Int(it))).collect(),
                )
                .execute(conn)?,
            };
        }
        Ok(deleted)
    }

    fn sqlite(&self, rows: usize) -> String {
        let (table, [first, second]) = (self.table, self.columns);
        // The values are the outer table of the join. With `IN` over a list of pairs SQLite scans the whole table.
        format!(
            "DELETE FROM {table} WHERE rowid IN (SELECT {table}.rowid FROM (VALUES {pairs}) v \
             CROSS JOIN {table} ON {table}.{first} = v.column1 AND {table}.{second} = v.column2)",
            pairs = vec!["(?, ?)"; rows].join(", "),
        )
    }

    #[cfg(feature = "postgresql")]
    fn postgresql(&self, rows: usize) -> String {
        let (table, columns) = (self.table, self.columns.join(", "));
        let pairs = vec!["(?, ?)"; rows].join(", ");
        format!("DELETE FROM {table} WHERE ({columns}) IN (VALUES {pairs})")
    }

    /// A join, as for updates. With `IN` over a list of pairs MariaDB scans the whole table, and locks each row of the
    /// scan.
    #[cfg(feature = "mariadb")]
    fn mariadb(&self, rows: usize) -> String {
        let (table, [first, second]) = (self.table, self.columns);
        format!(
            "DELETE {table} FROM (SELECT ? AS one, ? AS other{more}) v \
             STRAIGHT_JOIN {table} ON {table}.{first} = v.one AND {table}.{second} = v.other",
            more = " UNION ALL SELECT ?, ?".repeat(rows - 1)
        )
    }
}
