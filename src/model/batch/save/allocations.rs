//! Writes allocations: deletes the rows that consumers had, by id, and inserts what they have now.

use diesel::prelude::*;

use super::{GuardOutcome, Save};
use crate::db::DbResult;
use crate::db::engines::dialect::{LIST_MAX, insert_rows};
use crate::db::engines::guarded::GuardedWrite;
use crate::db::engines::rows::Value;
use crate::db::schema::allocations;
use crate::db::statements;
use crate::model::batch::state::{ConsumerEntry, State};
use crate::mutants::{self, Mutant};

/// Deletes the replaced allocations. Guard: the count of deleted ids. If another writer has replaced a row, its
/// amount was subtracted from the provider's usage already.
pub fn delete(save: &mut Save<'_>) -> DbResult<GuardOutcome> {
    use allocations as t;
    if mutants::is(Mutant::SubtractUnremoved) {
        return delete_unchecked(save);
    }
    let ids: Vec<i32> = replaced(save.state)
        .flat_map(|(_, entry)| &entry.held)
        .map(|row| row.id)
        .collect();
    let mut deleted = 0;
    for chunk in ids.chunks(LIST_MAX) {
        deleted += diesel::delete(t::table.filter(t::id.eq_any(chunk))).execute(save.conn)?;
    }
    Ok(GuardOutcome::expect(ids.len(), deleted))
}

/// For a mutant: deletes by consumer, without a check that these are the rows that were read.
fn delete_unchecked(save: &mut Save<'_>) -> DbResult<GuardOutcome> {
    use allocations as t;
    let consumers: Vec<&String> = replaced(save.state).map(|(uuid, _)| uuid).collect();
    diesel::delete(t::table.filter(t::consumer_id.eq_any(consumers))).execute(save.conn)?;
    Ok(GuardOutcome::Held)
}

/// Inserts what the consumers have now.
pub fn insert(save: &mut Save<'_>) -> DbResult<GuardOutcome> {
    use allocations as t;
    let rows: Vec<_> = replaced(save.state)
        .flat_map(|(uuid, entry)| entry.allocations.iter().map(move |allocation| (uuid, allocation)))
        .map(|(uuid, (provider, class, used))| {
            (
                t::created_at.eq(save.now),
                t::resource_provider_id.eq(save.ids.provider(*provider)),
                t::consumer_id.eq(uuid.as_str()),
                t::resource_class_id.eq(class.0),
                // The column `max_unit` is an INTEGER, and no claim exceeds it.
                t::used.eq(*used as i32),
            )
        })
        .collect();
    insert_rows!(save.conn, t::table, &rows)?;
    Ok(GuardOutcome::Held)
}

/// Precondition of a plan: its new consumers have no allocations.
pub fn assert_no_allocations(state: &State) -> GuardedWrite {
    GuardedWrite::AssertNone(
        statements::allocations::OF_CONSUMERS,
        state.consumers.keys().cloned().collect(),
    )
}

/// What [`insert`] does, as a write of a plan: all providers exist.
pub fn planned_insert(state: &State) -> GuardedWrite {
    let rows = replaced(state)
        .flat_map(|(uuid, entry)| entry.allocations.iter().map(move |allocation| (uuid, allocation)))
        .map(|(uuid, (provider, class, used))| {
            vec![
                Value::Int(provider.0.into()),
                Value::Text(uuid.clone()),
                Value::Int(class.0.into()),
                Value::Int(*used),
            ]
        });
    GuardedWrite::Insert(statements::allocations::INSERT, rows.collect())
}

/// The consumers whose allocations the batch replaced.
fn replaced(state: &State) -> impl Iterator<Item = (&String, &ConsumerEntry)> {
    state.consumers.iter().filter(|(_, entry)| entry.replaced)
}
