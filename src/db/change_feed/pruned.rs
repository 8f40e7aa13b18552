//! Records pruned writers, so that a process that has followed the writers to their end goes on without a reload.
//!
//! Naively, a process reloads everything after a change of the epoch, because it may lack commits of an unknown writer.
//! A writer is pruned after each restart of a process, so each restart would reload every further process.
//!
//! So each old epoch leaves rows behind: the last position of each writer that was pruned with the epoch, and the next
//! epoch. The rows are changes whose writer is the old epoch. A process at all of these positions lacks nothing, drops
//! the writers, and goes on under the new epoch.
//!
//! Row 0 of an epoch names the epoch before, so old rows are found by their keys ([`forget`]).

use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::revisions::{Position, Revisions};
use crate::db::schema::placet_changes;
use crate::db::{DbConnection, DbResult};

/// Records the end of `epoch`, and the last positions of the `pruned` writers.
pub fn record(conn: &mut DbConnection, epoch: &str, next_epoch: &str, pruned: &[(String, Position)]) -> DbResult<()> {
    for (number, (writer, position)) in (PREVIOUS_EPOCH + 1..).zip(pruned) {
        let body = format!("{writer} {} {}", position.revision, position.token);
        insert(conn, (epoch, number), next_epoch, &body)?;
    }
    insert(conn, (next_epoch, PREVIOUS_EPOCH), epoch, "")
}

/// The number of the row with the epoch before.
const PREVIOUS_EPOCH: i64 = 0;

fn insert(conn: &mut DbConnection, key: (&str, i64), other_epoch: &str, body: &str) -> DbResult<()> {
    use placet_changes as c;
    diesel::insert_into(c::table)
        .values((
            c::writer.eq(key.0),
            c::revision.eq(key.1),
            c::token.eq(other_epoch),
            c::committed_at.eq(diesel::dsl::now),
            c::body.eq(body),
        ))
        .execute(conn)
        .map(|_| ())
}

/// Deletes the rows of earlier epochs than `epoch` that are older than `oldest`.
pub fn forget(conn: &mut DbConnection, epoch: &str, oldest: NaiveDateTime) -> DbResult<()> {
    use placet_changes as c;
    let mut next = Some(epoch.to_owned());
    while let Some(epoch) = next {
        next = c::table
            .filter(c::writer.eq(&epoch).and(c::revision.eq(PREVIOUS_EPOCH)))
            .select(c::token)
            .first(conn)
            .optional()?;
        let old = c::writer.eq(&epoch).and(c::committed_at.lt(oldest));
        diesel::delete(c::table.filter(old)).execute(conn)?;
    }
    Ok(())
}

/// `known` under the later `epoch`, without the writers that were pruned in between. `None` if a commit of a pruned
/// writer may be missing, or if the epochs in between are not recorded.
pub fn carry_over(conn: &mut DbConnection, known: &Revisions, epoch: &str) -> DbResult<Option<Revisions>> {
    use placet_changes as c;
    let mut carried = known.clone();
    while carried.epoch != epoch {
        let rows: Vec<(String, String)> = c::table
            .filter(c::writer.eq(&carried.epoch).and(c::revision.gt(PREVIOUS_EPOCH)))
            .select((c::token, c::body))
            .load(conn)?;
        let Some((next_epoch, _)) = rows.first().cloned() else {
            return Ok(None);
        };
        for (_, body) in &rows {
            let Some((writer, last)) = parse(body) else {
                return Ok(None);
            };
            let found = carried.writers.remove(writer).unwrap_or_default();
            if found != last {
                return Ok(None);
            }
        }
        carried.epoch = next_epoch;
    }
    Ok(Some(carried))
}

/// A pruned writer and its last position.
fn parse(body: &str) -> Option<(&str, Position)> {
    let mut parts = body.splitn(3, ' ');
    let (writer, revision, token) = (parts.next()?, parts.next()?, parts.next()?);
    let position = Position {
        revision: revision.parse().ok()?,
        token: token.to_owned(),
    };
    Some((writer, position))
}
