//! Writes providers. Generations come first, because they guard all decisions about the providers.

use diesel::prelude::*;

use super::{Save, SaveResult};
use crate::db::engines::dialect::insert_rows;
use crate::db::engines::guarded::GuardedWrite;
use crate::db::engines::rows::Value;
use crate::db::schema::{
    inventories, placet_descriptions, resource_provider_aggregates, resource_provider_traits, resource_providers,
};
use crate::db::statements::resource_providers as statements;
use crate::db::{DbResult, WriteError};
use crate::model::batch::state::{ProviderEntry, State};
use crate::mutants::{self, Mutant};
use crate::search::ProviderRow;

/// Moves generations. Guard: each row still has the generation of the batch's read. Every planned command moves the
/// generations of all its providers, so in a plan all providers are guarded.
pub fn move_generations(state: &State) -> GuardedWrite {
    let moved = state
        .providers
        .values()
        .filter(|entry| entry.moves > 0)
        .filter_map(|entry| {
            // A deleted provider has no generation any more, and a new provider has no row to guard yet.
            let (base, _) = (entry.base.as_ref()?, entry.now.as_ref()?);
            Some(vec![
                Value::Int(base.id.0.into()),
                Value::Key(base.uuid.to_string()),
                Value::Int(base.generation),
                Value::Int(entry.moves.into()),
            ])
        });
    let statement = if mutants::is(Mutant::SkipGuard) {
        statements::RAISE_GENERATION_UNGUARDED
    } else {
        statements::RAISE_GENERATION
    };
    GuardedWrite::Update(statement, moved.collect())
}

/// Deletes providers with their inventories, aggregates and traits.
pub fn delete(save: &mut Save<'_>) -> SaveResult {
    let providers = save.state.providers.values().filter(|entry| entry.now.is_none());
    let ids = providers.filter_map(|entry| entry.base.as_ref().map(|row| row.id.0));
    let ids: Vec<i32> = ids.collect();
    if ids.is_empty() {
        return Ok(());
    }
    diesel::delete(inventories::table.filter(inventories::resource_provider_id.eq_any(&ids))).execute(save.conn)?;
    diesel::delete(
        resource_provider_aggregates::table.filter(resource_provider_aggregates::resource_provider_id.eq_any(&ids)),
    )
    .execute(save.conn)?;
    diesel::delete(resource_provider_traits::table.filter(resource_provider_traits::resource_provider_id.eq_any(&ids)))
        .execute(save.conn)?;
    diesel::delete(placet_descriptions::table.filter(placet_descriptions::resource_provider_id.eq_any(&ids)))
        .execute(save.conn)?;
    let rows = || resource_providers::table.filter(resource_providers::id.eq_any(&ids));
    // A root refers to itself, and MariaDB does not delete a row with references.
    diesel::update(rows())
        .set((
            resource_providers::root_provider_id.eq(None::<i32>),
            resource_providers::parent_provider_id.eq(None::<i32>),
        ))
        .execute(save.conn)?;
    let deleted = diesel::delete(rows()).execute(save.conn)?;
    WriteError::unless_touched(ids.len(), deleted)
}

/// Inserts new providers, and updates changed names and parents.
///
/// A new root refers to itself, and a new child may refer to a parent of the same batch. An update sets their parent
/// and root, when the ids are known. A child of older providers is inserted with both, and gets no `updated_at`: to
/// clients the child has not changed yet.
pub fn write(save: &mut Save<'_>) -> SaveResult {
    let new: Vec<(&ProviderRow, u32)> = save
        .state
        .providers
        .values()
        .filter(|entry| entry.base.is_none())
        .filter_map(|entry| Some((entry.now.as_ref()?, entry.moves)))
        .collect();
    if !new.is_empty() {
        insert(save, &new)?;
    }
    let to_update: Vec<&ProviderRow> = save.state.providers.values().filter_map(row_to_update).collect();
    let rows: Vec<Vec<Value>> = to_update
        .iter()
        .map(|row| {
            vec![
                Value::Int(save.ids.real(row.id.0).into()),
                Value::Text(row.name.to_string()),
                Value::Int(save.ids.real(row.root.0).into()),
                Value::MaybeInt(row.parent.map(|parent| save.ids.real(parent.0).into())),
            ]
        })
        .collect();
    save.write(&GuardedWrite::Update(statements::RENAME, rows))
}

fn insert(save: &mut Save<'_>, new: &[(&ProviderRow, u32)]) -> DbResult<()> {
    use resource_providers as t;
    let rows: Vec<_> = new
        .iter()
        .map(|(row, moves)| {
            let (parent, root) = parent_and_root_at_insert(row).unzip();
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
            save.ids.0.insert(row.id.0, *id);
        }
    }
    Ok(())
}

/// The ids of a new provider's parent and root, if both existed before the batch.
fn parent_and_root_at_insert(row: &ProviderRow) -> Option<(i32, i32)> {
    let (parent, root) = (row.parent?.0, row.root.0);
    (parent > 0 && root > 0).then_some((parent, root))
}

/// The provider's row, if the name, parent or root needs an update.
fn row_to_update(entry: &ProviderEntry) -> Option<&ProviderRow> {
    let now = entry.now.as_ref()?;
    match &entry.base {
        None => parent_and_root_at_insert(now).is_none().then_some(now),
        Some(base) => (base.name != now.name || base.parent != now.parent || base.root != now.root).then_some(now),
    }
}
