//! Reads what the commands of a batch name: consumers always, providers where the snapshot is not enough.
//!
//! All of it in the batch's own transaction and in a number of statements that does not depend on how many commands
//! there are.

use std::collections::{BTreeMap, BTreeSet};

use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::Moment;
use super::allocations::ConsumerClaim;
use super::command::Command;
use super::load;
use super::resource_providers::NewParent;
use super::state::{ConsumerEntry, ConsumerRow, HeldRow};
use crate::db::dialect::in_lists;
use crate::db::schema::{
    allocations, consumer_types, consumers, inventories, projects, resource_classes, resource_provider_traits,
    resource_providers, traits, users,
};
use crate::db::{DbConnection, DbResult};
use crate::search::{Catalog, ClassId, ProviderId, Snapshot, TraitId};

/// What the commands of a batch name.
#[derive(Debug, Default)]
pub struct Named<'a> {
    pub consumers: BTreeSet<&'a str>,
    /// Uuids of providers.
    pub providers: BTreeSet<&'a str>,
    /// Names that providers are to get.
    pub names: BTreeSet<&'a str>,
    /// Classes of claims.
    pub classes: BTreeSet<&'a str>,
    /// Traits that are to be made or given.
    pub traits: BTreeSet<&'a str>,
    pub deleted_classes: Vec<&'a str>,
    pub deleted_traits: Vec<&'a str>,
    /// Whether anything but claims and releases is among the commands.
    pub beyond_claims: bool,
}

impl<'a> Named<'a> {
    pub fn of(commands: &[&'a Command]) -> Named<'a> {
        let mut named = Named::default();
        for command in commands {
            named.add(command);
        }
        named
    }

    fn add(&mut self, command: &'a Command) {
        match command {
            Command::Claim(claim) => self.add_claims(&claim.consumers),
            Command::Release(it) => {
                self.consumers.insert(&it.consumer);
            }
            other => {
                self.beyond_claims = true;
                self.add_rarer(other);
            }
        }
    }

    fn add_claims(&mut self, consumers: &'a [ConsumerClaim]) {
        for one in consumers {
            self.consumers.insert(&one.consumer);
            for (provider, resources) in &one.allocations {
                self.providers.insert(provider);
                self.classes.extend(resources.iter().map(|(class, _)| class.as_str()));
            }
        }
    }

    fn add_rarer(&mut self, command: &'a Command) {
        match command {
            Command::CreateProvider(it) => {
                self.providers.insert(&it.uuid);
                self.providers.extend(it.parent.as_deref());
                self.names.insert(&it.name);
            }
            Command::UpdateProvider(it) => {
                self.providers.insert(&it.uuid);
                self.names.insert(&it.name);
                if let NewParent::Set(parent) = &it.parent {
                    self.providers.extend(parent.as_deref());
                }
            }
            Command::Reshape(it) => {
                self.add_claims(&it.consumers);
                self.providers
                    .extend(it.providers.iter().map(|one| one.provider.as_str()));
            }
            Command::DeleteClass(it) => self.deleted_classes.push(&it.name),
            Command::DeleteTrait(it) => self.deleted_traits.push(&it.name),
            Command::EnsureTrait(it) => {
                self.traits.insert(&it.name);
            }
            Command::ReplaceTraits(it) => {
                self.providers.insert(&it.provider);
                self.traits.extend(it.traits.iter().map(String::as_str));
            }
            Command::CreateClass(_) | Command::EnsureClass(_) | Command::RenameClass(_) => {}
            other => self.providers.extend(provider_of(other)),
        }
    }
}

/// The one provider that a command on its inventories, traits or aggregates names.
fn provider_of(command: &Command) -> Option<&str> {
    Some(match command {
        Command::DeleteProvider(it) => &it.uuid,
        Command::ReplaceInventories(it) => &it.provider,
        Command::AddInventory(it) => &it.provider,
        Command::UpdateInventory(it) => &it.provider,
        Command::RemoveInventory(it) => &it.provider,
        Command::ClearInventories(it) => &it.provider,
        Command::ClearTraits(it) => &it.provider,
        Command::ReplaceAggregates(it) => &it.provider,
        _ => return None,
    })
}

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

/// A snapshot of nothing but the named providers' trees and those that the named consumers hold something of, as the
/// batch's own transaction sees them.
pub fn small_snapshot(
    conn: &mut DbConnection,
    named: &Named<'_>,
    consumers: &BTreeMap<String, ConsumerEntry>,
    known: &Catalog,
) -> DbResult<Snapshot> {
    use resource_providers as t;
    let mut ids: BTreeSet<i32> = consumers
        .values()
        .flat_map(|entry| &entry.held)
        .map(|row| row.provider.0)
        .collect();
    let providers: Vec<&str> = named.providers.iter().copied().collect();
    let roots: Vec<Option<i32>> = in_lists(&providers, |uuids| {
        t::table
            .filter(t::uuid.eq_any(uuids))
            .select(t::root_provider_id)
            .distinct()
            .load(&mut *conn)
    })?;
    let names: Vec<&str> = named.names.iter().copied().collect();
    ids.extend::<Vec<i32>>(in_lists(&names, |names| {
        t::table.filter(t::name.eq_any(names)).select(t::id).load(&mut *conn)
    })?);
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
    Ok(Snapshot::build(catalog, load::providers(conn, &ids)?))
}

/// Which providers have an inventory of a class that is to be deleted.
pub fn class_users(conn: &mut DbConnection, named: &Named<'_>) -> DbResult<BTreeSet<(ClassId, ProviderId)>> {
    use inventories as t;
    if named.deleted_classes.is_empty() {
        return Ok(BTreeSet::new());
    }
    let rows: Vec<(i32, i32)> = t::table
        .inner_join(resource_classes::table.on(resource_classes::id.eq(t::resource_class_id)))
        .filter(resource_classes::name.eq_any(&named.deleted_classes))
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
    if named.deleted_traits.is_empty() {
        return Ok(BTreeSet::new());
    }
    let rows: Vec<(i32, i32)> = t::table
        .inner_join(traits::table.on(traits::id.eq(t::trait_id)))
        .filter(traits::name.eq_any(&named.deleted_traits))
        .select((t::trait_id, t::resource_provider_id))
        .load(conn)?;
    Ok(rows
        .into_iter()
        .map(|(it, provider)| (TraitId(it), ProviderId(provider)))
        .collect())
}
