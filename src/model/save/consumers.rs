//! Writes consumers. Their generation guards them, as a provider's guards it.

use diesel::prelude::*;

use super::owners::Owners;
use super::{Guard, Save, owners};
use crate::db::DbResult;
use crate::db::dialect::{LIST_MAX, insert_rows};
use crate::db::rows::{InsertFromRows, UpdateFromRows, Value};
use crate::db::schema::consumers;
use crate::db::together::Part;
use crate::model::state::{ConsumerRow, State};

const UPDATE: UpdateFromRows = UpdateFromRows {
    table: "consumers",
    columns: &[
        "id",
        "generation_was",
        "generation_is",
        "project_id",
        "user_id",
        "type_id",
    ],
    set: "generation = v.generation_is, project_id = v.project_id, user_id = v.user_id, consumer_type_id = v.type_id, \
          updated_at = {now}",
    filter: "consumers.id = v.id AND consumers.generation = v.generation_was",
};

/// A new consumer's row, where one was made already to lock it.
const SETTLE: UpdateFromRows = UpdateFromRows {
    table: "consumers",
    columns: &["id", "generation_is", "project_id", "user_id", "type_id"],
    set: "generation = v.generation_is, project_id = v.project_id, user_id = v.user_id, consumer_type_id = v.type_id, \
          created_at = {now}",
    filter: "consumers.id = v.id",
};

const INSERT: InsertFromRows = InsertFromRows {
    table: "consumers",
    columns: &["uuid", "project_id", "user_id", "generation", "consumer_type_id"],
};

/// Consumers that were there and stay.
pub fn update(save: &mut Save<'_>) -> DbResult<Guard> {
    let kept: Vec<(&ConsumerRow, &ConsumerRow)> = save
        .state
        .consumers
        .values()
        .filter_map(|entry| Some((entry.base.as_ref()?, entry.now.as_ref()?)))
        .filter(|(base, now)| base != now)
        .collect();
    if kept.is_empty() {
        return Ok(Guard::Held);
    }
    let named: Vec<&ConsumerRow> = kept.iter().map(|(_, now)| *now).collect();
    let owners = owners::ensure(save, &named)?;
    let rows: Vec<Vec<Value>> = kept
        .iter()
        .map(|(base, now)| {
            vec![
                Value::Int(base.id.into()),
                Value::Int(base.generation),
                Value::Int(now.generation),
                Value::Int(owners.project(now).into()),
                Value::Int(owners.user(now).into()),
                Value::MaybeInt(owners.consumer_type(now).map(Into::into)),
            ]
        })
        .collect();
    Ok(Guard::expect(rows.len(), UPDATE.run(save.conn, save.now, &rows)?))
}

/// New consumers come, and those without allocations go.
pub fn insert_and_delete(save: &mut Save<'_>) -> DbResult<Guard> {
    let new: Vec<(&String, Option<i32>, &ConsumerRow)> = save
        .state
        .consumers
        .iter()
        .filter(|(_, entry)| entry.base.is_none())
        .filter_map(|(uuid, entry)| Some((uuid, entry.lock_row, entry.now.as_ref()?)))
        .collect();
    if !new.is_empty() {
        let named: Vec<&ConsumerRow> = new.iter().map(|(_, _, row)| *row).collect();
        let owners = owners::ensure(save, &named)?;
        if settle(save, &new, &owners)? == Guard::Lost {
            return Ok(Guard::Lost);
        }
        insert(save, &new, &owners)?;
    }
    delete(save)
}

/// Makes the rows that locked new consumers theirs.
fn settle(save: &mut Save<'_>, new: &[(&String, Option<i32>, &ConsumerRow)], owners: &Owners) -> DbResult<Guard> {
    let rows: Vec<Vec<Value>> = new
        .iter()
        .filter_map(|(_, lock_row, row)| {
            Some(vec![
                Value::Int((*lock_row)?.into()),
                Value::Int(row.generation),
                Value::Int(owners.project(row).into()),
                Value::Int(owners.user(row).into()),
                Value::MaybeInt(owners.consumer_type(row).map(Into::into)),
            ])
        })
        .collect();
    Ok(Guard::expect(rows.len(), SETTLE.run(save.conn, save.now, &rows)?))
}

/// Inserts those that have no such row: all of them on SQLite, where the whole file is locked.
fn insert(save: &mut Save<'_>, new: &[(&String, Option<i32>, &ConsumerRow)], owners: &Owners) -> DbResult<()> {
    use consumers as t;
    let rows: Vec<_> = new
        .iter()
        .filter(|(_, lock_row, _)| lock_row.is_none())
        .map(|(uuid, _, row)| {
            (
                t::created_at.eq(save.now),
                t::uuid.eq(uuid.as_str()),
                t::project_id.eq(owners.project(row)),
                t::user_id.eq(owners.user(row)),
                t::generation.eq(row.generation as i32),
                t::consumer_type_id.eq(owners.consumer_type(row)),
            )
        })
        .collect();
    insert_rows!(save.conn, t::table, &rows)?;
    Ok(())
}

/// New consumers whose owners and types are known, in the order in which consumers are locked everywhere.
pub fn inserted(state: &State, owners: &Owners) -> Part {
    let new = state
        .consumers
        .iter()
        .filter_map(|(uuid, entry)| Some((uuid, entry.now.as_ref()?)));
    let rows = new.map(|(uuid, row)| {
        vec![
            Value::Text(uuid.clone()),
            Value::Int(owners.project(row).into()),
            Value::Int(owners.user(row).into()),
            Value::Int(row.generation),
            Value::MaybeInt(owners.consumer_type(row).map(Into::into)),
        ]
    });
    Part::Insert(INSERT, rows.collect())
}

fn delete(save: &mut Save<'_>) -> DbResult<Guard> {
    let gone: Vec<i32> = save
        .state
        .consumers
        .values()
        .filter(|entry| entry.now.is_none())
        .filter_map(|entry| entry.base.as_ref().map(|row| row.id).or(entry.lock_row))
        .collect();
    if gone.is_empty() {
        return Ok(Guard::Held);
    }
    let mut deleted = 0;
    for chunk in gone.chunks(LIST_MAX) {
        deleted += diesel::delete(consumers::table.filter(consumers::id.eq_any(chunk))).execute(save.conn)?;
    }
    Ok(Guard::expect(gone.len(), deleted))
}
