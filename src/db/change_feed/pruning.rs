//! Prunes a writer's old changes, and silent writers, which no peer follows any more.
//!
//! Ages are measured against the `seen_at` of the writer's own row. The database's clock wrote both, so the clocks
//! of hosts need not agree.

use std::time::Duration;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use uuid::Uuid;

use super::pruned;
use super::revisions::Position;
use crate::db::engines::dialect;
use crate::db::schema::{placet_changes, placet_epoch, placet_writers};
use crate::db::{DbConnection, DbResult};
use crate::mutants::{self, Mutant};

/// How many of its own revisions a writer keeps for peers to follow.
pub const KEPT_REVISIONS: i64 = 10_000;
/// How long a writer keeps its revisions.
const RETENTION_TIME: Duration = Duration::from_secs(600);
/// A writer without a heartbeat for this long is silent, and is pruned.
const SILENT_AFTER: Duration = Duration::from_secs(3600);

/// When the writer was last seen, by the database's clock.
pub fn seen_at(conn: &mut DbConnection, writer: &str) -> DbResult<NaiveDateTime> {
    use placet_writers as w;
    w::table.filter(w::id.eq(writer)).select(w::seen_at).first(conn)
}

/// Deletes a writer's own old changes, after its heartbeat. A peer that lacks a deleted change finds a gap, and
/// reloads.
pub fn prune_own_changes(conn: &mut DbConnection, writer: &str, revision: i64) -> DbResult<usize> {
    use placet_changes as c;
    let oldest = seen_at(conn, writer)? - RETENTION_TIME;
    let old = c::revision.le(revision - KEPT_REVISIONS).or(c::committed_at.lt(oldest));
    diesel::delete(c::table.filter(c::writer.eq(writer)).filter(old)).execute(conn)
}

/// Deletes silent writers with their changes, and replaces the epoch in the same transaction. A process that lacks a
/// commit of a silent writer notices the new epoch. Any up-to-date process finds the writer's last position
/// (`change_feed::carry_over`), and goes on.
pub fn prune_silent_writers(conn: &mut DbConnection, own: &str) -> DbResult<usize> {
    use {placet_changes as c, placet_writers as w};
    let oldest = seen_at(conn, own)? - SILENT_AFTER;
    let silent = w::table
        .filter(w::seen_at.lt(oldest))
        .order(w::id)
        .select((w::id, w::revision, w::token));
    if silent.first::<(String, i64, String)>(conn).optional()?.is_none() {
        return Ok(0);
    }
    dialect::write_transaction(conn, |conn| {
        // The same lock order as `dialect::hold_writers`.
        dialect::hold_registrations(conn)?;
        let silent: Vec<(String, i64, String)> = silent.load(conn)?;
        let mut pruned = Vec::new();
        for (id, revision, token) in silent {
            // The statement checks the age again, because a heartbeat or a commit may come in between.
            let row = w::table.filter(w::id.eq(&id)).filter(w::seen_at.lt(oldest));
            if diesel::delete(row).execute(conn)? == 1 {
                pruned.push((id, Position { revision, token }));
            }
        }
        if pruned.is_empty() {
            return Ok(0);
        }
        let ids = pruned.iter().map(|(id, _)| id);
        diesel::delete(c::table.filter(c::writer.eq_any(ids))).execute(conn)?;
        if !mutants::is(Mutant::PruneWithoutEpoch) {
            replace_epoch(conn, &pruned, oldest)?;
        }
        Ok(pruned.len())
    })
}

/// Replaces the epoch, records the pruned writers under the old epoch, and forgets epochs that ended before `oldest`.
fn replace_epoch(conn: &mut DbConnection, pruned: &[(String, Position)], oldest: NaiveDateTime) -> DbResult<()> {
    use placet_epoch as e;
    let next = Uuid::new_v4().to_string();
    // There is no epoch if only OpenStack's tables were restored.
    if let Some(epoch) = e::table.select(e::epoch).first::<String>(conn).optional()? {
        pruned::record(conn, &epoch, &next, pruned)?;
        pruned::forget(conn, &next, oldest)?;
    }
    diesel::update(e::table).set(e::epoch.eq(next)).execute(conn)?;
    Ok(())
}
