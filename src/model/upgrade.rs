//! Online data migrations of rows that old releases left incomplete: roots of providers, consumers of allocations.

use diesel::prelude::*;

use super::allocations::Owner;
use crate::db::engines::dialect::{self, in_lists, insert_rows};
use crate::db::schema::{allocations, consumers, projects, resource_providers, users};
use crate::db::{DbConnection, DbResult};

/// A migration, under its name in OpenStack Placement.
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

    /// Migrates at most `limit` rows in one transaction, and returns the number of rows. `owner` becomes the owner of
    /// the created consumers.
    pub fn run(self, conn: &mut DbConnection, limit: usize, owner: &Owner) -> DbResult<usize> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        dialect::write_transaction(conn, |conn| match self {
            Self::SetRootProviderIds => set_root_provider_ids(conn, limit),
            Self::CreateIncompleteConsumers => create_incomplete_consumers(conn, limit, owner),
        })
    }
}

/// Whether there is a provider without a root.
pub fn lacks_roots(conn: &mut DbConnection) -> DbResult<bool> {
    rootless(conn, 1).map(|ids| !ids.is_empty())
}

/// The number of consumers with allocations but without a row.
pub fn missing_consumers(conn: &mut DbConnection) -> DbResult<usize> {
    missing(conn, i64::MAX).map(|uuids| uuids.len())
}

fn missing(conn: &mut DbConnection, limit: i64) -> DbResult<Vec<String>> {
    allocations::table
        .left_join(consumers::table.on(consumers::uuid.eq(allocations::consumer_id)))
        .filter(consumers::id.nullable().is_null())
        .select(allocations::consumer_id)
        .distinct()
        .order(allocations::consumer_id)
        .limit(limit)
        .load(conn)
}

fn rootless(conn: &mut DbConnection, limit: i64) -> DbResult<Vec<i32>> {
    resource_providers::table
        .filter(resource_providers::root_provider_id.is_null())
        .order(resource_providers::id)
        .limit(limit)
        .select(resource_providers::id)
        .load(conn)
}

/// Makes a provider without a root its own root. A release without trees created the provider.
fn set_root_provider_ids(conn: &mut DbConnection, limit: i64) -> DbResult<usize> {
    let ids = rootless(conn, limit)?;
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

fn create_incomplete_consumers(conn: &mut DbConnection, limit: i64, owner: &Owner) -> DbResult<usize> {
    let uuids = missing(conn, limit)?;
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
    // Without a type: the schemas that need this migration have no types.
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
