//! Clears away what nobody needs to follow any more: a writer's old changes, and writers that are gone.
//!
//! Times are compared with the own row's, which the database's clock wrote.

use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use uuid::Uuid;

use super::schema::{placet_changes, placet_epoch, placet_writers};
use super::{DbConnection, DbResult, dialect};
use crate::mutants::{self, Mutant};

/// Revisions of its own that a writer leaves for others to follow, and for how long.
pub const KEPT: i64 = 10_000;
const KEPT_FOR: Duration = Duration::from_secs(600);
/// A writer that was silent for so long is gone.
const SILENT: Duration = Duration::from_secs(3600);

/// When the writer was last seen.
fn seen_at(conn: &mut DbConnection, writer: &str) -> DbResult<NaiveDateTime> {
    use placet_writers as w;
    w::table.filter(w::id.eq(writer)).select(w::seen_at).first(conn)
}

/// Deletes a writer's own old changes, after it has just been seen. Who was slower finds a gap and reads everything.
pub fn own(conn: &mut DbConnection, writer: &str, revision: i64) -> DbResult<usize> {
    use placet_changes as c;
    let long_ago = seen_at(conn, writer)? - KEPT_FOR;
    let old = c::revision.le(revision - KEPT).or(c::committed_at.lt(long_ago));
    diesel::delete(c::table.filter(c::writer.eq(writer)).filter(old)).execute(conn)
}

/// Deletes writers that were silent for an hour, with all that they left, and replaces the epoch in the same
/// transaction: who never knew them could not tell that changes are missing.
pub fn silent(conn: &mut DbConnection, own: &str) -> DbResult<usize> {
    use {placet_changes as c, placet_writers as w};
    let long_ago = seen_at(conn, own)? - SILENT;
    let silent = w::table.filter(w::seen_at.lt(long_ago)).order(w::id).select(w::id);
    if silent.first::<String>(conn).optional()?.is_none() {
        return Ok(0);
    }
    dialect::write_transaction(conn, |conn| {
        // In the order in which all writers are held.
        dialect::hold_registrations(conn)?;
        let silent: Vec<String> = silent.load(conn)?;
        let mut gone = Vec::new();
        for id in silent {
            // The time again: it may have spoken since, and then it lives.
            let row = w::table.filter(w::id.eq(&id)).filter(w::seen_at.lt(long_ago));
            if diesel::delete(row).execute(conn)? == 1 {
                gone.push(id);
            }
        }
        if gone.is_empty() {
            return Ok(0);
        }
        diesel::delete(c::table.filter(c::writer.eq_any(&gone))).execute(conn)?;
        if !mutants::is(Mutant::PruneWithoutEpoch) {
            let epoch = placet_epoch::epoch.eq(Uuid::new_v4().to_string());
            diesel::update(placet_epoch::table).set(epoch).execute(conn)?;
        }
        Ok(gone.len())
    })
}
