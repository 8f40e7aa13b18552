//! Guarded writes on PostgreSQL: one statement, whose WITH has a part for each write. Every part sees the rows from
//! before the statement.

use chrono::NaiveDateTime;
use diesel::pg::PgConnection;
use diesel::prelude::*;
use diesel::sql_types::{Array as ArrayOf, BigInt};

use super::{ExecMode, GuardedWrite};
use crate::db::engines::dialect::postgresql::begin_write;
use crate::db::engines::rows::Value;
use crate::db::engines::rows::postgresql::{LockedRows, insert_sql, matching, unnest, update_sql, with_keys};
use crate::db::engines::rows::statement::{Bound, Fragment};

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
    let bound = with.bound;
    let counts: Vec<i64> = Fragment { text, bound }.cached::<ArrayOf<BigInt>>().get_result(conn)?;
    let holds = |(write, count): (&GuardedWrite, i64)| usize::try_from(count) == Ok(write.expected());
    Ok(writes.iter().zip(counts).position(|counted| !holds(counted)))
}

/// The WITH so far. Each write has a part `w{at}`, with a row for each changed or found row.
#[derive(Default)]
struct With {
    parts: Vec<String>,
    bound: Vec<Bound>,
    /// The number of writes so far.
    added: usize,
    /// The last write with changes.
    preceding: Option<PrecedingWrite>,
}

struct PrecedingWrite {
    /// The index of the write.
    at: usize,
    /// The number of rows that the write must change.
    expected: usize,
}

impl With {
    fn add(&mut self, write: &GuardedWrite, now: NaiveDateTime) {
        let at = self.added;
        self.added += 1;
        match write {
            GuardedWrite::UpdateOne(change, values) => {
                let change = Fragment::new(format!("{} RETURNING 1", change.0), values);
                self.add_part(at, change);
            }
            GuardedWrite::Update(update, rows) => {
                self.add_rows(at, update.columns, rows);
                // Locked rows are skipped. A waiting statement would hold rows for which the locks' holder may wait,
                // and PostgreSQL takes a second to notice a deadlock. The concurrent transaction changes the skipped
                // rows, so the guard would not hold in any case.
                let (source, locks) = (format!("v{at}"), format!("l{at}"));
                let sql = update_sql(update, &source, &locks, LockedRows::Skip, now, &mut self.bound);
                self.parts.push(format!(
                    "l{at} AS ({lock}), w{at} AS ({update} RETURNING 1)",
                    lock = sql.lock,
                    update = sql.update
                ));
            }
            GuardedWrite::Insert(insert, rows) => {
                self.add_rows(at, insert.columns, rows);
                let sql = insert_sql(insert, &format!("v{at}"), now, &mut self.bound);
                self.parts.push(format!("w{at} AS ({sql} RETURNING 1)"));
            }
            GuardedWrite::AssertExists(count, values) => return self.add_found(at, Fragment::new(&count.0, values)),
            GuardedWrite::AssertMatches(count, rows) => return self.add_found(at, matching(count, rows)),
            GuardedWrite::AssertNone(count, keys) => return self.add_found(at, with_keys(count, keys)),
        }
        let expected = write.expected();
        self.preceding = Some(PrecedingWrite { at, expected });
    }

    /// Adds the rows of a query. `from` is the text after FROM.
    fn add_found(&mut self, at: usize, from: Fragment) {
        self.add_part(at, from.prefixed("SELECT 1 FROM "));
    }

    fn add_part(&mut self, at: usize, part: Fragment) {
        self.parts.push(format!("w{at} AS ({})", part.text));
        self.bound.extend(part.bound);
    }

    /// Adds the rows of a change. The rows depend on the change before: there are no rows unless the change before has
    /// changed all of its rows. So locks are taken in the order of the parts, which is the same in every process. No
    /// lock is taken after a failed guard.
    fn add_rows(&mut self, at: usize, columns: &[&str], rows: &[Vec<Value>]) {
        let source = unnest(columns, rows);
        self.bound.extend(source.bound);
        let condition = match &self.preceding {
            Some(PrecedingWrite { at: before, expected }) => {
                self.bound.push(Bound::Value(Value::Int(*expected as i64)));
                format!(" WHERE (SELECT count(*) FROM w{before}) = ?")
            }
            None => String::new(),
        };
        self.parts
            .push(format!("v{at} AS (SELECT * FROM {}{condition})", source.text));
    }
}
