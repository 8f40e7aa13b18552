//! Rows as SQLite takes them: one place in the text for each value.

use chrono::NaiveDateTime;

use super::statement::{Bound, Statement, timed};
use super::{CountKeys, InsertFromRows, Look, OneRow, UpdateFromRows, Value};

/// From some hundred rows on SQLite would make an index of them, by a column in which most may be alike, and look every
/// row of the table up in it. Behind a plus no index is made: each of the rows is looked up in the table.
pub fn update(update: &UpdateFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Statement {
    let (table, mut bound) = with(update.columns, rows);
    let set = timed(update.set, now, "?", &mut bound);
    let filter = update.filter.replace("v.", "+v.");
    let text = format!("{table} UPDATE {} SET {set} FROM v WHERE {filter}", update.table);
    Statement::once(text, bound)
}

pub fn insert(insert: &InsertFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Statement {
    let (text, bound) = insert.with_values(now, rows);
    Statement::once(text, bound)
}

pub fn one_row(it: &OneRow, values: &[Value]) -> Statement {
    Statement::kept(it.0.to_owned(), values.iter().cloned().map(Bound::from).collect())
}

pub fn look(it: &Look, values: &[Value]) -> Statement {
    let bound = values.iter().cloned().map(Bound::from).collect();
    Statement::kept(format!("SELECT COUNT(*) FROM {}", it.0), bound)
}

pub fn count_keys(it: &CountKeys, keys: &[String]) -> Statement {
    let places = vec!["?"; keys.len()].join(", ");
    let text = format!("SELECT COUNT(*) FROM {} WHERE {} IN ({places})", it.table, it.column);
    Statement::once(text, keys.iter().cloned().map(|key| Value::Text(key).into()).collect())
}

fn with(columns: &[&str], rows: &[Vec<Value>]) -> (String, Vec<Bound>) {
    let row = format!("({})", vec!["?"; columns.len()].join(", "));
    let text = format!(
        "WITH v({}) AS (VALUES {})",
        columns.join(", "),
        vec![row; rows.len()].join(", ")
    );
    (text, rows.iter().flatten().cloned().map(Bound::from).collect())
}
