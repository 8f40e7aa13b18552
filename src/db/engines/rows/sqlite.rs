//! Rows in statements of SQLite: a statement for one row (`dialect::rows_at_once`), prepared once and run for each row.
//!
//! SQLite is inside the process, so a statement has no round trip. Compiling a text takes SQLite longer than running
//! the result.

use chrono::NaiveDateTime;

use super::statement::{Bound, Fragment, bind_time};
use super::{CountKeys, CountMatches, InsertFromRows, UpdateFromRows, Value};

/// The time in UTC with milliseconds.
const DATABASE_TIME: &str = "strftime('%Y-%m-%d %H:%M:%f', 'now')";

pub fn update(update: &UpdateFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Fragment {
    let (columns, placeholders) = (update.columns.join(", "), vec!["?"; update.columns.len()].join(", "));
    let mut bound: Vec<Bound> = rows.iter().flatten().cloned().map(Bound::from).collect();
    let set = bind_time(update.set, now, "?", &mut bound);
    let text = format!(
        "WITH v({columns}) AS (VALUES ({placeholders})) UPDATE {} SET {set} FROM v WHERE {}",
        update.table, update.filter
    );
    Fragment { text, bound }
}

pub fn insert(insert: &InsertFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Fragment {
    insert.with_placeholders(now, DATABASE_TIME, rows)
}

/// The text after FROM in a query for the rows with one of the keys.
pub fn with_keys(count: &CountKeys, keys: &[String]) -> Fragment {
    Fragment {
        text: format!("{} WHERE {} = ?", count.table, count.column),
        bound: keys.iter().map(|key| Value::Text(key.clone()).into()).collect(),
    }
}

/// The text after FROM in a query for the rows that match one of the given rows.
pub fn matching(count: &CountMatches, rows: &[Vec<Value>]) -> Fragment {
    let [key, other] = count.columns;
    Fragment::new(
        format!("{} WHERE {key} = ? AND {other} = ?", count.table),
        rows.iter().flatten(),
    )
}
