//! Online data migrations of rows that old releases left incomplete: roots of providers, consumers of allocations.

use diesel::prelude::*;

use super::allocations::Owner;
use crate::db::engines::dialect::{self, in_lists, insert_rows};
use crate::db::schema::{allocations, consumers, projects, resource_providers, users};
use crate::db::{DbConnection, DbResult};

/// A migration, under the name that OpenStack Placement gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Migration {
    SetRootProviderIds,
    CreateIncompleteConsumers,
}

impl Migration {
    pub const ALL: [Migration; 2] = [Migration::SetRootProviderIds, Migration::CreateIncompleteConsumers];

    pub const fn name(self) -> &'static str {
        match self {
            Self::SetRootProviderIds => "set_root_provider_ids",
            Self::CreateIncompleteConsumers => "create_incomplete_consumers",
        }
    }

    /// Migrates at most this many rows, all or none; returns how many. `owner` gets allocations without a project.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn run(self, conn: &mut DbConnection, most: usize, owner: &Owner) -> DbResult<usize> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        dialect::write_transaction(conn, |conn| match self {
            Self::SetRootProviderIds => set_root_provider_ids(conn, most),
            Self::CreateIncompleteConsumers => create_incomplete_consumers(conn, most, owner),
        })
    }
}

/// Whether there is a provider without a root.
///
/// # Errors
/// Errors of the database.
pub fn lacks_roots(conn: &mut DbConnection) -> DbResult<bool> {
    rootless(conn, 1).map(|ids| !ids.is_empty())
}

/// The number of consumers with allocations but without a row.
///
/// # Errors
/// Errors of the database.
pub fn missing_consumers(conn: &mut DbConnection) -> DbResult<usize> {
    missing(conn, i64::MAX).map(|uuids| uuids.len())
}

fn missing(conn: &mut DbConnection, most: i64) -> DbResult<Vec<String>> {
    allocations::table
        .left_join(consumers::table.on(consumers::uuid.eq(allocations::consumer_id)))
        .filter(consumers::id.nullable().is_null())
        .select(allocations::consumer_id)
        .distinct()
        .order(allocations::consumer_id)
        .limit(most)
        .load(conn)
}

fn rootless(conn: &mut DbConnection, most: i64) -> DbResult<Vec<i32>> {
    resource_providers::table
        .filter(resource_providers::root_provider_id.is_null())
        .order(resource_providers::id)
        .limit(most)
        .select(resource_providers::id)
        .load(conn)
}

/// A provider without a root was created by a release without trees. It becomes its own root.
fn set_root_provider_ids(conn: &mut DbConnection, most: i64) -> DbResult<usize> {
    let ids = rootless(conn, most)?;
    let now = dialect::row_time(conn);
    in_lists(&ids, |ids| {
        diesel::update(resource_providers::table.filter(resource_providers::id.eq_any(ids)))
            .set((
                resource_providers::root_provider_id.eq(resource_providers::id.nullable()),
                resource_providers::updated_at.eq(now),
            ))
            .execute(&mut *conn)
            .map(|count| vec![count])
    })
    .map(|counts| counts.into_iter().sum())
}

fn create_incomplete_consumers(conn: &mut DbConnection, most: i64, owner: &Owner) -> DbResult<usize> {
    let uuids = missing(conn, most)?;
    let now = dialect::row_time(conn);
    let project = [(projects::created_at.eq(now), projects::external_id.eq(&owner.project))];
    insert_rows!(conn, projects::table, &project, or_ignore)?;
    let project: i32 = projects::table
        .filter(projects::external_id.eq(&owner.project))
        .select(projects::id)
        .first(conn)?;
    let user = [(users::created_at.eq(now), users::external_id.eq(&owner.user))];
    insert_rows!(conn, users::table, &user, or_ignore)?;
    let user: i32 = users::table
        .filter(users::external_id.eq(&owner.user))
        .select(users::id)
        .first(conn)?;
    // Without a type: at the revisions that need this the tables have none.
    let rows: Vec<_> = uuids
        .iter()
        .map(|uuid| {
            (
                consumers::created_at.eq(now),
                consumers::uuid.eq(uuid),
                consumers::project_id.eq(project),
                consumers::user_id.eq(user),
                consumers::generation.eq(0),
            )
        })
        .collect();
    insert_rows!(conn, consumers::table, &rows)
}
