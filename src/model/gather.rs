//! Reads what the commands of a batch name: consumers always, providers where the snapshot is not enough.
//!
//! All of it in the batch's own transaction and in a number of statements that does not depend on how many commands
//! there are.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::Moment;
use super::base::Rows;
use super::load;
use super::named::Named;
use super::state::{ConsumerEntry, ConsumerRow, HeldRow};
use crate::db::dialect::in_lists;
use crate::db::schema::{
    allocations, consumer_types, consumers, inventories, projects, resource_classes, resource_provider_traits,
    resource_providers, traits, users,
};
use crate::db::{DbConnection, DbResult};
use crate::search::{Catalog, ClassId, ProviderId, TraitId};

type ConsumerColumns = (i32, String, i32, String, String, Option<String>);

/// The named consumers with what they have: the rows by consumer uuid, even where the consumer's own row is missing.
pub fn consumers(conn: &mut DbConnection, named: &Named<'_>) -> DbResult<BTreeMap<String, ConsumerEntry>> {
    let uuids: Vec<&str> = named.consumers.iter().copied().collect();
    let mut found: BTreeMap<String, ConsumerEntry> = BTreeMap::new();
    let rows: Vec<ConsumerColumns> = in_lists(&uuids, |uuids| {
        consumers::table
            .inner_join(projects::table.on(projects::id.eq(consumers::project_id)))
            .inner_join(users::table.on(users::id.eq(consumers::user_id)))
            .left_join(consumer_types::table.on(consumers::consumer_type_id.eq(consumer_types::id.nullable())))
            .filter(consumers::uuid.eq_any(uuids))
            .select((
                consumers::id,
                consumers::uuid,
                consumers::generation,
                projects::external_id,
                users::external_id,
                consumer_types::name.nullable(),
            ))
            .load(&mut *conn)
    })?;
    for (id, uuid, generation, project, user, consumer_type) in rows {
        let row = ConsumerRow {
            id,
            generation: generation.into(),
            project,
            user,
            consumer_type,
        };
        found.insert(
            uuid,
            ConsumerEntry {
                base: Some(row.clone()),
                now: Some(row),
                ..Default::default()
            },
        );
    }
    hold(conn, &uuids, &mut found)?;
    Ok(found)
}

/// Adds what the consumers hold.
fn hold(conn: &mut DbConnection, uuids: &[&str], found: &mut BTreeMap<String, ConsumerEntry>) -> DbResult<()> {
    use allocations as t;
    let rows: Vec<(i32, String, i32, i32, i32)> = in_lists(uuids, |uuids| {
        t::table
            .filter(t::consumer_id.eq_any(uuids))
            .order(t::id)
            .select((
                t::id,
                t::consumer_id,
                t::resource_provider_id,
                t::resource_class_id,
                t::used,
            ))
            .load(&mut *conn)
    })?;
    for (id, uuid, provider, class, used) in rows {
        let row = HeldRow {
            id,
            provider: ProviderId(provider),
            class: ClassId(class),
            used: used.into(),
        };
        let entry = found.entry(uuid).or_default();
        entry.held.push(row);
        entry.allocations.push((row.provider, row.class, row.used));
    }
    Ok(())
}

/// The named providers and those that the named consumers hold something of, as the batch's own transaction sees them;
/// whole trees only where a command needs them.
pub fn rows(
    conn: &mut DbConnection,
    named: &Named<'_>,
    consumers: &BTreeMap<String, ConsumerEntry>,
    known: &Catalog,
) -> DbResult<Rows> {
    use resource_providers as t;
    let mut ids: BTreeSet<i32> = consumers
        .values()
        .flat_map(|entry| &entry.held)
        .map(|row| row.provider.0)
        .collect();
    let uuids: Vec<&str> = named.providers.iter().copied().collect();
    let found: Vec<(i32, Option<i32>, String)> = in_lists(&uuids, |uuids| {
        t::table
            .filter(t::uuid.eq_any(uuids))
            .select((t::id, t::root_provider_id, t::uuid))
            .load(&mut *conn)
    })?;
    let mut roots: BTreeSet<Option<i32>> = BTreeSet::new();
    for (id, root, uuid) in &found {
        ids.insert(*id);
        if named.parents.contains(uuid.as_str()) {
            ids.extend(root);
        }
        if named.trees.contains(uuid.as_str()) {
            roots.insert(*root);
        }
    }
    let names: Vec<&str> = named.names.iter().copied().collect();
    ids.extend::<Vec<i32>>(in_lists(&names, |names| {
        t::table.filter(t::name.eq_any(names)).select(t::id).load(&mut *conn)
    })?);
    let roots: Vec<Option<i32>> = roots.into_iter().collect();
    ids.extend::<Vec<i32>>(in_lists(&roots, |roots| {
        t::table
            .filter(t::root_provider_id.eq_any(roots))
            .select(t::id)
            .load(&mut *conn)
    })?);
    let catalog = if named.beyond_claims || named.classes.iter().any(|name| known.class_id(name).is_none()) {
        load::catalog(conn)?
    } else {
        known.clone()
    };
    let ids: Vec<i32> = ids.into_iter().collect();
    Ok(Rows::new(catalog, load::providers(conn, &ids)?))
}

/// Which providers have an inventory of a class that is to be deleted.
pub fn class_users(conn: &mut DbConnection, named: &Named<'_>) -> DbResult<BTreeSet<(ClassId, ProviderId)>> {
    use inventories as t;
    if named.going_classes.is_empty() {
        return Ok(BTreeSet::new());
    }
    let rows: Vec<(i32, i32)> = t::table
        .inner_join(resource_classes::table.on(resource_classes::id.eq(t::resource_class_id)))
        .filter(resource_classes::name.eq_any(&named.going_classes))
        .select((t::resource_class_id, t::resource_provider_id))
        .load(conn)?;
    Ok(rows
        .into_iter()
        .map(|(class, provider)| (ClassId(class), ProviderId(provider)))
        .collect())
}

/// Since when the named traits are there.
pub fn trait_times(conn: &mut DbConnection, named: &Named<'_>) -> DbResult<BTreeMap<String, Moment>> {
    let names: Vec<&str> = named.traits.iter().copied().collect();
    let rows: Vec<(String, Option<NaiveDateTime>)> = in_lists(&names, |names| {
        traits::table
            .filter(traits::name.eq_any(names))
            .select((traits::name, traits::created_at))
            .load(&mut *conn)
    })?;
    Ok(rows
        .into_iter()
        .filter_map(|(name, time)| Some((name, time?.and_utc())))
        .collect())
}

/// Which providers have a trait that is to be deleted.
pub fn trait_users(conn: &mut DbConnection, named: &Named<'_>) -> DbResult<BTreeSet<(TraitId, ProviderId)>> {
    use resource_provider_traits as t;
    if named.going_traits.is_empty() {
        return Ok(BTreeSet::new());
    }
    let rows: Vec<(i32, i32)> = t::table
        .inner_join(traits::table.on(traits::id.eq(t::trait_id)))
        .filter(traits::name.eq_any(&named.going_traits))
        .select((t::trait_id, t::resource_provider_id))
        .load(conn)?;
    Ok(rows
        .into_iter()
        .map(|(it, provider)| (TraitId(it), ProviderId(provider)))
        .collect())
}
