//! Writes allocations: deletes the rows from before the batch, by id, and inserts the current ones.

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

/// Deletes the replaced allocations. Guard: the count of deleted rows. If another writer has deleted one, its amount is
/// no longer in the provider's usage.
pub fn delete(save: &mut Save<'_>) -> DbResult<GuardOutcome> {
    use allocations as t;
    if mutants::is(Mutant::SubtractUnremoved) {
        return delete_unchecked(save);
    }
    let ids: Vec<i32> = replaced(save.state)
        .flat_map(|(_, entry)| &entry.base_allocations)
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

/// Inserts the current allocations of the consumers.
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
                // No claim exceeds `max_unit`, whose column is an INTEGER.
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

/// As [`insert`], as a write of a plan. All its providers exist.
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
