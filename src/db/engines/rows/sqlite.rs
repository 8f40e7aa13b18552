//! Rows in statements of SQLite: a statement for one row (`dialect::rows_at_once`), prepared once and run for each row.
//!
//! SQLite is inside the process, so a statement has no round trip. Compiling a text takes SQLite longer than running
//! the result.

use chrono::NaiveDateTime;

use super::statement::{Bound, Fragment, Statement, bind_time};
use super::{CountFrom, CountKeys, CountMatches, InsertFromRows, OneRow, UpdateFromRows, Value};

/// The time in UTC with milliseconds.
const DATABASE_TIME: &str = "strftime('%Y-%m-%d %H:%M:%f', 'now')";

pub fn update(update: &UpdateFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Statement {
    let (columns, placeholders) = (update.columns.join(", "), vec!["?"; update.columns.len()].join(", "));
    let mut bound: Vec<Bound> = rows.iter().flatten().cloned().map(Bound::from).collect();
    let set = bind_time(update.set, now, "?", &mut bound);
    let text = format!(
        "WITH v({columns}) AS (VALUES ({placeholders})) UPDATE {} SET {set} FROM v WHERE {}",
        update.table, update.filter
    );
    Statement::cached(text, bound)
}

pub fn insert(insert: &InsertFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Statement {
    let Fragment { text, bound } = insert.with_placeholders(now, DATABASE_TIME, rows);
    Statement::cached(text, bound)
}

pub fn one_row(change: &OneRow, values: &[Value]) -> Statement {
    Statement::cached(change.0.to_owned(), values.iter().cloned().map(Bound::from).collect())
}

pub fn count_rows(count: &CountFrom, values: &[Value]) -> Statement {
    let bound = values.iter().cloned().map(Bound::from).collect();
    Statement::cached(format!("SELECT COUNT(*) FROM {}", count.0), bound)
}

pub fn count_keys(count: &CountKeys, keys: &[String]) -> Statement {
    let text = format!("SELECT COUNT(*) FROM {} WHERE {} = ?", count.table, count.column);
    Statement::cached(text, keys.iter().cloned().map(|key| Value::Text(key).into()).collect())
}

pub fn count_matches(count: &CountMatches, rows: &[Vec<Value>]) -> Statement {
    let [key, other] = count.columns;
    let text = format!("SELECT COUNT(*) FROM {} WHERE {key} = ? AND {other} = ?", count.table);
    Statement::cached(text, rows.iter().flatten().cloned().map(Bound::from).collect())
}
