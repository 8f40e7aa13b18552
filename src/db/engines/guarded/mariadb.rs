//! Guarded writes on MariaDB, from 10.6 on: one compound statement, which checks each guard and stops with an error at
//! the first failed guard.

use chrono::NaiveDateTime;
use diesel::mysql::MysqlConnection;
use diesel::prelude::*;

use super::insert_chunks::{chunked_insert_sql, has_cacheable_text};
use super::{ExecMode, GuardedWrite};
use crate::db::engines::dialect::{self, mariadb::BEGIN_IN_COMPOUND};
use crate::db::engines::rows::Value;
use crate::db::engines::rows::mariadb::{json_rows, matching, update_by_ids, update_sql, with_keys};
use crate::db::engines::rows::statement::{Bound, Fragment, Statement};

/// The maximum number of placeholders in a prepared text. The server keeps some hundred bytes for each placeholder.
const CACHED_PLACEHOLDERS_MAX: usize = 8_192;
/// The maximum number of values of an `AssertExists` in a prepared text.
const CACHED_VALUES_MAX: usize = 32;
/// The maximum number of keys of an `AssertNone`, or of rows of an `AssertMatches`, in a prepared text.
const CACHED_KEYS_MAX: usize = 256;

/// The beginning of the error for a failed guard. The index of the write follows.
const GUARD_FAILED: &str = "placet: guard failed: ";

pub fn run(
    conn: &mut MysqlConnection,
    now: NaiveDateTime,
    writes: &[GuardedWrite],
    mode: ExecMode,
) -> QueryResult<Option<usize>> {
    let begin = if mode == ExecMode::CombinedWithBegin {
        BEGIN_IN_COMPOUND
    } else {
        ""
    };
    let mut text = format!("BEGIN NOT ATOMIC DECLARE placet_found BIGINT; {begin}");
    let mut bound = Vec::new();
    for (at, write) in writes.iter().enumerate() {
        let (statement, counted) = match write {
            GuardedWrite::UpdateOne(change, values) => (Fragment::new(change.0, values), CHANGED_ROWS),
            GuardedWrite::Update(update, rows) => {
                let sql = match update_by_ids::update_sql(update, now, rows) {
                    Some(sql) => sql,
                    None => update_sql(update, now, json_rows(update.columns, rows)?),
                };
                (sql, CHANGED_ROWS)
            }
            GuardedWrite::Insert(insert, rows) => (chunked_insert_sql(insert, now, rows), FOUND_ROWS),
            GuardedWrite::AssertExists(count, values) => (Fragment::new(&count.0, values).prefixed(COUNT), FOUND_ROWS),
            GuardedWrite::AssertMatches(count, rows) => (matching(count, rows).prefixed(COUNT), FOUND_ROWS),
            GuardedWrite::AssertNone(count, keys) => (with_keys(count, keys).prefixed(COUNT), FOUND_ROWS),
        };
        bound.extend(statement.bound);
        bound.push(Bound::Value(Value::Int(write.expected() as i64)));
        text.push_str(&format!(
            "{statement}; IF {counted} <> ? THEN \
             SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{GUARD_FAILED}{at}'; END IF; ",
            statement = statement.text
        ));
    }
    text.push_str("END");
    let mut statement: Statement = Fragment { text, bound }.cached();
    statement.is_cached = statement.bound.len() <= CACHED_PLACEHOLDERS_MAX && writes.iter().all(is_cacheable);
    match statement.execute(conn) {
        Ok(_) => Ok(None),
        Err(error) => failed_guard(&error).map(Some).ok_or(error),
    }
}

/// The number of rows that the statement before changed.
const CHANGED_ROWS: &str = "ROW_COUNT()";

/// The number of rows that the statement before counted. The statement counts into a variable: a query within the
/// condition itself would lock all rows of the query, and wait for transactions that write the rows.
const FOUND_ROWS: &str = "placet_found";
/// Counts rows into [`FOUND_ROWS`].
const COUNT: &str = "SELECT COUNT(*) INTO placet_found FROM ";

/// Whether the text of the write is one of few, for any number of rows. The server keeps every prepared text.
fn is_cacheable(write: &GuardedWrite) -> bool {
    match write {
        GuardedWrite::UpdateOne(..) | GuardedWrite::Update(..) => true,
        GuardedWrite::Insert(_, rows) => has_cacheable_text(rows.len()),
        GuardedWrite::AssertExists(_, values) => values.len() <= CACHED_VALUES_MAX,
        GuardedWrite::AssertMatches(_, rows) => rows.len() <= CACHED_KEYS_MAX,
        GuardedWrite::AssertNone(_, keys) => keys.len() <= CACHED_KEYS_MAX,
    }
}

/// The index of the write with the failed guard, if the error names a write.
fn failed_guard(error: &diesel::result::Error) -> Option<usize> {
    dialect::message(error).strip_prefix(GUARD_FAILED)?.parse().ok()
}
