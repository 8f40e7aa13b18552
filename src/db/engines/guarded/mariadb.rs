//! All parts as one compound statement, which looks itself whether each was as it must be, and stops where one was not. Of
//! MariaDB 10.6 and newer.

use chrono::NaiveDateTime;
use diesel::mysql::MysqlConnection;
use diesel::prelude::*;
use diesel::result::Error::DatabaseError;

use super::insert_chunks::{has_kept_text, inserting_blocks};
use super::{ExecMode, GuardedWrite};
use crate::db::engines::dialect::mariadb::BEGIN_WITHIN;
use crate::db::engines::rows::Value;
use crate::db::engines::rows::mariadb::{counting_keys, json, listed, looking, updating};
use crate::db::engines::rows::statement::{Bound, Statement};

/// The server keeps some hundred bytes for each place of a text that is prepared: so many of all parts together are kept.
const KEPT_PLACES: usize = 8_192;
/// So many values a look has at most where its text is kept prepared, and so many keys are counted.
const KEPT_VALUES: usize = 32;
const KEPT_KEYS: usize = 256;

/// How the statement says which write it was; the number follows.
const NOT_AS_IT_MUST: &str = "placet: not as expected: ";

/// Where the transaction is to be begun, that is in the statement too.
pub fn run(
    conn: &mut MysqlConnection,
    now: NaiveDateTime,
    writes: &[GuardedWrite],
    mode: ExecMode,
) -> QueryResult<Option<usize>> {
    let begin = if mode == ExecMode::CombinedWithBegin {
        BEGIN_WITHIN
    } else {
        ""
    };
    let mut text = format!("BEGIN NOT ATOMIC DECLARE placet_found BIGINT; {begin}");
    let mut bound = Vec::new();
    for (at, write) in writes.iter().enumerate() {
        let (found, values) = match write {
            GuardedWrite::UpdateOne(it, values) => {
                let values = values.iter().cloned().map(Bound::from).collect();
                changed((it.0.to_owned(), values))
            }
            GuardedWrite::Update(it, rows) => changed(match listed::updating(it, now, rows) {
                Some(listed) => listed,
                None => updating(it, now, json(it.columns, rows)?),
            }),
            GuardedWrite::Insert(it, rows) => looked(inserting_blocks(it, now, rows)),
            GuardedWrite::AssertExists(it, values) => looked(looking(it, values, "INTO placet_found ")),
            GuardedWrite::AssertNone(it, keys) => looked(counting_keys(it, keys, "INTO placet_found ")),
        };
        bound.extend(values);
        bound.push(Bound::Value(Value::Int(write.expected() as i64)));
        text.push_str(&format!(
            "{found} <> ? THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{NOT_AS_IT_MUST}{at}'; END IF; "
        ));
    }
    text.push_str("END");
    let mut statement: Statement = Statement::once(text, bound);
    statement.is_kept = statement.bound.len() <= KEPT_PLACES && writes.iter().all(has_few_texts);
    match statement.execute(conn) {
        Ok(_) => Ok(None),
        Err(error) => match which(&error) {
            Some(at) => Ok(Some(at)),
            None => Err(error),
        },
    }
}

/// Whether the write's text is one of few, however many rows there are: the server keeps whatever is kept prepared.
fn has_few_texts(write: &GuardedWrite) -> bool {
    match write {
        GuardedWrite::UpdateOne(..) | GuardedWrite::Update(..) => true,
        GuardedWrite::Insert(_, rows) => has_kept_text(rows.len()),
        GuardedWrite::AssertExists(_, values) => values.len() <= KEPT_VALUES,
        GuardedWrite::AssertNone(_, keys) => keys.len() <= KEPT_KEYS,
    }
}

/// A statement, and a condition that begins with how many rows it changed.
fn changed((text, bound): (String, Vec<Bound>)) -> (String, Vec<Bound>) {
    (format!("{text}; IF ROW_COUNT()"), bound)
}

/// The same of what was counted before the condition. A query that is a statement of its own locks nothing; within a condition
/// it would lock all that it reads, and wait for whoever writes that.
fn looked((text, bound): (String, Vec<Bound>)) -> (String, Vec<Bound>) {
    (format!("{text}; IF placet_found"), bound)
}

fn which(error: &diesel::result::Error) -> Option<usize> {
    let DatabaseError(_, told) = error else { return None };
    told.message().strip_prefix(NOT_AS_IT_MUST)?.parse().ok()
}
