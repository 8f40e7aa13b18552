//! Several changes of many rows as one statement, where the engine can: one way to the server for all of them.
//!
//! All of its parts see the rows as they were before it. So a part may check what an earlier statement locked, and none may
//! rest on what another part changes.

use chrono::NaiveDateTime;
use diesel::QueryResult;

use super::DbConnection;
use super::arrays::{self, Bound, unnest};
use super::rows::{InsertFromRows, UpdateFromRows, Value};

/// See the module.
#[derive(Default)]
pub struct Together {
    parts: Vec<String>,
    /// What is counted, in the order in which the parts came.
    counts: Vec<String>,
    bound: Vec<Bound>,
    /// What is bound behind all that the parts bind: counts stand last in the text.
    bound_last: Vec<Bound>,
}

impl Together {
    /// Counts the rows that are updated. They are locked in the order of their ids first: without that, two statements
    /// over the same rows deadlock, after a second of silence each.
    pub fn update(&mut self, update: &UpdateFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) {
        if rows.is_empty() {
            return self.counts.push("0".to_owned());
        }
        let (rows, bound) = unnest(update.columns, rows);
        let (at, table, filter) = (self.counts.len(), update.table, update.filter);
        self.parts.push(format!(
            "v{at} AS (SELECT * FROM {rows}), \
             l{at} AS (SELECT {table}.id FROM {table} JOIN v{at} v ON {filter} ORDER BY {table}.id \
             FOR NO KEY UPDATE OF {table}), \
             w{at} AS (UPDATE {table} SET {set}, {stamp} = ? FROM v{at} v, l{at} l \
             WHERE {table}.id = l.id AND {filter} RETURNING 1)",
            set = update.set,
            stamp = update.stamp,
        ));
        self.bound.extend(bound);
        self.bound.push(Bound::Time(now));
        self.counts.push(format!("(SELECT count(*) FROM w{at})"));
    }

    /// Counts the rows that are inserted.
    pub fn insert(&mut self, insert: &InsertFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) {
        if rows.is_empty() {
            return self.counts.push("0".to_owned());
        }
        let (text, bound) = insert.postgresql(now, rows);
        let at = self.counts.len();
        self.parts.push(format!("w{at} AS ({text} RETURNING 1)"));
        self.bound.extend(bound);
        self.counts.push(format!("(SELECT count(*) FROM w{at})"));
    }

    /// Counts the rows of a table whose column has one of the keys.
    pub fn count(&mut self, table: &str, column: &str, keys: Vec<Option<String>>) {
        self.counts.push(format!(
            "(SELECT count(*) FROM {table} WHERE {column} = ANY(?::text[]))"
        ));
        self.bound_last.push(Bound::Texts(keys));
    }

    /// Does it all, and answers what was counted.
    pub fn run(mut self, conn: &mut DbConnection) -> QueryResult<Vec<usize>> {
        let parts = match self.parts.is_empty() {
            true => String::new(),
            false => format!("WITH {}", self.parts.join(", ")),
        };
        let text = format!("{parts} SELECT ARRAY[{}]::bigint[]", self.counts.join(", "));
        self.bound.append(&mut self.bound_last);
        let counted = arrays::counted(conn, text, self.bound)?;
        Ok(counted.into_iter().map(|count| count as usize).collect())
    }
}
