//! Reads what the commands of a batch name: consumers always, providers where the snapshot is not enough.
//!
//! All of it in the batch's own transaction and in a number of statements that does not depend on how many commands
//! there are.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::Moment;
use super::base::Rows;
use super::load;
use super::named::Named;
use super::spelled::Spelled;
use super::state::{ConsumerEntry, ConsumerRow, HeldRow};
use crate::db::dialect::{compares_exactly, folding, has_other_writers, in_lists, insert_rows, lock_rows};
use crate::db::schema::{
    allocations, consumer_types, consumers, inventories, projects, resource_classes, resource_provider_traits,
    resource_providers, traits, users,
};
use crate::db::{DbConnection, DbResult};
use crate::search::{Catalog, ClassId, ProviderId, ProviderRow, TraitId};

type ConsumerColumns = (i32, String, i32, i32, Option<String>, Option<String>, Option<String>);

/// The project of a row that only locks a consumer. Real ids are positive.
pub const NOBODY: i32 = -1;

/// The named consumers with what they have: the rows by consumer uuid, even where the consumer's own row is missing.
///
/// Where other processes may write, they are locked first, in the order of their uuids, and what the locks guard is read
/// in the statements after. A row that is not there cannot be locked, so a consumer without one is locked by a row that is
/// made for it, and nobody else makes it meanwhile: `save` settles that row, or takes it away before COMMIT.
pub fn consumers(
    conn: &mut DbConnection,
    named: &Named<'_>,
    now: NaiveDateTime,
) -> DbResult<BTreeMap<String, ConsumerEntry>> {
    let uuids: Vec<&str> = named.consumers.iter().copied().collect();
    let spelled = Spelled::apart(conn, &uuids)?;
    if has_other_writers(conn) {
        lock_consumers(conn, &uuids, &spelled, now)?;
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
    for (id, uuid, generation, project_id, project, user, consumer_type) in rows {
        let mut entry = ConsumerEntry::default();
        if project_id == NOBODY {
            entry.lock_row = Some(id);
        } else {
            let row = ConsumerRow {
                id,
                generation: generation.into(),
                project: project.unwrap_or_default(),
                user: user.unwrap_or_default(),
                consumer_type,
            };
            entry.base = Some(row.clone());
            entry.now = Some(row);
        }
        found.insert(spelled.named(uuid), entry);
    }
    hold(conn, &uuids, &spelled, &mut found)?;
    Ok(found)
}

/// How many characters the uuid of a consumer has at most, in the tables.
pub const UUID_MAX: usize = 36;

/// How often locks are taken again because somebody else was faster. What is not locked then is refused when it is
/// written, by a guard or a constraint, and the batch is decided again.
const TURNS: usize = 10;

/// Locks the rows of consumers, and makes those that are missing.
fn lock_consumers(conn: &mut DbConnection, uuids: &[&str], spelled: &Spelled<'_>, now: NaiveDateTime) -> DbResult<()> {
    use consumers as t;
    let mut missing: Vec<&str> = uuids.to_vec();
    for _ in 0..TURNS {
        if missing.is_empty() {
            break;
        }
        let there: Vec<String> = in_lists(&missing, |uuids| {
            lock_rows!(
                conn,
                t::table.filter(t::uuid.eq_any(uuids)).order(t::uuid).select(t::uuid)
            )
        })?;
        let there: HashSet<String> = there.into_iter().map(|uuid| spelled.named(uuid)).collect();
        missing.retain(|uuid| !there.contains(*uuid));
        // Nobody is called so: the column does not hold it, and MariaDB would cut it to the name of somebody else.
        let possible = missing.iter().filter(|uuid| uuid.chars().count() <= UUID_MAX);
        let rows: Vec<_> = possible
            .map(|uuid| {
                (
                    t::created_at.eq(now),
                    t::uuid.eq(*uuid),
                    t::project_id.eq(NOBODY),
                    t::user_id.eq(NOBODY),
                    t::generation.eq(0),
                )
            })
            .collect();
        // One that somebody else has made meanwhile is not made twice: it is locked in the next turn.
        if insert_rows!(conn, t::table, &rows, or_ignore)? == rows.len() {
            return Ok(());
        }
    }
    Ok(())
}

/// Adds what the consumers hold.
fn hold(
    conn: &mut DbConnection,
    uuids: &[&str],
    spelled: &Spelled<'_>,
    found: &mut BTreeMap<String, ConsumerEntry>,
) -> DbResult<()> {
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
        let entry = found.entry(spelled.named(uuid)).or_default();
        entry.held.push(row);
        entry.allocations.push((row.provider, row.class, row.used));
    }
    Ok(())
}

/// The named providers and those that the named consumers hold something of, as the batch's own transaction sees them;
/// whole trees only where a command needs them.
///
/// Where other processes may write, they are locked first, in the order of their ids, and looked up again: who was not
/// there when the locks were taken may be by now.
pub fn rows(
    conn: &mut DbConnection,
    named: &Named<'_>,
    consumers: &BTreeMap<String, ConsumerEntry>,
    known: &Catalog,
) -> DbResult<Rows> {
    let mut ids = provider_ids(conn, named, consumers)?;
    let turns = if has_other_writers(conn) { TURNS } else { 0 };
    for _ in 0..turns {
        lock_providers(conn, &ids)?;
        let again = provider_ids(conn, named, consumers)?;
        if again == ids {
            break;
        }
        ids = again;
    }
    let catalog = catalog(conn, named, known)?;
    let rows = load::providers(conn, &ids)?;
    let (uuids, names) = (uuids_of(conn, named, &rows), names_of(conn, named, &rows)?);
    Ok(Rows::new(catalog, rows, uuids, names))
}

/// The names that commands rest on. Every host's inventories are written over and over, and the classes in them are few;
/// traits and aggregates, which are many, are read where a command is about them.
fn catalog(conn: &mut DbConnection, named: &Named<'_>, known: &Catalog) -> DbResult<Catalog> {
    let is_known = match named.beyond_claims {
        false => named.classes.iter().all(|name| known.class_id(name).is_some()),
        true => !named.beyond_inventories && has_same_classes(&load::classes(conn)?, known),
    };
    match is_known {
        true => Ok(known.clone()),
        false => load::catalog(conn),
    }
}

fn has_same_classes(classes: &[(ClassId, Arc<str>)], known: &Catalog) -> bool {
    classes.iter().map(|(id, name)| (*id, name)).eq(known.classes())
}

/// Which providers the commands name, in every spelling that they use: MariaDB finds a row by several.
fn uuids_of(conn: &DbConnection, named: &Named<'_>, rows: &[ProviderRow]) -> HashMap<Arc<str>, ProviderId> {
    let fold = folding(conn);
    let there: HashMap<String, ProviderId> = rows.iter().map(|row| (fold(&row.uuid), row.id)).collect();
    let spelled = named.providers.iter();
    let spelled = spelled.filter_map(|uuid| Some((Arc::from(*uuid), *there.get(&fold(uuid))?)));
    rows.iter()
        .map(|row| (row.uuid.clone(), row.id))
        .chain(spelled)
        .collect()
}

/// Which providers have the names that commands want to give: the database says what it takes for the same name.
fn names_of(
    conn: &mut DbConnection,
    named: &Named<'_>,
    rows: &[ProviderRow],
) -> DbResult<HashMap<Arc<str>, ProviderId>> {
    let wanted: Vec<&str> = named.names.iter().copied().collect();
    let spelled = Spelled::new(conn, &wanted);
    let mut names: HashMap<Arc<str>, ProviderId> = rows
        .iter()
        .map(|row| (spelled.named(row.name.to_string()).into(), row.id))
        .collect();
    if compares_exactly(conn) {
        return Ok(names);
    }
    for name in wanted
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

/// The ids of the providers that `rows` reads, in order.
fn provider_ids(
    conn: &mut DbConnection,
    named: &Named<'_>,
    consumers: &BTreeMap<String, ConsumerEntry>,
) -> DbResult<Vec<i32>> {
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
    let fold = folding(conn);
    let folded = |uuids: &BTreeSet<&str>| uuids.iter().map(|uuid| fold(uuid)).collect::<HashSet<String>>();
    let (parents, trees) = (folded(&named.parents), folded(&named.trees));
    for (id, root, uuid) in &found {
        let uuid = fold(uuid);
        ids.insert(*id);
        if parents.contains(&uuid) {
            ids.extend(root);
        }
        if trees.contains(&uuid) {
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
    Ok(ids.into_iter().collect())
}

/// Which providers have an inventory of a class that is to be deleted: of each class one more than the batch may take
/// it from, for those are enough to say that it is in use, and every host may have it.
pub fn class_users(
    conn: &mut DbConnection,
    named: &Named<'_>,
    touched: usize,
) -> DbResult<BTreeSet<(ClassId, ProviderId)>> {
    use inventories as t;
    let mut users = BTreeSet::new();
    for name in &named.going_classes {
        let rows: Vec<(i32, i32)> = t::table
            .inner_join(resource_classes::table.on(resource_classes::id.eq(t::resource_class_id)))
            .filter(resource_classes::name.eq(*name))
            .select((t::resource_class_id, t::resource_provider_id))
            .limit(one_more(touched))
            .load(conn)?;
        users.extend(
            rows.into_iter()
                .map(|(it, provider)| (ClassId(it), ProviderId(provider))),
        );
    }
    Ok(users)
}

fn one_more(touched: usize) -> i64 {
    i64::try_from(touched).unwrap_or(i64::MAX).saturating_add(1)
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

/// Which providers have a trait that is to be deleted, as with classes.
pub fn trait_users(
    conn: &mut DbConnection,
    named: &Named<'_>,
    touched: usize,
) -> DbResult<BTreeSet<(TraitId, ProviderId)>> {
    use resource_provider_traits as t;
    let mut users = BTreeSet::new();
    for name in &named.going_traits {
        let rows: Vec<(i32, i32)> = t::table
            .inner_join(traits::table.on(traits::id.eq(t::trait_id)))
            .filter(traits::name.eq(*name))
            .select((t::trait_id, t::resource_provider_id))
            .limit(one_more(touched))
            .load(conn)?;
        users.extend(
            rows.into_iter()
                .map(|(it, provider)| (TraitId(it), ProviderId(provider))),
        );
    }
    Ok(users)
}
