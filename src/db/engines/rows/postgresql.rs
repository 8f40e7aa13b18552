//! Rows in statements of PostgreSQL: each column is bound as one array, so the text does not depend on the number of
//! rows.
//!
//! A connection prepares such a statement once, and PostgreSQL plans the statement once. A text with a placeholder for
//! each value would be parsed and planned each time.

use chrono::NaiveDateTime;

use super::statement::{Fragment, Statement, bind_time};
use super::{Clock, CountFrom, CountKeys, CountMatches, InsertFromRows, OneRow, UpdateFromRows, Value};

/// A bound value, or a bound column of values.
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

pub fn update(update: &UpdateFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Statement<Array> {
    let Fragment {
        text: source,
        mut bound,
    } = unnest(update.columns, rows);
    let sql = update_sql(update, "v", "l", LockedRows::Wait, now, &mut bound);
    Statement::cached(
        format!("WITH v AS (SELECT * FROM {source}), l AS ({}) {}", sql.lock, sql.update),
        bound,
    )
}

pub fn insert(insert: &InsertFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Statement<Array> {
    let Fragment {
        text: source,
        mut bound,
    } = unnest(insert.columns, rows);
    let sql = insert_sql(insert, "v", now, &mut bound);
    Statement::cached(format!("WITH v AS (SELECT * FROM {source}) {sql}"), bound)
}

pub fn one_row(change: &OneRow, values: &[Value]) -> Statement<Array> {
    Statement::cached(change.0.to_owned(), values.iter().cloned().map(Array::Value).collect())
}

pub fn count_rows(count: &CountFrom, values: &[Value]) -> Statement<Array> {
    let bound = values.iter().cloned().map(Array::Value).collect();
    Statement::cached(format!("SELECT count(*) FROM {}", count.0), bound)
}

pub fn count_keys(count: &CountKeys, keys: &[String]) -> Statement<Array> {
    let keys = Array::Texts(keys.iter().cloned().map(Some).collect());
    Statement::cached(format!("SELECT count(*) FROM {}", matching_keys_sql(count)), vec![keys])
}

pub fn count_matches(count: &CountMatches, rows: &[Vec<Value>]) -> Statement<Array> {
    let Fragment { text, bound } = matches_sql(count, rows);
    Statement::cached(format!("SELECT count(*) FROM {text}"), bound)
}

/// The treatment of rows that a concurrent transaction has locked.
pub enum LockedRows {
    Wait,
    /// Locked rows are missing from the count of changed rows.
    Skip,
}

impl LockedRows {
    fn sql(&self) -> &str {
        match self {
            LockedRows::Wait => "",
            LockedRows::Skip => "SKIP LOCKED",
        }
    }
}

/// The two parts of an update.
pub struct UpdateSql {
    /// Locks the rows in the order of their ids. Otherwise two statements over the same rows can deadlock, which
    /// PostgreSQL takes a second to notice.
    pub lock: String,
    /// Updates the locked rows.
    pub update: String,
}

/// The update over the table `rows`. `locks` is the name of its part `lock` in the WITH.
pub fn update_sql(
    update: &UpdateFromRows,
    rows: &str,
    locks: &str,
    locked_rows: LockedRows,
    now: NaiveDateTime,
    bound: &mut Vec<Array>,
) -> UpdateSql {
    let (table, filter) = (update.table, update.filter);
    let set = bind_time(update.set, now, "?::timestamp", bound);
    let lock = format!(
        "SELECT {table}.id FROM {table} JOIN {rows} v ON {filter} ORDER BY {table}.id FOR NO KEY UPDATE OF {table} {}",
        locked_rows.sql()
    );
    UpdateSql {
        lock,
        update: format!("UPDATE {table} SET {set} FROM {rows} v, {locks} l WHERE {table}.id = l.id AND {filter}"),
    }
}

/// The insert of the table `rows`.
pub fn insert_sql(insert: &InsertFromRows, rows: &str, now: NaiveDateTime, bound: &mut Vec<Array>) -> String {
    let time = match insert.clock {
        Clock::Host => {
            bound.push(now.into());
            "?::timestamp"
        }
        Clock::Database => "CURRENT_TIMESTAMP",
    };
    let (table, columns, values) = (insert.table, insert.columns.join(", "), insert.columns.join(", v."));
    format!("INSERT INTO {table} (created_at, {columns}) SELECT {time}, v.{values} FROM {rows} v")
}

/// The text after FROM in a query for the rows with one of the keys. The keys are bound as one array.
pub fn matching_keys_sql(count: &CountKeys) -> String {
    format!("{} WHERE {} = ANY(?::text[])", count.table, count.column)
}

/// The text after FROM in a query for the rows that match one of the given rows.
pub fn matches_sql(count: &CountMatches, rows: &[Vec<Value>]) -> Fragment<Array> {
    let Fragment { text, bound } = unnest(&count.columns, rows);
    let (table, [key, other]) = (count.table, count.columns);
    let text = format!("{text} JOIN {table} ON {table}.{key} = v.{key} AND {table}.{other} = v.{other}");
    Fragment { text, bound }
}

/// The rows as a table: each column is bound as an array, and `unnest` turns the arrays into rows again.
pub fn unnest(columns: &[&str], rows: &[Vec<Value>]) -> Fragment<Array> {
    let (mut placeholders, mut bound) = (Vec::new(), Vec::new());
    for at in 0..columns.len() {
        let Column { sql_type, values } = column(rows, at);
        placeholders.push(format!("?::{sql_type}[]"));
        bound.push(values);
    }
    let text = format!("unnest({}) v({})", placeholders.join(", "), columns.join(", "));
    Fragment { text, bound }
}

struct Column {
    sql_type: &'static str,
    values: Array,
}

/// The first row decides the type of the column, because all values of a column have the same type.
fn column(rows: &[Vec<Value>], at: usize) -> Column {
    let values = rows.iter().map(|row| &row[at]);
    let (sql_type, values) = match rows.first().map(|row| &row[at]) {
        Some(Value::Real(_)) => {
            let reals = values.filter_map(|value| match value {
                Value::Real(real) => Some(*real),
                _ => None,
            });
            ("float8", Array::Reals(reals.collect()))
        }
        Some(Value::Text(_) | Value::Key(_)) => {
            let texts = values.map(|value| match value {
                Value::Text(text) | Value::Key(text) => Some(text.clone()),
                _ => None,
            });
            ("text", Array::Texts(texts.collect()))
        }
        _ => {
            let ints = values.map(|value| match value {
                Value::Int(int) => Some(*int),
                Value::MaybeInt(int) => *int,
                _ => None,
            });
            ("bigint", Array::Ints(ints.collect()))
        }
    };
    Column { sql_type, values }
}
