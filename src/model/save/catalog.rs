//! Writes classes, traits and aggregates: new ones before what names them, deleted ones after.

use diesel::prelude::*;

use super::{Guard, Save};
use crate::db::DbResult;
use crate::db::dialect::insert_rows;
use crate::db::schema::{placement_aggregates, resource_classes, traits};

pub fn write(save: &mut Save<'_>) -> DbResult<Guard> {
    if write_classes(save)? == Guard::Lost {
        return Ok(Guard::Lost);
    }
    write_traits(save)?;
    write_aggregates(save)?;
    Ok(Guard::Held)
}

fn write_classes(save: &mut Save<'_>) -> DbResult<Guard> {
    use resource_classes as t;
    let mut new = Vec::new();
    for (id, entry) in &save.state.classes {
        match (&entry.base, &entry.now) {
            (None, Some(name)) => new.push((t::created_at.eq(save.now), t::id.eq(id.0), t::name.eq(name.as_ref()))),
            (Some(base), Some(now)) if base != now => {
                let renamed = diesel::update(t::table.filter(t::id.eq(id.0)))
                    .set((t::name.eq(now.as_ref()), t::updated_at.eq(save.now)))
                    .execute(save.conn)?;
                if renamed != 1 {
                    return Ok(Guard::Lost);
                }
            }
            _ => {}
        }
    }
    insert_rows!(save.conn, t::table, &new)?;
    Ok(Guard::Held)
}

fn write_traits(save: &mut Save<'_>) -> DbResult<()> {
    use traits as t;
    let new: Vec<_> = save
        .state
        .traits
        .iter()
        .filter(|(id, _)| id.0 < 0)
        .filter_map(|(id, it)| Some((*id, it.now.as_ref()?)))
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
    let found: Vec<(i32, String)> = t::table
        .filter(t::name.eq_any(&names))
        .select((t::id, t::name))
        .load(save.conn)?;
    for (id, name) in new {
        if let Some((real, _)) = found.iter().find(|(_, known)| known.as_str() == name.as_ref()) {
            save.ids.traits.insert(id, *real);
        }
    }
    Ok(())
}

fn write_aggregates(save: &mut Save<'_>) -> DbResult<()> {
    use placement_aggregates as t;
    let new = &save.state.new_aggregates;
    if new.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = new
        .values()
        .map(|uuid| (t::created_at.eq(save.now), t::uuid.eq(uuid.as_ref())))
        .collect();
    insert_rows!(save.conn, t::table, &rows)?;
    let uuids: Vec<Option<&str>> = new.values().map(|uuid| Some(uuid.as_ref())).collect();
    let found: Vec<(i32, Option<String>)> = t::table
        .filter(t::uuid.eq_any(&uuids))
        .select((t::id, t::uuid))
        .load(save.conn)?;
    for (id, uuid) in new {
        if let Some((real, _)) = found.iter().find(|(_, known)| known.as_deref() == Some(uuid.as_ref())) {
            save.ids.aggregates.insert(*id, *real);
        }
    }
    Ok(())
}

/// Deletes classes and traits that the batch deleted. That nothing uses them was read under the writer's lock.
pub fn delete(save: &mut Save<'_>) -> DbResult<()> {
    let gone = |entry: &crate::model::state::NameEntry| entry.base.is_some() && entry.now.is_none();
    let classes: Vec<i32> = save
        .state
        .classes
        .iter()
        .filter(|(_, it)| gone(it))
        .map(|(id, _)| id.0)
        .collect();
    if !classes.is_empty() {
        diesel::delete(resource_classes::table.filter(resource_classes::id.eq_any(&classes))).execute(save.conn)?;
    }
    let traits: Vec<i32> = save
        .state
        .traits
        .iter()
        .filter(|(_, it)| gone(it))
        .map(|(id, _)| id.0)
        .collect();
    if !traits.is_empty() {
        diesel::delete(traits::table.filter(traits::id.eq_any(&traits))).execute(save.conn)?;
    }
    Ok(())
}
