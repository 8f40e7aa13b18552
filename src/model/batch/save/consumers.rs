//! Writes consumers. The guard of an update is the consumer's generation, as for a provider.

use diesel::prelude::*;

use super::owner_ids::OwnerIds;
use super::{ROWS_A_PART, Save, SaveResult, owner_ids};
use crate::db::WriteError;
use crate::db::engines::dialect::LIST_MAX;
use crate::db::engines::guarded::GuardedWrite;
use crate::db::engines::rows::Value;
use crate::db::schema::consumers;
use crate::db::statements::consumers as statements;
use crate::model::batch::state::{ConsumerRow, State};

/// Updates consumers that existed before the batch and still do.
pub fn update(save: &mut Save<'_>) -> SaveResult {
    let kept: Vec<(&ConsumerRow, &ConsumerRow)> = save
        .state
        .consumers
        .values()
        .filter_map(|entry| Some((entry.base.as_ref()?, entry.now.as_ref()?)))
        .filter(|(base, now)| base != now)
        .collect();
    if kept.is_empty() {
        return Ok(());
    }
    let current: Vec<&ConsumerRow> = kept.iter().map(|(_, now)| *now).collect();
    let owner_ids = owner_ids::ensure(save, &current)?;
    let rows: Vec<Vec<Value>> = kept
        .iter()
        .map(|(base, now)| {
            let known = [Value::Int(base.id.into()), Value::Int(base.generation)];
            known.into_iter().chain(owner_ids.columns(now)).collect()
        })
        .collect();
    save.write(&GuardedWrite::Update(statements::UPDATE, rows))
}

/// Inserts new consumers, and deletes consumers without allocations.
pub fn insert_and_delete(save: &mut Save<'_>) -> SaveResult {
    let new: Vec<(&String, Option<i32>, &ConsumerRow)> = save
        .state
        .consumers
        .iter()
        .filter(|(_, entry)| entry.base.is_none())
        .filter_map(|(uuid, entry)| Some((uuid, entry.lock_row, entry.now.as_ref()?)))
        .collect();
    if !new.is_empty() {
        let current: Vec<&ConsumerRow> = new.iter().map(|(_, _, row)| *row).collect();
        let owner_ids = owner_ids::ensure(save, &current)?;
        fill_lock_rows(save, &new, &owner_ids)?;
        // On SQLite, which locks the whole file, no consumer has a lock row.
        let without_lock_row: Vec<(&String, &ConsumerRow)> = new
            .iter()
            .filter(|(_, lock_row, _)| lock_row.is_none())
            .map(|(uuid, _, row)| (*uuid, *row))
            .collect();
        for part in without_lock_row.chunks(ROWS_A_PART) {
            save.write(&insert(part.iter().copied(), &owner_ids))?;
        }
    }
    delete(save)
}

/// Fills the lock rows of new consumers.
fn fill_lock_rows(
    save: &mut Save<'_>,
    new: &[(&String, Option<i32>, &ConsumerRow)],
    owner_ids: &OwnerIds,
) -> SaveResult {
    let rows: Vec<Vec<Value>> = new
        .iter()
        .filter_map(|(_, lock_row, row)| {
            let known = [Value::Int((*lock_row)?.into())];
            Some(known.into_iter().chain(owner_ids.columns(row)).collect())
        })
        .collect();
    save.write(&GuardedWrite::Update(statements::FILL_LOCK_ROW, rows))
}

/// The new consumers of a plan, by uuid: all writers lock consumers in this order.
pub fn new_consumers(state: &State) -> impl Iterator<Item = (&String, &ConsumerRow)> {
    let new = state.consumers.iter().filter(|(_, entry)| entry.base.is_none());
    new.filter_map(|(uuid, entry)| Some((uuid, entry.now.as_ref()?)))
}

/// Inserts new consumers. Guard: the uuid is unique, so the insert fails if a consumer exists.
pub fn insert<'a>(new: impl Iterator<Item = (&'a String, &'a ConsumerRow)>, owner_ids: &OwnerIds) -> GuardedWrite {
    let rows = new.map(|(uuid, row)| {
        let uuid = [Value::Text(uuid.clone())];
        uuid.into_iter().chain(owner_ids.columns(row)).collect()
    });
    GuardedWrite::Insert(statements::INSERT, rows.collect())
}

/// Deletes consumers without allocations, and lock rows of consumers that were not created.
fn delete(save: &mut Save<'_>) -> SaveResult {
    let deleted_ids: Vec<i32> = save
        .state
        .consumers
        .values()
        .filter(|entry| entry.now.is_none())
        .filter_map(|entry| entry.base.as_ref().map(|row| row.id).or(entry.lock_row))
        .collect();
    if deleted_ids.is_empty() {
        return Ok(());
    }
    let mut deleted = 0;
    for chunk in deleted_ids.chunks(LIST_MAX) {
        deleted += diesel::delete(consumers::table.filter(consumers::id.eq_any(chunk))).execute(save.conn)?;
    }
    WriteError::unless_touched(deleted_ids.len(), deleted)
}
