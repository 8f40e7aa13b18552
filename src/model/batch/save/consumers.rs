//! Writes consumers. The guard of an update is the consumer's generation, as it is for a provider.

use diesel::prelude::*;

use super::owner_ids::OwnerIds;
use super::{GuardOutcome, Save, owner_ids};
use crate::db::DbResult;
use crate::db::engines::dialect::{LIST_MAX, insert_rows};
use crate::db::engines::guarded::GuardedWrite;
use crate::db::engines::rows::Value;
use crate::db::schema::consumers;
use crate::db::statements::consumers as statements;
use crate::model::batch::state::{ConsumerRow, State};

/// Updates consumers that existed before the batch and still do.
pub fn update(save: &mut Save<'_>) -> DbResult<GuardOutcome> {
    let kept: Vec<(&ConsumerRow, &ConsumerRow)> = save
        .state
        .consumers
        .values()
        .filter_map(|entry| Some((entry.base.as_ref()?, entry.now.as_ref()?)))
        .filter(|(base, now)| base != now)
        .collect();
    if kept.is_empty() {
        return Ok(GuardOutcome::Held);
    }
    let current: Vec<&ConsumerRow> = kept.iter().map(|(_, now)| *now).collect();
    let owner_ids = owner_ids::ensure(save, &current)?;
    let rows: Vec<Vec<Value>> = kept
        .iter()
        .map(|(base, now)| {
            vec![
                Value::Int(base.id.into()),
                Value::Int(base.generation),
                Value::Int(now.generation),
                Value::Int(owner_ids.project(now).into()),
                Value::Int(owner_ids.user(now).into()),
                Value::MaybeInt(owner_ids.consumer_type(now).map(Into::into)),
            ]
        })
        .collect();
    Ok(GuardOutcome::expect(
        rows.len(),
        statements::UPDATE.run(save.conn, save.now, &rows)?,
    ))
}

/// Inserts new consumers, and deletes those that have no allocations any more.
pub fn insert_and_delete(save: &mut Save<'_>) -> DbResult<GuardOutcome> {
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
        if fill_lock_rows(save, &new, &owner_ids)? == GuardOutcome::Failed {
            return Ok(GuardOutcome::Failed);
        }
        insert(save, &new, &owner_ids)?;
    }
    delete(save)
}

/// Turns the lock rows of new consumers into their rows.
fn fill_lock_rows(
    save: &mut Save<'_>,
    new: &[(&String, Option<i32>, &ConsumerRow)],
    owner_ids: &OwnerIds,
) -> DbResult<GuardOutcome> {
    let rows: Vec<Vec<Value>> = new
        .iter()
        .filter_map(|(_, lock_row, row)| {
            Some(vec![
                Value::Int((*lock_row)?.into()),
                Value::Int(row.generation),
                Value::Int(owner_ids.project(row).into()),
                Value::Int(owner_ids.user(row).into()),
                Value::MaybeInt(owner_ids.consumer_type(row).map(Into::into)),
            ])
        })
        .collect();
    Ok(GuardOutcome::expect(
        rows.len(),
        statements::FILL_LOCK_ROW.run(save.conn, save.now, &rows)?,
    ))
}

/// Inserts new consumers that have no lock row. On SQLite, which locks the whole file, no consumer has one.
fn insert(save: &mut Save<'_>, new: &[(&String, Option<i32>, &ConsumerRow)], owner_ids: &OwnerIds) -> DbResult<()> {
    use consumers as t;
    let rows: Vec<_> = new
        .iter()
        .filter(|(_, lock_row, _)| lock_row.is_none())
        .map(|(uuid, _, row)| {
            (
                t::created_at.eq(save.now),
                t::uuid.eq(uuid.as_str()),
                t::project_id.eq(owner_ids.project(row)),
                t::user_id.eq(owner_ids.user(row)),
                t::generation.eq(row.generation as i32),
                t::consumer_type_id.eq(owner_ids.consumer_type(row)),
            )
        })
        .collect();
    insert_rows!(save.conn, t::table, &rows)?;
    Ok(())
}

/// Inserts the new consumers of a plan, in the order in which all writers lock consumers: by uuid.
pub fn planned_insert(state: &State, owner_ids: &OwnerIds) -> GuardedWrite {
    let new = state
        .consumers
        .iter()
        .filter_map(|(uuid, entry)| Some((uuid, entry.now.as_ref()?)));
    let rows = new.map(|(uuid, row)| {
        vec![
            Value::Text(uuid.clone()),
            Value::Int(owner_ids.project(row).into()),
            Value::Int(owner_ids.user(row).into()),
            Value::Int(row.generation),
            Value::MaybeInt(owner_ids.consumer_type(row).map(Into::into)),
        ]
    });
    GuardedWrite::Insert(statements::INSERT, rows.collect())
}

/// Deletes consumers without allocations, and lock rows of consumers that were not created.
fn delete(save: &mut Save<'_>) -> DbResult<GuardOutcome> {
    let deleted_ids: Vec<i32> = save
        .state
        .consumers
        .values()
        .filter(|entry| entry.now.is_none())
        .filter_map(|entry| entry.base.as_ref().map(|row| row.id).or(entry.lock_row))
        .collect();
    if deleted_ids.is_empty() {
        return Ok(GuardOutcome::Held);
    }
    let mut deleted = 0;
    for chunk in deleted_ids.chunks(LIST_MAX) {
        deleted += diesel::delete(consumers::table.filter(consumers::id.eq_any(chunk))).execute(save.conn)?;
    }
    Ok(GuardOutcome::expect(deleted_ids.len(), deleted))
}
