//! Rows in statements of PostgreSQL: each column is bound as one array, so the text does not depend on the number of
//! rows.
//!
//! A connection prepares such a statement once, and PostgreSQL plans the statement once. A text with a placeholder for
//! each value would be parsed and planned each time.

use chrono::NaiveDateTime;

use super::statement::{Array, Bound, Fragment, bind_time};
use super::{Clock, CountKeys, CountMatches, InsertFromRows, UpdateFromRows, Value};

pub fn update(update: &UpdateFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Fragment {
    let Fragment {
        text: source,
        mut bound,
    } = unnest(update.columns, rows);
    let sql = update_sql(update, "v", "l", LockedRows::Wait, now, &mut bound);
    let text = format!("WITH v AS (SELECT * FROM {source}), l AS ({}) {}", sql.lock, sql.update);
    Fragment { text, bound }
}

pub fn insert(insert: &InsertFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Fragment {
    let Fragment {
        text: source,
        mut bound,
    } = unnest(insert.columns, rows);
    let sql = insert_sql(insert, "v", now, &mut bound);
    let text = format!("WITH v AS (SELECT * FROM {source}) {sql}");
    Fragment { text, bound }
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
    bound: &mut Vec<Bound>,
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
pub fn insert_sql(insert: &InsertFromRows, rows: &str, now: NaiveDateTime, bound: &mut Vec<Bound>) -> String {
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
pub fn with_keys(count: &CountKeys, keys: &[String]) -> Fragment {
    let keys = Array::Texts(keys.iter().cloned().map(Some).collect());
    Fragment {
        text: format!("{} WHERE {} = ANY(?::text[])", count.table, count.column),
        bound: vec![Bound::Array(keys)],
    }
}

/// The text after FROM in a query for the rows that match one of the given rows.
pub fn matching(count: &CountMatches, rows: &[Vec<Value>]) -> Fragment {
    let Fragment { text, bound } = unnest(&count.columns, rows);
    let (table, [key, other]) = (count.table, count.columns);
    let text = format!("{text} JOIN {table} ON {table}.{key} = v.{key} AND {table}.{other} = v.{other}");
    Fragment { text, bound }
}

/// The rows as a table: each column is bound as an array, and `unnest` turns the arrays into rows again.
pub fn unnest(columns: &[&str], rows: &[Vec<Value>]) -> Fragment {
    let bound: Vec<Array> = (0..columns.len()).map(|at| column(rows, at)).collect();
    let placeholders: Vec<&str> = bound.iter().map(placeholder).collect();
    let bound = bound.into_iter().map(Bound::Array).collect();
    let text = format!("unnest({}) v({})", placeholders.join(", "), columns.join(", "));
    Fragment { text, bound }
}

fn placeholder(column: &Array) -> &'static str {
    match column {
        Array::Ints(_) => "?::bigint[]",
        Array::Reals(_) => "?::float8[]",
        Array::Texts(_) => "?::text[]",
    }
}

/// The first row decides the type of the column, because all values of a column have the same type.
fn column(rows: &[Vec<Value>], at: usize) -> Array {
    let values = rows.iter().map(|row| &row[at]);
    match rows.first().map(|row| &row[at]) {
        Some(Value::Real(_)) => {
            let reals = values.filter_map(|value| match value {
                Value::Real(real) => Some(*real),
                _ => None,
            });
            Array::Reals(reals.collect())
        }
        Some(Value::Text(_) | Value::Key(_)) => {
            let texts = values.map(|value| match value {
                Value::Text(text) | Value::Key(text) => Some(text.clone()),
                _ => None,
            });
            Array::Texts(texts.collect())
        }
        _ => {
            let ints = values.map(|value| match value {
                Value::Int(int) => Some(*int),
                Value::MaybeInt(int) => *int,
                _ => None,
            });
            Array::Ints(ints.collect())
        }
    }
}
