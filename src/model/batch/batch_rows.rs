//! Locks and reads the rows that a batch needs, in its own transaction: its consumers always, its providers if the
//! snapshot is not enough.
//!
//! Naively, each command locks and reads its rows in its own order. Then the number of statements grows with the
//! batch, and two writers that lock the same rows in different orders deadlock.
//!
//! So the rows of all commands are collected first (`footprint`). If other writers exist, locks are taken in one order:
//! consumers by uuid, then providers by id. The rows are read afterwards, so that the locks guard what was read.
//! The number of statements does not depend on the number of commands. On SQLite BEGIN locks the whole file, and no
//! row is locked.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::base::Rows;
use super::collation::CollatedNames;
use super::footprint::Footprint;
use super::state::{AllocationRow, ConsumerEntry, ConsumerRow};
use crate::db::engines::dialect::{compares_exactly, folding, has_other_writers, in_lists, insert_rows, lock_rows};
use crate::db::schema::{
    allocations, consumer_types, consumers, inventories, projects, resource_classes, resource_provider_traits,
    resource_providers, traits, users,
};
use crate::db::{DbConnection, DbResult};
use crate::model::Moment;
use crate::model::snapshot::load;
use crate::search::{Catalog, ClassId, ProviderId, ProviderRow, TraitId};

/// A row of `consumers` with the names of its project, user and type.
#[derive(Queryable)]
struct ConsumerColumns {
    id: i32,
    uuid: String,
    generation: i32,
    project_id: i32,
    project: Option<String>,
    user: Option<String>,
    consumer_type: Option<String>,
}

/// A row of `allocations`.
#[derive(Queryable, Selectable)]
#[diesel(table_name = allocations)]
pub(super) struct AllocationColumns {
    id: i32,
    pub consumer_id: String,
    resource_provider_id: i32,
    resource_class_id: i32,
    used: i32,
}

impl AllocationColumns {
    pub fn row(&self) -> AllocationRow {
        AllocationRow {
            id: self.id,
            provider: ProviderId(self.resource_provider_id),
            class: ClassId(self.resource_class_id),
            used: self.used.into(),
        }
    }
}

/// A provider in its tree.
#[derive(Queryable, Selectable)]
#[diesel(table_name = resource_providers)]
struct TreeColumns {
    id: i32,
    root_provider_id: Option<i32>,
    uuid: String,
}

/// The project of a lock row: a row that exists only to lock a consumer. Real ids are positive.
pub const NO_PROJECT: i32 = -1;

/// The consumers of the footprint with their allocations, by uuid. A consumer without a row may have allocations too.
///
/// If other writers exist, the consumers' rows are locked first, ordered by uuid. A row that does not exist cannot be
/// locked, so a new consumer gets a lock row: the unique uuid then keeps other writers from inserting the consumer.
/// `save` fills the lock row, or deletes it before COMMIT.
pub fn consumers(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
    now: NaiveDateTime,
) -> DbResult<BTreeMap<String, ConsumerEntry>> {
    let uuids: Vec<&str> = footprint.consumers.iter().copied().collect();
    let collated = CollatedNames::distinct(conn, &uuids)?;
    if has_other_writers(conn) {
        lock_consumers(conn, &uuids, &collated, now)?;
    }
    let mut found: BTreeMap<String, ConsumerEntry> = BTreeMap::new();
    let rows: Vec<ConsumerColumns> = in_lists(&uuids, |uuids| {
        consumers::table
            .left_join(projects::table.on(projects::id.eq(consumers::project_id)))
            .left_join(users::table.on(users::id.eq(consumers::user_id)))
            .left_join(consumer_types::table.on(consumers::consumer_type_id.eq(consumer_types::id.nullable())))
            .filter(consumers::uuid.eq_any(uuids))
            .select((
                consumers::id,
                consumers::uuid,
                consumers::generation,
                consumers::project_id,
                projects::external_id.nullable(),
                users::external_id.nullable(),
                consumer_types::name.nullable(),
            ))
            .load(&mut *conn)
    })?;
    for columns in rows {
        let mut entry = ConsumerEntry::default();
        if columns.project_id == NO_PROJECT {
            entry.lock_row = Some(columns.id);
        } else {
            let row = ConsumerRow {
                id: columns.id,
                generation: columns.generation.into(),
                project: columns.project.unwrap_or_default(),
                user: columns.user.unwrap_or_default(),
                consumer_type: columns.consumer_type,
            };
            entry.base = Some(row.clone());
            entry.now = Some(row);
        }
        found.insert(collated.as_requested(columns.uuid), entry);
    }
    load_allocations(conn, &uuids, &collated, &mut found)?;
    Ok(found)
}

/// The length of the column of a consumer's uuid.
pub const UUID_CHARS_MAX: usize = 36;

/// The maximum number of attempts to lock rows, if another writer inserts some in between. A row that is still not
/// locked then fails a guard or a constraint when it is written, and the batch is decided again.
const LOCK_ATTEMPTS: usize = 10;

/// Locks the rows of consumers, and inserts a lock row for each that has none.
fn lock_consumers(
    conn: &mut DbConnection,
    uuids: &[&str],
    collated: &CollatedNames<'_>,
    now: NaiveDateTime,
) -> DbResult<()> {
    use consumers as t;
    let mut missing: Vec<&str> = uuids.to_vec();
    for _ in 0..LOCK_ATTEMPTS {
        if missing.is_empty() {
            break;
        }
        let locked: Vec<String> = in_lists(&missing, |uuids| {
            lock_rows!(
                conn,
                t::table.filter(t::uuid.eq_any(uuids)).order(t::uuid).select(t::uuid)
            )
        })?;
        let locked: HashSet<String> = locked.into_iter().map(|uuid| collated.as_requested(uuid)).collect();
        missing.retain(|uuid| !locked.contains(*uuid));
        // A uuid longer than the column names no consumer, and MariaDB would cut it, possibly to another consumer's
        // uuid.
        let possible = missing.iter().filter(|uuid| uuid.chars().count() <= UUID_CHARS_MAX);
        let rows: Vec<_> = possible
            .map(|uuid| {
                (
                    t::created_at.eq(now),
                    t::uuid.eq(*uuid),
                    t::project_id.eq(NO_PROJECT),
                    t::user_id.eq(NO_PROJECT),
                    t::generation.eq(0),
                )
            })
            .collect();
        // A row that another writer has inserted by now is not inserted again: the next attempt locks it.
        if insert_rows!(conn, t::table, &rows, or_ignore)? == rows.len() {
            return Ok(());
        }
    }
    Ok(())
}

/// Adds the allocations of the consumers to their entries.
fn load_allocations(
    conn: &mut DbConnection,
    uuids: &[&str],
    collated: &CollatedNames<'_>,
    found: &mut BTreeMap<String, ConsumerEntry>,
) -> DbResult<()> {
    let rows: Vec<AllocationColumns> = in_lists(uuids, |uuids| {
        allocations::table
            .filter(allocations::consumer_id.eq_any(uuids))
            .order(allocations::id)
            .select(AllocationColumns::as_select())
            .load(&mut *conn)
    })?;
    for columns in rows {
        let row = columns.row();
        let entry = found.entry(collated.as_requested(columns.consumer_id)).or_default();
        entry.base_allocations.push(row);
        entry.allocations.push((row.provider, row.class, row.used));
    }
    Ok(())
}

/// The providers of the footprint, and those that its consumers have allocations of; whole trees only if a command
/// needs them.
///
/// If other writers exist, the providers are locked first, ordered by id. Then the ids are looked up again, because
/// another writer may have added a provider before the locks were taken.
pub fn providers(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
    consumers: &BTreeMap<String, ConsumerEntry>,
    known: &Catalog,
) -> DbResult<Rows> {
    let mut ids = provider_ids(conn, footprint, consumers)?;
    let lock_attempts = if has_other_writers(conn) { LOCK_ATTEMPTS } else { 0 };
    for _ in 0..lock_attempts {
        lock_providers(conn, &ids)?;
        let ids_after_locks = provider_ids(conn, footprint, consumers)?;
        if ids_after_locks == ids {
            break;
        }
        ids = ids_after_locks;
    }
    let catalog = catalog(conn, footprint, known)?;
    let rows = load::providers(conn, &ids)?;
    let (uuids, names) = (uuids_of(conn, footprint, &rows), names_of(conn, footprint, &rows)?);
    Ok(Rows::new(catalog, rows, uuids, names))
}

/// The classes, traits and aggregates that the commands need. Writes of inventories are frequent and need only classes,
/// which are few: if these are unchanged, the catalog `known` is enough. Traits and aggregates are many, so they are
/// read only for commands that name them.
fn catalog(conn: &mut DbConnection, footprint: &Footprint<'_>, known: &Catalog) -> DbResult<Catalog> {
    let is_enough = if footprint.beyond_claims {
        !footprint.beyond_inventories && has_same_classes(&load::classes(conn)?, known)
    } else {
        footprint.classes.iter().all(|name| known.class_id(name).is_some())
    };
    if is_enough {
        Ok(known.clone())
    } else {
        load::catalog(conn)
    }
}

fn has_same_classes(classes: &[(ClassId, Arc<str>)], known: &Catalog) -> bool {
    classes.iter().map(|(id, name)| (*id, name)).eq(known.classes())
}

/// The providers by uuid, in every spelling that the commands use: MariaDB finds a row by several spellings.
fn uuids_of(conn: &DbConnection, footprint: &Footprint<'_>, rows: &[ProviderRow]) -> HashMap<Arc<str>, ProviderId> {
    let fold = folding(conn);
    let by_folded: HashMap<String, ProviderId> = rows.iter().map(|row| (fold(&row.uuid), row.id)).collect();
    let requested = footprint.providers.iter();
    let requested = requested.filter_map(|uuid| Some((Arc::from(*uuid), *by_folded.get(&fold(uuid))?)));
    rows.iter()
        .map(|row| (row.uuid.clone(), row.id))
        .chain(requested)
        .collect()
}

/// The providers by name, for the names that commands give. If the database does not compare exactly, it decides which
/// names are equal.
fn names_of(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
    rows: &[ProviderRow],
) -> DbResult<HashMap<Arc<str>, ProviderId>> {
    let requested: Vec<&str> = footprint.names.iter().copied().collect();
    let collated = CollatedNames::new(conn, &requested);
    let mut names: HashMap<Arc<str>, ProviderId> = rows
        .iter()
        .map(|row| (collated.as_requested(row.name.to_string()).into(), row.id))
        .collect();
    if compares_exactly(conn) {
        return Ok(names);
    }
    for name in requested
        .into_iter()
        .filter(|name| !names.contains_key(*name))
        .collect::<Vec<_>>()
    {
        use resource_providers as t;
        let found: Option<i32> = t::table.filter(t::name.eq(name)).select(t::id).first(conn).optional()?;
        names.extend(found.map(|id| (name.into(), ProviderId(id))));
    }
    Ok(names)
}

/// Locks providers, in the order of their ids.
pub fn lock_providers(conn: &mut DbConnection, ids: &[i32]) -> DbResult<()> {
    use resource_providers as t;
    in_lists(ids, |ids| -> DbResult<Vec<i32>> {
        lock_rows!(conn, t::table.filter(t::id.eq_any(ids)).order(t::id).select(t::id))
    })
    .map(|_| ())
}

/// The ids of the providers that `providers` reads, ascending.
fn provider_ids(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
    consumers: &BTreeMap<String, ConsumerEntry>,
) -> DbResult<Vec<i32>> {
    use resource_providers as t;
    let mut ids: BTreeSet<i32> = consumers
        .values()
        .flat_map(|entry| &entry.base_allocations)
        .map(|row| row.provider.0)
        .collect();
    let uuids: Vec<&str> = footprint.providers.iter().copied().collect();
    let found: Vec<TreeColumns> = in_lists(&uuids, |uuids| {
        t::table
            .filter(t::uuid.eq_any(uuids))
            .select(TreeColumns::as_select())
            .load(&mut *conn)
    })?;
    let mut roots: BTreeSet<Option<i32>> = BTreeSet::new();
    let fold = folding(conn);
    let folded = |uuids: &BTreeSet<&str>| uuids.iter().map(|uuid| fold(uuid)).collect::<HashSet<String>>();
    let (parents, trees) = (folded(&footprint.parents), folded(&footprint.trees));
    for row in &found {
        let uuid = fold(&row.uuid);
        ids.insert(row.id);
        if parents.contains(&uuid) {
            ids.extend(row.root_provider_id);
        }
        if trees.contains(&uuid) {
            roots.insert(row.root_provider_id);
        }
    }
    let names: Vec<&str> = footprint.names.iter().copied().collect();
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
    Ok(ids.into_iter().collect())
}

/// Providers that have an inventory of a class which commands remove. A class may have an inventory on every host, so
/// at most `touched` + 1 of them are read for each class. The batch can remove the class from `touched` providers, so
/// one more is enough to know that it stays in use.
pub fn class_users(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
    touched: usize,
) -> DbResult<BTreeSet<(ClassId, ProviderId)>> {
    use inventories as t;
    let mut users = BTreeSet::new();
    for name in &footprint.removed_classes {
        let rows: Vec<(i32, i32)> = t::table
            .inner_join(resource_classes::table.on(resource_classes::id.eq(t::resource_class_id)))
            .filter(resource_classes::name.eq(*name))
            .select((t::resource_class_id, t::resource_provider_id))
            .limit(one_above(touched))
            .load(conn)?;
        users.extend(
            rows.into_iter()
                .map(|(class, provider)| (ClassId(class), ProviderId(provider))),
        );
    }
    Ok(users)
}

fn one_above(touched: usize) -> i64 {
    i64::try_from(touched).unwrap_or(i64::MAX).saturating_add(1)
}

/// When the traits of the footprint were created.
pub fn trait_times(conn: &mut DbConnection, footprint: &Footprint<'_>) -> DbResult<BTreeMap<String, Moment>> {
    let names: Vec<&str> = footprint.traits.iter().copied().collect();
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

/// Providers that have a trait which commands delete, limited as in [`class_users`].
pub fn trait_users(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
    touched: usize,
) -> DbResult<BTreeSet<(TraitId, ProviderId)>> {
    use resource_provider_traits as t;
    let mut users = BTreeSet::new();
    for name in &footprint.removed_traits {
        let rows: Vec<(i32, i32)> = t::table
            .inner_join(traits::table.on(traits::id.eq(t::trait_id)))
            .filter(traits::name.eq(*name))
            .select((t::trait_id, t::resource_provider_id))
            .limit(one_above(touched))
            .load(conn)?;
        users.extend(
            rows.into_iter()
                .map(|(trait_id, provider)| (TraitId(trait_id), ProviderId(provider))),
        );
    }
    Ok(users)
}
