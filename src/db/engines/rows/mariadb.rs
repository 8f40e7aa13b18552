//! Rows in statements of MariaDB: a placeholder for each value, or all rows as one JSON text.

pub mod update_by_ids;

use chrono::NaiveDateTime;
use diesel::QueryResult;
use diesel::result::Error::SerializationError;

use super::statement::{Bound, Fragment, Statement, bind_time};
use super::{CountFrom, CountKeys, CountMatches, InsertFromRows, OneRow, UpdateFromRows, Value};
use crate::db::engines::dialect::padded;

pub fn update(update: &UpdateFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Statement {
    let Fragment { text, bound } = update_sql(update, now, union_rows(update.columns, rows));
    Statement::uncached(text, bound)
}

pub fn insert(insert: &InsertFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Statement {
    let Fragment { text, bound } = insert_sql(insert, now, rows);
    Statement::uncached(text, bound)
}

pub fn one_row(change: &OneRow, values: &[Value]) -> Statement {
    Statement::cached(change.0.to_owned(), values.iter().cloned().map(Bound::from).collect())
}

pub fn count_rows(count: &CountFrom, values: &[Value]) -> Statement {
    let Fragment { text, bound } = count_sql(count, values, "");
    Statement::cached(text, bound)
}

pub fn count_keys(count: &CountKeys, keys: &[String]) -> Statement {
    let Fragment { text, bound } = count_keys_sql(count, keys, "");
    Statement::uncached(text, bound)
}

pub fn count_matches(count: &CountMatches, rows: &[Vec<Value>]) -> Statement {
    let Fragment { text, bound } = count_matches_sql(count, rows, "");
    Statement::uncached(text, bound)
}

/// The UPDATE over `rows`, a table of [`union_rows`] or [`json_rows`]. `STRAIGHT_JOIN` puts the rows first, and each
/// row looks up a row of the table by the id. So the table is never scanned, and no further row is locked.
pub fn update_sql(update: &UpdateFromRows, now: NaiveDateTime, rows: Fragment) -> Fragment {
    let Fragment { text: rows, mut bound } = rows;
    let set: Vec<String> = update
        .set
        .split(", ")
        .map(|set| format!("{}.{set}", update.table))
        .collect();
    let set = bind_time(&set.join(", "), now, "?", &mut bound);
    let text = format!(
        "UPDATE {rows} v STRAIGHT_JOIN {} ON {} SET {set}",
        update.table, update.filter
    );
    Fragment { text, bound }
}

/// The INSERT with a placeholder for each value. An INSERT from a table of rows would hold the table's AUTO_INCREMENT
/// lock until the end; during a wait for a row, no concurrent transaction could insert.
pub fn insert_sql(insert: &InsertFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Fragment {
    insert.with_placeholders(now, "CURRENT_TIMESTAMP", rows)
}

/// `into` is empty, or an INTO clause with the variable for the count.
pub fn count_sql(count: &CountFrom, values: &[Value], into: &str) -> Fragment {
    let bound = values.iter().cloned().map(Bound::from).collect();
    let text = format!("SELECT COUNT(*) {into}FROM {}", count.0);
    Fragment { text, bound }
}

/// As [`count_sql`]. The keys are padded, for few texts.
pub fn count_keys_sql(count: &CountKeys, keys: &[String], into: &str) -> Fragment {
    let bound = padded(keys).map(|key| Bound::Value(Value::Text(key.clone())));
    let bound: Vec<Bound> = bound.collect();
    let placeholders = vec!["?"; bound.len()].join(", ");
    let text = format!(
        "SELECT COUNT(*) {into}FROM {} WHERE {} IN ({placeholders})",
        count.table, count.column
    );
    Fragment { text, bound }
}

/// As [`count_keys_sql`]. The rows are found by the list of keys, because MariaDB uses no index for a list of rows.
pub fn count_matches_sql(count: &CountMatches, rows: &[Vec<Value>], into: &str) -> Fragment {
    let keys = padded(rows).filter_map(|row| row.first());
    let bound = keys.chain(padded(rows).flatten()).cloned().map(Bound::from);
    let bound: Vec<Bound> = bound.collect();
    let many = padded(rows).count();
    let ([key, other], keys, pairs) = (
        count.columns,
        vec!["?"; many].join(", "),
        vec!["(?, ?)"; many].join(", "),
    );
    let text = format!(
        "SELECT COUNT(*) {into}FROM {} WHERE {key} IN ({keys}) AND ({key}, {other}) IN ({pairs})",
        count.table
    );
    Fragment { text, bound }
}

/// The rows as a table: a SELECT for each row, which every version of MariaDB and MySQL accepts.
fn union_rows(columns: &[&str], rows: &[Vec<Value>]) -> Fragment {
    let placeholder = |value: &Value| match value {
        Value::Key(_) => "CAST(? AS BINARY)",
        _ => "?",
    };
    let first = |row: &Vec<Value>| {
        let named = |(value, name): (&Value, &&str)| format!("{} AS {name}", placeholder(value));
        row.iter().zip(columns).map(named).collect::<Vec<_>>().join(", ")
    };
    let other = |row: &Vec<Value>| row.iter().map(placeholder).collect::<Vec<_>>().join(", ");
    let selects: Vec<String> = rows
        .iter()
        .enumerate()
        .map(|(at, row)| format!("SELECT {}", if at == 0 { first(row) } else { other(row) }))
        .collect();
    let bound = rows.iter().flatten().cloned().map(Bound::from).collect();
    let text = format!("({})", selects.join(" UNION ALL "));
    Fragment { text, bound }
}

/// The rows as a table that is bound as one JSON text: the statement's text does not depend on the number of rows. From
/// MariaDB 10.6 on.
///
/// The first row decides the types of the columns, because all values of a column have the same type.
pub fn json_rows(columns: &[&str], rows: &[Vec<Value>]) -> QueryResult<Fragment> {
    let first = columns.iter().zip(rows.first().into_iter().flatten()).enumerate();
    let (mut json_columns, mut selected) = (Vec::new(), Vec::new());
    for (at, (name, value)) in first {
        let (sql_type, expression) = match value {
            Value::Int(_) | Value::MaybeInt(_) => ("BIGINT", format!("j.{name}")),
            Value::Real(_) => ("DOUBLE", format!("j.{name}")),
            Value::Text(_) => ("LONGTEXT", format!("j.{name}")),
            Value::Key(_) => ("LONGTEXT", format!("CAST(j.{name} AS BINARY) AS {name}")),
        };
        json_columns.push(format!("{name} {sql_type} PATH '$[{at}]'"));
        selected.push(expression);
    }
    let text = format!(
        "(SELECT {} FROM JSON_TABLE(?, '$[*]' COLUMNS ({})) j)",
        selected.join(", "),
        json_columns.join(", ")
    );
    let rows = serde_json::to_string(rows).map_err(|error| SerializationError(error.into()))?;
    let bound = vec![Bound::Value(Value::Text(rows))];
    Ok(Fragment { text, bound })
}
