//! Rows in statements of MariaDB: a placeholder for each value, or all rows as one JSON text.

pub mod update_by_ids;

use chrono::NaiveDateTime;
use diesel::QueryResult;
use diesel::result::Error::SerializationError;

use super::statement::{Bound, Fragment, bind_time};
use super::{CountKeys, CountMatches, InsertFromRows, UpdateFromRows, Value};
use crate::db::engines::dialect::padded;

pub fn update(update: &UpdateFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Fragment {
    update_sql(update, now, union_rows(update.columns, rows))
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
pub fn insert(insert: &InsertFromRows, now: NaiveDateTime, rows: &[Vec<Value>]) -> Fragment {
    insert.with_placeholders(now, "CURRENT_TIMESTAMP", rows)
}

/// The text after FROM in a query for the rows with one of the keys, which are padded, for few texts.
pub fn with_keys(count: &CountKeys, keys: &[String]) -> Fragment {
    let bound: Vec<Bound> = padded(keys).map(|key| Value::Text(key.clone()).into()).collect();
    let placeholders = vec!["?"; bound.len()].join(", ");
    let text = format!("{} WHERE {} IN ({placeholders})", count.table, count.column);
    Fragment { text, bound }
}

/// As [`with_keys`], for the rows that match one of the given rows. The rows are found by the list of keys, because
/// MariaDB uses no index for a list of rows.
pub fn matching(count: &CountMatches, rows: &[Vec<Value>]) -> Fragment {
    let (many, [key, other]) = (padded(rows).count(), count.columns);
    let (keys, pairs) = (vec!["?"; many].join(", "), vec!["(?, ?)"; many].join(", "));
    Fragment::new(
        format!(
            "{} WHERE {key} IN ({keys}) AND ({key}, {other}) IN ({pairs})",
            count.table
        ),
        padded(rows).filter_map(|row| row.first()).chain(padded(rows).flatten()),
    )
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
    Fragment::new(format!("({})", selects.join(" UNION ALL ")), rows.iter().flatten())
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
    Ok(Fragment::new(text, &[Value::Text(rows)]))
}
