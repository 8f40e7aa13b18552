//! All parts as one WITH. They see the rows as those were before it.

use chrono::NaiveDateTime;
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::sql_types::{Array as ArrayOf, BigInt};

use super::{ExecMode, GuardedWrite};
use crate::db::engines::dialect::postgresql::begin_write;
use crate::db::engines::rows::Value;
use crate::db::engines::rows::postgresql::{Array, Locked, having_keys, inserting, unnest, updating};
use crate::db::engines::rows::statement::Statement;

pub fn run(
    conn: &mut PgConnection,
    now: NaiveDateTime,
    writes: &[GuardedWrite],
    mode: ExecMode,
) -> QueryResult<Option<usize>> {
    let mut with = With::default();
    for write in writes {
        with.add(write, now);
    }
    let counts: Vec<String> = (0..writes.len())
        .map(|at| format!("(SELECT count(*) FROM w{at})"))
        .collect();
    let text = format!(
        "WITH {} SELECT ARRAY[{}]::bigint[]",
        with.parts.join(", "),
        counts.join(", ")
    );
    if mode == ExecMode::CombinedWithBegin {
        begin_write(conn)?;
    }
    let counted: Vec<i64> = Statement::kept::<ArrayOf<BigInt>>(text, with.bound).get_result(conn)?;
    let as_it_must = |(write, found): (&GuardedWrite, i64)| usize::try_from(found) == Ok(write.expected());
    Ok(writes.iter().zip(counted).position(|it| !as_it_must(it)))
}

/// The parts so far; of each there is `w{at}`, with a row for each row that it changed or found.
#[derive(Default)]
struct With {
    parts: Vec<String>,
    bound: Vec<Array>,
    /// How many there were.
    added: usize,
    /// The last one that writes, and how many rows it must write.
    writing: Option<(usize, usize)>,
}

impl With {
    fn add(&mut self, write: &GuardedWrite, now: NaiveDateTime) {
        let at = self.added;
        self.added += 1;
        match write {
            GuardedWrite::UpdateOne(it, values) => {
                self.parts.push(format!("w{at} AS ({} RETURNING 1)", it.0));
                self.bound.extend(values.iter().cloned().map(Array::Value));
                self.writing = Some((at, 1));
            }
            GuardedWrite::Update(it, rows) => {
                self.add_rows(at, it.columns, rows);
                // Who waits here holds other rows, for which the one that it waits for may wait: that is a second of silence.
                // And what is changed meanwhile fails the guard anyway.
                let (source, locks) = (format!("v{at}"), format!("l{at}"));
                let (lock, update) = updating(it, &source, &locks, Locked::AreLeftOut, now, &mut self.bound);
                self.parts
                    .push(format!("l{at} AS ({lock}), w{at} AS ({update} RETURNING 1)"));
                self.writing = Some((at, rows.len()));
            }
            GuardedWrite::Insert(it, rows) => {
                self.add_rows(at, it.columns, rows);
                let insert = inserting(it, &format!("v{at}"), now, &mut self.bound);
                self.parts.push(format!("w{at} AS ({insert} RETURNING 1)"));
                self.writing = Some((at, rows.len()));
            }
            GuardedWrite::AssertExists(it, values) => {
                self.parts.push(format!("w{at} AS (SELECT 1 FROM {})", it.0));
                self.bound.extend(values.iter().cloned().map(Array::Value));
            }
            GuardedWrite::AssertNone(it, keys) => {
                self.parts.push(format!("w{at} AS (SELECT 1 FROM {})", having_keys(it)));
                self.bound.push(Array::Texts(keys.iter().cloned().map(Some).collect()));
            }
        }
    }

    /// The rows of a write that writes. There are none of them until the write before it has written all of its own: so locks
    /// are taken in the order of the parts, which is the same for every process, and only as long as there is hope.
    fn add_rows(&mut self, at: usize, columns: &[&str], rows: &[Vec<Value>]) {
        let (source, bound) = unnest(columns, rows);
        self.bound.extend(bound);
        let turn = match self.writing {
            Some((before, expected)) => {
                self.bound.push(Array::Value(Value::Int(expected as i64)));
                format!(" WHERE (SELECT count(*) FROM w{before}) = ?")
            }
            None => String::new(),
        };
        self.parts.push(format!("v{at} AS (SELECT * FROM {source}{turn})"));
    }
}
