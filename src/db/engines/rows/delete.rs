//! Deletes many rows by pairs of numbers, in one statement.

use diesel::prelude::*;

use super::statement::{Bound, Fragment, Statement, Value};
use crate::db::DbConnection;
use crate::db::engines::dialect::LIST_MAX;

/// Deletes the rows whose two columns have one of the pairs.
pub struct DeleteRows {
    table: &'static str,
    columns: [&'static str; 2],
}

impl DeleteRows {
    pub const fn new(table: &'static str, columns: [&'static str; 2]) -> DeleteRows {
        DeleteRows { table, columns }
    }

    /// Runs the delete over all pairs. Returns the number of deleted rows.
    pub fn run(&self, conn: &mut DbConnection, rows: &[(i32, i32)]) -> QueryResult<usize> {
        let delete = |pairs: &[(i32, i32)]| {
            let text = match &*conn {
                DbConnection::Sqlite(_) => self.sqlite(pairs.len()),
                #[cfg(feature = "postgresql")]
                DbConnection::Postgresql(_) => self.postgresql(pairs.len()),
                #[cfg(feature = "mariadb")]
                DbConnection::Mariadb(_) => self.mariadb(pairs.len()),
            };
            let numbers = pairs.iter().flat_map(|(first, second)| [*first, *second]);
            let bound = numbers.map(|number| Bound::Value(Value::Int(number.into()))).collect();
            let statement: Statement = Fragment { text, bound }.uncached();
            statement.run(conn)
        };
        rows.chunks(LIST_MAX / 2).map(delete).sum()
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
