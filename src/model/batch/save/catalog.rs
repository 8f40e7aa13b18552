//! Writes classes, traits and aggregates: inserts come before the rows that refer to the new ids, deletes come after.

use std::collections::HashMap;
use std::sync::Arc;

use diesel::dsl::{exists, not};
use diesel::prelude::*;

use super::{Save, SaveResult};
use crate::db::engines::dialect::{in_lists, insert_rows};
use crate::db::engines::guarded::GuardedWrite;
use crate::db::engines::rows::Value;
use crate::db::schema::{inventories, placement_aggregates, resource_classes, resource_provider_traits, traits};
use crate::db::statements::placement_aggregates as statements;
use crate::db::{DbResult, WriteError};
use crate::model::batch::entry::{Entries, changed};

/// Inserts new classes, traits and aggregates, and renames classes.
pub fn write(save: &mut Save<'_>) -> SaveResult {
    write_classes(save)?;
    write_traits(save)?;
    write_aggregates(save)
}

fn write_classes(save: &mut Save<'_>) -> SaveResult {
    use resource_classes as t;
    let mut new = Vec::new();
    for (id, entry) in changed(&save.state.classes) {
        match (&entry.base, &entry.now) {
            (None, Some(name)) => new.push((t::created_at.eq(save.now), t::id.eq(id.0), t::name.eq(name.as_ref()))),
            (Some(_), Some(now)) => {
                let renamed = diesel::update(t::table.filter(t::id.eq(id.0)))
                    .set((t::name.eq(now.as_ref()), t::updated_at.eq(save.now)))
                    .execute(save.conn)?;
                WriteError::unless_touched(1, renamed)?;
            }
            _ => {}
        }
    }
    insert_rows!(save.conn, t::table, &new)?;
    Ok(())
}

fn write_traits(save: &mut Save<'_>) -> DbResult<()> {
    use traits as t;
    let new: Vec<_> = changed(&save.state.traits)
        .filter_map(|(id, entry)| Some((*id, entry.now.as_ref()?)))
        .collect();
    if new.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = new
        .iter()
        .map(|(_, name)| (t::created_at.eq(save.now), t::name.eq(name.as_ref())))
        .collect();
    insert_rows!(save.conn, t::table, &rows)?;
    let names: Vec<&str> = new.iter().map(|(_, name)| name.as_ref()).collect();
    let found: Vec<(String, i32)> = in_lists(&names, |names| {
        t::table
            .filter(t::name.eq_any(names))
            .select((t::name, t::id))
            .load(&mut *save.conn)
    })?;
    let found: HashMap<String, i32> = found.into_iter().collect();
    let real = new
        .iter()
        .filter_map(|(id, name)| Some((id.0, *found.get(name.as_ref())?)));
    save.ids.0.extend(real);
    Ok(())
}

fn write_aggregates(save: &mut Save<'_>) -> SaveResult {
    use placement_aggregates as t;
    let new = &save.state.new_aggregates;
    if new.is_empty() {
        return Ok(());
    }
    let rows = new.values().map(|it| vec![Value::Text(it.uuid.to_string())]);
    save.write(&GuardedWrite::Insert(statements::INSERT, rows.collect()))?;
    let uuids: Vec<Option<&str>> = new.values().map(|it| Some(it.uuid.as_ref())).collect();
    let found: Vec<(Option<String>, i32)> = in_lists(&uuids, |uuids| {
        t::table
            .filter(t::uuid.eq_any(uuids))
            .select((t::uuid, t::id))
            .load(&mut *save.conn)
    })?;
    for (uuid, real) in found {
        if let Some(it) = uuid.and_then(|uuid| new.get(&save.state.base.fold(&uuid))) {
            save.ids.0.insert(it.id.0, real);
        }
    }
    Ok(())
}

/// Deletes classes and traits. Guard: only unused names are deleted, and the count is checked. A different writer may
/// have begun to use a name since the batch was decided.
pub fn delete(save: &mut Save<'_>) -> SaveResult {
    let classes: Vec<i32> = deleted_ids(&save.state.classes).map(|id| id.0).collect();
    let deleted_traits: Vec<i32> = deleted_ids(&save.state.traits).map(|id| id.0).collect();
    let mut deleted = 0;
    if !classes.is_empty() {
        use resource_classes as t;
        let users = inventories::table.filter(inventories::resource_class_id.eq(t::id));
        let unused = t::table.filter(t::id.eq_any(&classes)).filter(not(exists(users)));
        deleted += diesel::delete(unused).execute(save.conn)?;
    }
    if !deleted_traits.is_empty() {
        use traits as t;
        let users = resource_provider_traits::table.filter(resource_provider_traits::trait_id.eq(t::id));
        let unused = t::table
            .filter(t::id.eq_any(&deleted_traits))
            .filter(not(exists(users)));
        deleted += diesel::delete(unused).execute(save.conn)?;
    }
    WriteError::unless_touched(classes.len() + deleted_traits.len(), deleted)
}

fn deleted_ids<I: Copy + Ord>(names: &Entries<I, Arc<str>>) -> impl Iterator<Item = I> {
    let deleted = changed(names).filter(|(_, entry)| entry.now.is_none());
    deleted.map(|(id, _)| *id)
}
