//! Locks and reads the consumers of a batch, with their allocations.

use std::collections::{BTreeMap, HashSet};

use chrono::NaiveDateTime;
use diesel::prelude::*;

use super::{LOCK_ATTEMPTS, RowAccess};
use crate::db::engines::dialect::{has_other_writers, in_lists, insert_rows, lock_in_lists, lock_rows};
use crate::db::schema::{allocations, consumer_types, consumers, projects, users};
use crate::db::{DbConnection, DbResult};
use crate::model::batch::collation::CollatedNames;
use crate::model::batch::footprint::Footprint;
use crate::model::batch::state::{AllocationRow, ConsumerEntry, ConsumerRow};
use crate::search::{ClassId, ProviderId};

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
pub(in crate::model::batch) struct AllocationColumns {
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

/// The project of a lock row: a row that exists only to lock a consumer. Real ids are positive.
pub const NO_PROJECT: i32 = -1;

/// The consumers of the footprint with their allocations, by uuid. A consumer without a row may have allocations too.
///
/// If access is `Locked` and other writers exist, the consumers' rows are locked first, ordered by uuid. A missing row
/// cannot be locked, so a new consumer gets a lock row: the unique uuid keeps other writers from inserting the
/// consumer. `save` fills the lock row, or deletes the lock row before COMMIT.
pub fn consumers(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
    access: RowAccess,
) -> DbResult<BTreeMap<String, ConsumerEntry>> {
    let uuids: Vec<&str> = footprint.consumers.iter().copied().collect();
    let collated = CollatedNames::distinct(conn, &uuids)?;
    if let (RowAccess::Locked { now }, true) = (access, has_other_writers(conn)) {
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

/// Locks the rows of consumers, and inserts a lock row for each consumer without a row.
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
        let locked: Vec<String> = lock_in_lists(&missing, |uuids| {
            lock_rows!(
                conn,
                t::table.filter(t::uuid.eq_any(uuids)).order(t::uuid).select(t::uuid)
            )
        })?;
        let locked: HashSet<String> = locked.into_iter().map(|uuid| collated.as_requested(uuid)).collect();
        missing.retain(|uuid| !locked.contains(*uuid));
        // A uuid longer than the column names no consumer, and MariaDB would cut the uuid, possibly to the uuid of
        // another consumer.
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
        // A row that another writer has inserted by now is not inserted again: the next attempt locks the row.
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
