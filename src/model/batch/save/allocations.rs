//! Writes allocations: deletes the rows from before the batch, by id, and inserts the current allocations.

use diesel::prelude::*;

use super::{NewRowIds, ROWS_A_PART, Save, SaveResult};
use crate::db::WriteError;
use crate::db::engines::dialect::LIST_MAX;
use crate::db::engines::guarded::GuardedWrite;
use crate::db::engines::rows::Value;
use crate::db::schema::allocations;
use crate::db::statements;
use crate::model::batch::state::{ConsumerEntry, State};
use crate::mutants::{self, Mutant};
use crate::search::{ClassId, ProviderId};

/// Deletes the replaced allocations. Guard: the count of deleted rows. The provider's usage no longer has the amount of
/// an allocation that a different writer deleted.
pub fn delete(save: &mut Save<'_>) -> SaveResult {
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
    WriteError::unless_touched(ids.len(), deleted)
}

/// For a mutant: deletes by consumer, even if the rows are not the rows of the batch's read.
fn delete_unchecked(save: &mut Save<'_>) -> SaveResult {
    use allocations as t;
    let consumers: Vec<&String> = replaced(save.state).map(|(uuid, _)| uuid).collect();
    diesel::delete(t::table.filter(t::consumer_id.eq_any(consumers))).execute(save.conn)?;
    Ok(())
}

/// Inserts the current allocations of the consumers.
pub fn insert_current(save: &mut Save<'_>) -> SaveResult {
    let current: Vec<NewAllocation<'_>> = new_allocations(save.state).collect();
    for part in current.chunks(ROWS_A_PART) {
        save.write(&insert(part.iter().copied(), &save.ids))?;
    }
    Ok(())
}

/// A consumer, with the amount of a class of a provider.
type NewAllocation<'a> = (&'a String, &'a (ProviderId, ClassId, i64));

/// The current allocations of the consumers whose allocations the batch replaced.
pub fn new_allocations(state: &State) -> impl Iterator<Item = NewAllocation<'_>> {
    replaced(state).flat_map(|(uuid, entry)| entry.allocations.iter().map(move |allocation| (uuid, allocation)))
}

/// Inserts allocations. `ids` has the ids of providers that the batch created.
pub fn insert<'a>(new: impl Iterator<Item = NewAllocation<'a>>, ids: &NewRowIds) -> GuardedWrite {
    let rows = new.map(|(uuid, (provider, class, used))| {
        vec![
            Value::Int(ids.real(provider.0).into()),
            Value::Text(uuid.clone()),
            Value::Int(class.0.into()),
            Value::Int(*used),
        ]
    });
    GuardedWrite::Insert(statements::allocations::INSERT, rows.collect())
}

/// Precondition of a plan: the new consumers have no allocations.
pub fn assert_no_allocations(state: &State) -> GuardedWrite {
    GuardedWrite::AssertNone(
        statements::allocations::OF_CONSUMERS,
        replaced(state).map(|(uuid, _)| uuid.clone()).collect(),
    )
}

/// The consumers whose allocations the batch replaced.
fn replaced(state: &State) -> impl Iterator<Item = (&String, &ConsumerEntry)> {
    state.consumers.iter().filter(|(_, entry)| entry.replaced)
}
