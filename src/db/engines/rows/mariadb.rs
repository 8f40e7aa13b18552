//! Rows as MariaDB takes them: one place in the text for each value, or all of them as one text in JSON.

pub mod listed;

use chrono::NaiveDateTime;
use diesel::QueryResult;
use diesel::result::Error::SerializationError;

use super::statement::{Bound, Statement, timed};
use super::{CountFrom, CountKeys, InsertFromRows, OneRow, UpdateFromRows, Value};
use crate::db::engines::dialect::padded;

/// A table of rows, and what is bound for it.
pub type Table = (String, Vec<Bound>);

pub fn update(it: &UpdateFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Statement {
    let (text, bound) = updating(it, now, union(it.columns, rows));
    Statement::once(text, bound)
}

pub fn insert(it: &InsertFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Statement {
    let (text, bound) = inserting(it, now, rows);
    Statement::once(text, bound)
}

pub fn one_row(it: &OneRow, values: &[Value]) -> Statement {
    Statement::kept(it.0.to_owned(), values.iter().cloned().map(Bound::from).collect())
}

pub fn look(it: &CountFrom, values: &[Value]) -> Statement {
    let (text, bound) = looking(it, values, "");
    Statement::kept(text, bound)
}

pub fn count_keys(it: &CountKeys, keys: &[String]) -> Statement {
    let (text, bound) = counting_keys(it, keys, "");
    Statement::once(text, bound)
}

/// The rows come first in the join, and each is looked up by its id: the table is never scanned, nothing else is
/// locked.
pub fn updating(it: &UpdateFromRows, now: NaiveDateTime, (rows, mut bound): Table) -> Table {
    let set: Vec<String> = it.set.split(", ").map(|set| format!("{}.{set}", it.table)).collect();
    let set = timed(&set.join(", "), now, "?", &mut bound);
    let text = format!("UPDATE {rows} v STRAIGHT_JOIN {} ON {} SET {set}", it.table, it.filter);
    (text, bound)
}

/// Not from a table of rows: such an INSERT keeps the counter of the table's ids to itself until it ends, and one that waits
/// for another's row would keep everybody waiting.
pub fn inserting(it: &InsertFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Table {
    it.with_values(now, rows)
}

/// `into`: where the count goes, if not to whoever asks.
pub fn looking(it: &CountFrom, values: &[Value], into: &str) -> Table {
    let bound = values.iter().cloned().map(Bound::from).collect();
    (format!("SELECT COUNT(*) {into}FROM {}", it.0), bound)
}

/// One of few texts, however many keys there are.
pub fn counting_keys(it: &CountKeys, keys: &[String], into: &str) -> Table {
    let bound = padded(keys).map(|key| Bound::Value(Value::Text(key.clone())));
    let bound: Vec<Bound> = bound.collect();
    let places = vec!["?"; bound.len()].join(", ");
    (
        format!(
            "SELECT COUNT(*) {into}FROM {} WHERE {} IN ({places})",
            it.table, it.column
        ),
        bound,
    )
}

/// One SELECT for each row, which every version takes.
fn union(columns: &[&str], rows: &[Vec<Value>]) -> Table {
    let place = |value: &Value| match value {
        Value::Key(_) => "CAST(? AS BINARY)",
        _ => "?",
    };
    let first = |row: &Vec<Value>| {
        let named = |(value, name): (&Value, &&str)| format!("{} AS {name}", place(value));
        row.iter().zip(columns).map(named).collect::<Vec<_>>().join(", ")
    };
    let other = |row: &Vec<Value>| row.iter().map(place).collect::<Vec<_>>().join(", ");
    let selects: Vec<String> = rows
        .iter()
        .enumerate()
        .map(|(place, row)| format!("SELECT {}", if place == 0 { first(row) } else { other(row) }))
        .collect();
    let bound = rows.iter().flatten().cloned().map(Bound::from).collect();
    (format!("({})", selects.join(" UNION ALL ")), bound)
}

/// One text whose form does not depend on how many rows there are. Of MariaDB 10.6 and newer.
///
/// A column's type is that of its first value: all of a column are of one kind.
pub fn json(columns: &[&str], rows: &[Vec<Value>]) -> QueryResult<Table> {
    let kinds = columns.iter().zip(rows.first().into_iter().flatten()).enumerate();
    let (mut taken, mut told) = (Vec::new(), Vec::new());
    for (at, (name, value)) in kinds {
        let (kind, as_is) = match value {
            Value::Int(_) | Value::MaybeInt(_) => ("BIGINT", format!("j.{name}")),
            Value::Real(_) => ("DOUBLE", format!("j.{name}")),
            Value::Text(_) => ("LONGTEXT", format!("j.{name}")),
            Value::Key(_) => ("LONGTEXT", format!("CAST(j.{name} AS BINARY) AS {name}")),
        };
        taken.push(format!("{name} {kind} PATH '$[{at}]'"));
        told.push(as_is);
    }
    let text = format!(
        "(SELECT {} FROM JSON_TABLE(?, '$[*]' COLUMNS ({})) j)",
        told.join(", "),
        taken.join(", ")
    );
    let rows = serde_json::to_string(rows).map_err(|error| SerializationError(error.into()))?;
    Ok((text, vec![Bound::Value(Value::Text(rows))]))
}
