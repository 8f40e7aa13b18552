//! Rows as PostgreSQL takes them: each column is one array, so that the text does not depend on how many rows there are.
//!
//! A connection prepares such a statement once, and PostgreSQL plans it once; a text with as many places as there are
//! values would be parsed and planned anew each time.

use chrono::NaiveDateTime;

use super::statement::{Statement, timed};
use super::{CountFrom, CountKeys, InsertFromRows, OneRow, UpdateFromRows, Value};

/// What is bound: a value, or a column of them.
#[derive(Debug)]
pub enum Array {
    Value(Value),
    Time(NaiveDateTime),
    Ints(Vec<Option<i64>>),
    Reals(Vec<f64>),
    Texts(Vec<Option<String>>),
}

impl From<NaiveDateTime> for Array {
    fn from(time: NaiveDateTime) -> Array {
        Array::Time(time)
    }
}

pub fn update(it: &UpdateFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Statement<Array> {
    let (source, mut bound) = unnest(it.columns, rows);
    let (locked, updated) = updating(it, "v", "l", Locked::AreWaitedFor, now, &mut bound);
    Statement::kept(
        format!("WITH v AS (SELECT * FROM {source}), l AS ({locked}) {updated}"),
        bound,
    )
}

pub fn insert(it: &InsertFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Statement<Array> {
    let (source, mut bound) = unnest(it.columns, rows);
    let inserted = inserting(it, "v", now, &mut bound);
    Statement::kept(format!("WITH v AS (SELECT * FROM {source}) {inserted}"), bound)
}

pub fn one_row(it: &OneRow, values: &[Value]) -> Statement<Array> {
    Statement::kept(it.0.to_owned(), values.iter().cloned().map(Array::Value).collect())
}

pub fn look(it: &CountFrom, values: &[Value]) -> Statement<Array> {
    let bound = values.iter().cloned().map(Array::Value).collect();
    Statement::kept(format!("SELECT count(*) FROM {}", it.0), bound)
}

pub fn count_keys(it: &CountKeys, keys: &[String]) -> Statement<Array> {
    let keys = Array::Texts(keys.iter().cloned().map(Some).collect());
    Statement::kept(format!("SELECT count(*) FROM {}", having_keys(it)), vec![keys])
}

/// Rows that somebody else has locked.
pub enum Locked {
    AreWaitedFor,
    /// Then the count says that they are missing.
    AreLeftOut,
}

impl Locked {
    fn text(&self) -> &str {
        match self {
            Locked::AreWaitedFor => "",
            Locked::AreLeftOut => "SKIP LOCKED",
        }
    }
}

/// What locks the rows that are to be updated, in the order of their ids, and what updates those: without the one, two
/// statements over the same rows deadlock, after a second of silence each. `locked_ones`: what to do about rows that somebody
/// else has locked.
pub fn updating(
    it: &UpdateFromRows,
    rows: &str,
    locked: &str,
    locked_ones: Locked,
    now: NaiveDateTime,
    bound: &mut Vec<Array>,
) -> (String, String) {
    let (table, filter) = (it.table, it.filter);
    let set = timed(it.set, now, "?::timestamp", bound);
    let lock = format!(
        "SELECT {table}.id FROM {table} JOIN {rows} v ON {filter} ORDER BY {table}.id FOR NO KEY UPDATE OF {table} {}",
        locked_ones.text()
    );
    let update = format!("UPDATE {table} SET {set} FROM {rows} v, {locked} l WHERE {table}.id = l.id AND {filter}");
    (lock, update)
}

pub fn inserting(it: &InsertFromRows, rows: &str, now: NaiveDateTime, bound: &mut Vec<Array>) -> String {
    bound.push(now.into());
    let (table, columns, values) = (it.table, it.columns.join(", "), it.columns.join(", v."));
    format!("INSERT INTO {table} (created_at, {columns}) SELECT ?::timestamp, v.{values} FROM {rows} v")
}

/// What stands behind FROM; the keys are one array.
pub fn having_keys(it: &CountKeys) -> String {
    format!("{} WHERE {} = ANY(?::text[])", it.table, it.column)
}

/// Rows as columns, in the order of their names; with them the text that makes rows of them again.
pub fn unnest(columns: &[&str], rows: &[Vec<Value>]) -> (String, Vec<Array>) {
    let arrays: Vec<(&str, Array)> = (0..columns.len()).map(|at| column(rows, at)).collect();
    let types: Vec<String> = arrays.iter().map(|(kind, _)| format!("?::{kind}[]")).collect();
    let text = format!("unnest({}) v({})", types.join(", "), columns.join(", "));
    (text, arrays.into_iter().map(|(_, bound)| bound).collect())
}

/// A column's type is that of its first value: all of a column are of one kind.
fn column(rows: &[Vec<Value>], at: usize) -> (&'static str, Array) {
    let values = rows.iter().map(|row| &row[at]);
    match rows.first().map(|row| &row[at]) {
        Some(Value::Real(_)) => {
            let reals = values.filter_map(|it| match it {
                Value::Real(it) => Some(*it),
                _ => None,
            });
            ("float8", Array::Reals(reals.collect()))
        }
        Some(Value::Text(_) | Value::Key(_)) => {
            let texts = values.map(|it| match it {
                Value::Text(it) | Value::Key(it) => Some(it.clone()),
                _ => None,
            });
            ("text", Array::Texts(texts.collect()))
        }
        _ => {
            let ints = values.map(|it| match it {
                Value::Int(it) => Some(*it),
                Value::MaybeInt(it) => *it,
                _ => None,
            });
            ("bigint", Array::Ints(ints.collect()))
        }
    }
}
