//! Writes workloads and their replicas.

use std::collections::BTreeSet;

use diesel::prelude::*;

use super::{Save, SaveResult};
use crate::db::WriteError;
use crate::db::engines::dialect::LIST_MAX;
use crate::db::engines::guarded::GuardedWrite;
use crate::db::engines::rows::Value;
use crate::db::schema::{placet_neighbours as neighbours, placet_replicas as replicas, placet_workloads as t};
use crate::db::statements::workloads as statements;
use crate::model::batch::entry::{Entries, Entry, changed};
use crate::model::batch::own_rows::WorkloadRows;
use crate::model::workloads::{Incarnation, ReplicaRow, WorkloadRow};

/// The uuid of a workload, and the rows.
type Changed<'a> = (&'a String, &'a Entry<WorkloadRows>);

/// Inserts, replaces or deletes workloads. Guard: the generation that the batch was decided on, and the count of
/// changes by workloads whose rules name this workload. A new workload is guarded by the primary key and the name. The
/// workload's row guards replicas and neighbours.
pub fn write(save: &mut Save<'_>) -> SaveResult {
    let changed: Vec<Changed<'_>> = changed(&save.state.own.workloads).collect();
    for (uuid, entry) in &changed {
        match (&entry.base, &entry.now) {
            (Some(base), Some(now)) if is_only_named(base, now) => {
                note_named(save, &base.row, now.row.named - base.row.named)?;
            }
            (Some(base), now) => replace(save, uuid, &base.row, now.as_ref().map(|now| &now.row))?,
            (None, _) => {}
        }
    }
    delete_replicas(save, &changed)?;
    write_neighbours(save, &changed)?;
    for write in insert(&save.state.own.workloads) {
        save.write(&write)?;
    }
    Ok(())
}

/// Inserts new workloads, and new or changed replicas. The old rows must be gone.
pub fn insert(workloads: &Entries<String, WorkloadRows>) -> [GuardedWrite; 2] {
    let new = changed(workloads).filter(|(_, entry)| entry.base.is_none());
    let new = new.filter_map(|(_, entry)| entry.now.as_ref());
    let rows = new.map(|WorkloadRows { row, .. }| {
        vec![
            Value::Text(row.uuid.clone()),
            Value::Text(row.project.clone()),
            Value::Text(row.name.clone()),
            Value::Text(row.user.clone()),
            Value::Int(row.generation),
            Value::Int(row.revision),
            Value::Text(row.body.to_string()),
            Value::Int(row.named),
        ]
    });
    let rows = rows.collect();
    let added = changed(workloads).flat_map(|(uuid, entry)| {
        let added = differing(replicas_of(&entry.now), replicas_of(&entry.base));
        added.map(move |replica| replica_values(uuid, replica))
    });
    [
        GuardedWrite::Insert(statements::INSERT, rows),
        GuardedWrite::Insert(statements::INSERT_REPLICAS, added.collect()),
    ]
}

/// Whether workloads whose rules name this workload changed, and the workload itself did not.
fn is_only_named(base: &WorkloadRows, now: &WorkloadRows) -> bool {
    let named = now.row.named;
    let base = WorkloadRows {
        row: WorkloadRow {
            named,
            ..base.row.clone()
        },
        ..base.clone()
    };
    base == *now
}

/// Guard: the generation and the incarnation. Two workloads whose rules name this workload do not see each other. The
/// row is written and not only locked, because on Galera a lock holds on a single node.
fn note_named(save: &mut Save<'_>, base: &WorkloadRow, times: i64) -> SaveResult {
    let (first, last) = Incarnation::of(base.named).range();
    let known = t::table
        .filter(t::uuid.eq(&base.uuid))
        .filter(t::generation.eq(base.generation))
        .filter(t::named.between(first, last));
    let written = diesel::update(known)
        .set(t::named.eq(t::named + times))
        .execute(save.conn)?;
    WriteError::unless_touched(1, written)
}

/// Replaces the neighbours of workloads, if the neighbours changed.
fn write_neighbours(save: &mut Save<'_>, changed: &[Changed<'_>]) -> SaveResult {
    let none = BTreeSet::new();
    let of = |rows: &'_ Option<WorkloadRows>| rows.as_ref().map_or(none.clone(), |rows| rows.neighbours.clone());
    let moved = changed
        .iter()
        .map(|(uuid, entry)| (*uuid, of(&entry.base), of(&entry.now)));
    let moved: Vec<_> = moved.filter(|(_, base, now)| base != now).collect();
    let old: Vec<&str> = moved
        .iter()
        .filter(|(_, base, _)| !base.is_empty())
        .map(|(uuid, ..)| uuid.as_str())
        .collect();
    let mut deleted = 0;
    for chunk in old.chunks(LIST_MAX) {
        deleted += diesel::delete(neighbours::table.filter(neighbours::workload.eq_any(chunk))).execute(save.conn)?;
    }
    WriteError::unless_touched(moved.iter().map(|(_, base, _)| base.len()).sum(), deleted)?;
    let rows = moved.iter().flat_map(|(uuid, _, now)| {
        now.iter()
            .map(|neighbour| vec![Value::Text((*uuid).clone()), Value::Text(neighbour.clone())])
    });
    save.write(&GuardedWrite::Insert(statements::INSERT_NEIGHBOURS, rows.collect()))
}

fn replace(save: &mut Save<'_>, uuid: &str, base: &WorkloadRow, now: Option<&WorkloadRow>) -> SaveResult {
    let known = t::table
        .filter(t::uuid.eq(uuid))
        .filter(t::generation.eq(base.generation))
        .filter(t::named.eq(base.named));
    let written = match now {
        Some(row) => diesel::update(known)
            .set((
                t::project_id.eq(&row.project),
                t::name.eq(&row.name),
                t::user_id.eq(&row.user),
                t::updated_at.eq(save.now),
                t::generation.eq(row.generation),
                t::revision.eq(row.revision),
                t::body.eq(&*row.body),
                t::named.eq(row.named),
            ))
            .execute(save.conn)?,
        None => diesel::delete(known).execute(save.conn)?,
    };
    WriteError::unless_touched(1, written)
}

/// Deletes the rows of replicas that left or changed.
fn delete_replicas(save: &mut Save<'_>, changed: &[Changed<'_>]) -> SaveResult {
    let gone: Vec<&str> = changed
        .iter()
        .flat_map(|(_, entry)| differing(replicas_of(&entry.base), replicas_of(&entry.now)))
        .map(|replica| replica.consumer.as_str())
        .collect();
    let mut deleted = 0;
    for chunk in gone.chunks(LIST_MAX) {
        deleted += diesel::delete(replicas::table.filter(replicas::consumer_id.eq_any(chunk))).execute(save.conn)?;
    }
    WriteError::unless_touched(gone.len(), deleted)
}

fn replicas_of(rows: &Option<WorkloadRows>) -> &[ReplicaRow] {
    rows.as_ref().map_or(&[], |rows| &rows.replicas)
}

/// The `rows` without an equal row among `others`.
fn differing<'a>(rows: &'a [ReplicaRow], others: &'a [ReplicaRow]) -> impl Iterator<Item = &'a ReplicaRow> {
    let known: std::collections::HashMap<&str, &ReplicaRow> =
        others.iter().map(|row| (row.consumer.as_str(), row)).collect();
    rows.iter()
        .filter(move |row| known.get(row.consumer.as_str()) != Some(row))
}

fn replica_values(workload: &str, replica: &ReplicaRow) -> Vec<Value> {
    vec![
        Value::Text(replica.consumer.clone()),
        Value::Text(workload.to_owned()),
        Value::Text(replica.id.clone()),
        Value::Text(replica.role.clone()),
        Value::Int(replica.revision),
        Value::Int(replica.is_adopted.into()),
    ]
}
