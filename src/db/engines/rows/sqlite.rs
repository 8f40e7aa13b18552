//! Rows as SQLite takes them. It is within the process: to compile a text takes it longer than to run what was compiled, so
//! the texts are of one row (`dialect::rows_at_once`), are kept, and are run for each.

use chrono::NaiveDateTime;

use super::statement::{Bound, Statement, timed};
use super::{CountFrom, CountKeys, InsertFromRows, OneRow, UpdateFromRows, Value};

pub fn update(update: &UpdateFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Statement {
    let (columns, places) = (update.columns.join(", "), vec!["?"; update.columns.len()].join(", "));
    let mut bound: Vec<Bound> = rows.iter().flatten().cloned().map(Bound::from).collect();
    let set = timed(update.set, now, "?", &mut bound);
    let text = format!(
        "WITH v({columns}) AS (VALUES ({places})) UPDATE {} SET {set} FROM v WHERE {}",
        update.table, update.filter
    );
    Statement::kept(text, bound)
}

pub fn insert(insert: &InsertFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Statement {
    let (text, bound) = insert.with_values(now, rows);
    Statement::kept(text, bound)
}

pub fn one_row(it: &OneRow, values: &[Value]) -> Statement {
    Statement::kept(it.0.to_owned(), values.iter().cloned().map(Bound::from).collect())
}

pub fn look(it: &CountFrom, values: &[Value]) -> Statement {
    let bound = values.iter().cloned().map(Bound::from).collect();
    Statement::kept(format!("SELECT COUNT(*) FROM {}", it.0), bound)
}

pub fn count_keys(it: &CountKeys, keys: &[String]) -> Statement {
    let text = format!("SELECT COUNT(*) FROM {} WHERE {} = ?", it.table, it.column);
    Statement::kept(text, keys.iter().cloned().map(|key| Value::Text(key).into()).collect())
}
