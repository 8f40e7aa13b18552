//! Writes classes, traits and aggregates: new ones before what names them, deleted ones after.

use std::collections::HashMap;

use diesel::dsl::{exists, not};
use diesel::prelude::*;

use super::{Guard, Save};
use crate::db::DbResult;
use crate::db::dialect::{in_lists, insert_rows};
use crate::db::schema::{inventories, placement_aggregates, resource_classes, resource_provider_traits, traits};
use crate::model::state::NameEntry;

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
    let found: Vec<(String, i32)> = in_lists(&names, |names| {
        t::table
            .filter(t::name.eq_any(names))
            .select((t::name, t::id))
            .load(&mut *save.conn)
    })?;
    let found: HashMap<String, i32> = found.into_iter().collect();
    let real = new
        .iter()
        .filter_map(|(id, name)| Some((*id, *found.get(name.as_ref())?)));
    save.ids.traits.extend(real);
    Ok(())
}

fn write_aggregates(save: &mut Save<'_>) -> DbResult<()> {
    use placement_aggregates as t;
    let new = &save.state.new_aggregates;
    if new.is_empty() {
        return Ok(());
    }
    let rows: Vec<_> = new
        .keys()
        .map(|uuid| (t::created_at.eq(save.now), t::uuid.eq(uuid.as_ref())))
        .collect();
    insert_rows!(save.conn, t::table, &rows)?;
    let uuids: Vec<Option<&str>> = new.keys().map(|uuid| Some(uuid.as_ref())).collect();
    let found: Vec<(Option<String>, i32)> = in_lists(&uuids, |uuids| {
        t::table
            .filter(t::uuid.eq_any(uuids))
            .select((t::uuid, t::id))
            .load(&mut *save.conn)
    })?;
    for (uuid, real) in found {
        if let Some(id) = uuid.and_then(|uuid| new.get(uuid.as_str())) {
            save.ids.aggregates.insert(*id, real);
        }
    }
    Ok(())
}

/// Deletes classes and traits that the batch deleted, where nothing uses them: that was read under the writer's lock,
/// and the count says whether it still holds.
pub fn delete(save: &mut Save<'_>) -> DbResult<Guard> {
    let gone = |entry: &NameEntry| entry.base.is_some() && entry.now.is_none();
    let classes = save.state.classes.iter().filter(|(_, it)| gone(it)).map(|(id, _)| id.0);
    let classes: Vec<i32> = classes.collect();
    let mut deleted = 0;
    if !classes.is_empty() {
        use resource_classes as t;
        let users = inventories::table.filter(inventories::resource_class_id.eq(t::id));
        let unused = t::table.filter(t::id.eq_any(&classes)).filter(not(exists(users)));
        deleted += diesel::delete(unused).execute(save.conn)?;
    }
    let going = save.state.traits.iter().filter(|(_, it)| gone(it)).map(|(id, _)| id.0);
    let going: Vec<i32> = going.collect();
    if !going.is_empty() {
        use traits as t;
        let users = resource_provider_traits::table.filter(resource_provider_traits::trait_id.eq(t::id));
        let unused = t::table.filter(t::id.eq_any(&going)).filter(not(exists(users)));
        deleted += diesel::delete(unused).execute(save.conn)?;
    }
    Ok(Guard::expect(classes.len() + going.len(), deleted))
}
