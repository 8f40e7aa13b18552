//! Writes providers: the guard of their generations first.

use diesel::prelude::*;

use super::{Guard, Save};
use crate::db::DbResult;
use crate::db::dialect::insert_rows;
use crate::db::rows::{Rows, UpdateFromRows, Value};
use crate::db::schema::{inventories, resource_provider_aggregates, resource_provider_traits, resource_providers};
use crate::db::together::Part;
use crate::model::state::{ProviderEntry, State};
use crate::mutants::{self, Mutant};
use crate::search::{ProviderId, ProviderRow};

/// The compare-and-update that every claim rests on. The uuid too, because SQLite gives ids out again.
const MOVE: UpdateFromRows = UpdateFromRows {
    table: "resource_providers",
    columns: &["id", "uuid", "generation", "moves"],
    set: "generation = v.generation + v.moves, updated_at = {now}",
    filter: "resource_providers.id = v.id AND resource_providers.uuid = v.uuid \
             AND COALESCE(resource_providers.generation, 0) = v.generation",
};

const MOVE_UNGUARDED: UpdateFromRows = UpdateFromRows {
    filter: "resource_providers.id = v.id",
    ..MOVE
};

const RENAME: UpdateFromRows = UpdateFromRows {
    table: "resource_providers",
    columns: &["id", "name", "root", "parent"],
    set: "name = v.name, root_provider_id = v.root, parent_provider_id = v.parent, updated_at = {now}",
    filter: "resource_providers.id = v.id",
};

pub fn move_generations(save: &mut Save<'_>) -> DbResult<Guard> {
    let (statement, moved) = moves(save.state);
    Ok(Guard::expect(moved.len(), statement.run(save.conn, save.now, &moved)?))
}

/// What `move_generations` does, of claims, which move that of each provider that they name.
pub fn moved(state: &State) -> Part {
    let (statement, moved) = moves(state);
    Part::Update(statement, moved)
}

fn moves(state: &State) -> (UpdateFromRows, Rows) {
    let moved = state
        .providers
        .values()
        .filter(|entry| entry.moves > 0)
        .filter_map(|entry| {
            // A provider that was deleted after it moved is gone; one that the batch made has no row to guard yet.
            let (base, _) = (entry.base.as_ref()?, entry.now.as_ref()?);
            Some(vec![
                Value::Int(base.id.0.into()),
                Value::Key(base.uuid.to_string()),
                Value::Int(base.generation),
                Value::Int(entry.moves.into()),
            ])
        });
    let statement = if mutants::is(Mutant::SkipGuard) {
        MOVE_UNGUARDED
    } else {
        MOVE
    };
    (statement, moved.collect())
}

pub fn delete(save: &mut Save<'_>) -> DbResult<Guard> {
    let gone: Vec<&ProviderRow> = save
        .state
        .providers
        .values()
        .filter(|it| it.now.is_none())
        .filter_map(|it| it.base.as_ref())
        .collect();
    if gone.is_empty() {
        return Ok(Guard::Held);
    }
    let ids: Vec<i32> = gone.iter().map(|row| row.id.0).collect();
    diesel::delete(inventories::table.filter(inventories::resource_provider_id.eq_any(&ids))).execute(save.conn)?;
    diesel::delete(
        resource_provider_aggregates::table.filter(resource_provider_aggregates::resource_provider_id.eq_any(&ids)),
    )
    .execute(save.conn)?;
    diesel::delete(resource_provider_traits::table.filter(resource_provider_traits::resource_provider_id.eq_any(&ids)))
        .execute(save.conn)?;
    let rows = || resource_providers::table.filter(resource_providers::id.eq_any(&ids));
    // A root names itself, and to MariaDB a row that is named cannot go.
    diesel::update(rows())
        .set((
            resource_providers::root_provider_id.eq(None::<i32>),
            resource_providers::parent_provider_id.eq(None::<i32>),
        ))
        .execute(save.conn)?;
    let deleted = diesel::delete(rows()).execute(save.conn)?;
    Ok(Guard::expect(ids.len(), deleted))
}

/// Inserts new providers, and writes names and parents that changed. A root names itself, and a child may name a parent
/// of the same batch: they get their place when there are ids. A child of what was there before has its place at once,
/// and is not yet changed, as clients know it.
pub fn write(save: &mut Save<'_>) -> DbResult<Guard> {
    let new: Vec<(&ProviderRow, u32)> = save
        .state
        .providers
        .values()
        .filter(|it| it.base.is_none())
        .filter_map(|it| Some((it.now.as_ref()?, it.moves)))
        .collect();
    if !new.is_empty() {
        insert(save, &new)?;
    }
    let placed: Vec<&ProviderRow> = save.state.providers.values().filter_map(placed_anew).collect();
    let rows: Vec<Vec<Value>> = placed
        .iter()
        .map(|row| {
            vec![
                Value::Int(save.ids.provider(row.id).into()),
                Value::Text(row.name.to_string()),
                Value::Int(save.ids.provider(row.root).into()),
                Value::MaybeInt(row.parent.map(|parent| save.ids.provider(parent).into())),
            ]
        })
        .collect();
    Ok(Guard::expect(rows.len(), RENAME.run(save.conn, save.now, &rows)?))
}

fn insert(save: &mut Save<'_>, new: &[(&ProviderRow, u32)]) -> DbResult<()> {
    use resource_providers as t;
    let rows: Vec<_> = new
        .iter()
        .map(|(row, moves)| {
            let (parent, root) = place_before_batch(row).unzip();
            (
                t::created_at.eq(save.now),
                t::updated_at.eq((*moves > 0).then_some(save.now)),
                t::parent_provider_id.eq(parent),
                t::root_provider_id.eq(root),
                t::uuid.eq(row.uuid.as_ref()),
                t::name.eq(row.name.as_ref()),
                t::generation.eq(row.generation as i32),
            )
        })
        .collect();
    insert_rows!(save.conn, t::table, &rows)?;
    let uuids: Vec<&str> = new.iter().map(|(row, _)| row.uuid.as_ref()).collect();
    let found: Vec<(i32, String)> = t::table
        .filter(t::uuid.eq_any(&uuids))
        .select((t::id, t::uuid))
        .load(save.conn)?;
    for (row, _) in new {
        if let Some((id, _)) = found.iter().find(|(_, uuid)| uuid.as_str() == row.uuid.as_ref()) {
            save.ids.providers.insert(row.id, *id);
        }
    }
    Ok(())
}

/// The ids of a provider's parent and root, where both were there before the batch.
fn place_before_batch(row: &ProviderRow) -> Option<(i32, i32)> {
    let (parent, root) = (row.parent?.0, row.root.0);
    (parent > 0 && root > 0).then_some((parent, root))
}

/// The row of a provider whose name or place in a tree must be written.
fn placed_anew(entry: &ProviderEntry) -> Option<&ProviderRow> {
    let now = entry.now.as_ref()?;
    match &entry.base {
        None => place_before_batch(now).is_none().then_some(now),
        Some(base) => (base.name != now.name || base.parent != now.parent || base.root != now.root).then_some(now),
    }
}

/// Providers that live on or are new, with what they were: for the tables that hang on them.
pub fn living<'a>(save: &Save<'a>) -> impl Iterator<Item = (ProviderId, Option<&'a ProviderRow>, &'a ProviderRow)> {
    save.state
        .providers
        .iter()
        .filter_map(|(id, entry)| Some((*id, entry.base.as_ref(), entry.now.as_ref()?)))
}
