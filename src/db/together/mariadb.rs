//! All parts as one compound statement, which looks itself whether each was as it must be, and stops where one was not. Of
//! MariaDB 10.6 and newer.

use chrono::NaiveDateTime;
use diesel::mysql::MysqlConnection;
use diesel::prelude::*;
use diesel::result::Error::DatabaseError;

use super::{How, Part};
use crate::db::dialect::mariadb::BEGIN_WITHIN;
use crate::db::rows::Value;
use crate::db::rows::mariadb::{counting_keys, inserting, json, looking, updating};
use crate::db::rows::statement::{Bound, Statement};

/// A text depends on how many rows are inserted: those of few are kept prepared, for there are few such texts.
const KEPT_VALUES: usize = 64;

/// How the statement says which part it was; the number follows.
const NOT_AS_IT_MUST: &str = "placet: not as expected: ";

/// Where the transaction is to be begun, that is in the statement too.
pub fn run(conn: &mut MysqlConnection, now: NaiveDateTime, parts: &[Part], how: How) -> QueryResult<Option<usize>> {
    let begin = if how == How::Beginning { BEGIN_WITHIN } else { "" };
    let mut text = format!("BEGIN NOT ATOMIC DECLARE placet_found BIGINT; {begin}");
    let mut bound = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let (found, values) = match part {
            Part::One(it, values) => {
                let values = values.iter().cloned().map(Bound::from).collect();
                changed((it.0.to_owned(), values))
            }
            Part::Update(it, rows) => changed(updating(it, now, json(it.columns, rows)?)),
            Part::Insert(it, rows) => changed(inserting(it, now, rows)),
            Part::There(it, values) => looked(looking(it, values, "INTO placet_found ")),
            Part::NobodyHas(it, keys) => looked(counting_keys(it, keys, "INTO placet_found ")),
        };
        bound.extend(values);
        bound.push(Bound::Value(Value::Int(part.expected() as i64)));
        text.push_str(&format!(
            "{found} <> ? THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{NOT_AS_IT_MUST}{at}'; END IF; "
        ));
    }
    text.push_str("END");
    let mut statement: Statement = Statement::once(text, bound);
    statement.is_kept = statement.bound.len() <= KEPT_VALUES;
    match statement.execute(conn) {
        Ok(_) => Ok(None),
        Err(error) => match which(&error) {
            Some(at) => Ok(Some(at)),
            None => Err(error),
        },
    }
}

/// A statement, and a condition that begins with how many rows it changed.
fn changed((text, bound): (String, Vec<Bound>)) -> (String, Vec<Bound>) {
    (format!("{text}; IF ROW_COUNT()"), bound)
}

/// The same of what a query counts. As a statement of its own it locks nothing; within a condition it would lock all that it
/// reads, and wait for whoever writes that.
fn looked((text, bound): (String, Vec<Bound>)) -> (String, Vec<Bound>) {
    (format!("{text}; IF placet_found"), bound)
}

fn which(error: &diesel::result::Error) -> Option<usize> {
    let DatabaseError(_, told) = error else { return None };
    told.message().strip_prefix(NOT_AS_IT_MUST)?.parse().ok()
}
