//! The alembic revisions of OpenStack's tables: the steps from each known revision to the newest, and `db stamp`.
//!
//! The steps follow OpenStack Placement's own migrations, and leave the same tables. Two steps change nothing, and only
//! refuse rows that upstream's data migrations have to repair first.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use super::{alembic_version, allocations, consumers, resource_providers};
use crate::db::engines::dialect::{self, OpenMode};
use crate::db::{Database, DbConnection, SetupError};

/// The alembic revision of OpenStack's tables that placet creates and works on.
pub const HEAD: &str = "a082b8bb98d0";
/// All known alembic revisions, oldest first.
const REVISIONS: [&str; 5] = ["b4ed3a175331", "611cd6dffd7b", "b5c396305c25", "422ece571366", HEAD];

/// Whether a database at this alembic revision can be upgraded to the newest.
pub fn is_known(revision: &str) -> bool {
    REVISIONS.contains(&revision)
}

/// Upgrades the tables from a known alembic revision to the newest. Returns whether there was a step to do.
pub fn upgrade(conn: &mut DbConnection, from: &str) -> Result<bool, SetupError> {
    let steps = REVISIONS.iter().skip_while(|revision| **revision != from).skip(1);
    let mut done = false;
    for revision in steps {
        step(conn, revision)?;
        // After each step, because MariaDB has already committed the step.
        diesel::update(alembic_version::table)
            .set(alembic_version::version_num.eq(revision))
            .execute(conn)?;
        done = true;
    }
    Ok(done)
}

/// Finishes a sync that began without tables: upgrades tables at an older alembic revision, and deletes older revisions
/// from `alembic_version`.
///
/// MariaDB commits each table by itself. So OpenStack Placement's own tool may have created some of the tables at the
/// same time, at its oldest alembic revision.
pub fn upgrade_mixed_tables(conn: &mut DbConnection) -> Result<(), SetupError> {
    if !dialect::has_old_tables(conn)? {
        return Ok(());
    }
    conn.batch_execute(dialect::migrations(conn).to_422ece571366)?;
    conn.batch_execute(dialect::migrations(conn).to_a082b8bb98d0)?;
    diesel::delete(alembic_version::table.filter(alembic_version::version_num.ne(HEAD))).execute(conn)?;
    Ok(())
}

fn step(conn: &mut DbConnection, revision: &str) -> Result<(), SetupError> {
    match revision {
        "611cd6dffd7b" => refuse_null_roots(conn),
        "b5c396305c25" => refuse_missing_consumers(conn),
        "422ece571366" => Ok(conn.batch_execute(dialect::migrations(conn).to_422ece571366)?),
        _ => Ok(conn.batch_execute(dialect::migrations(conn).to_a082b8bb98d0)?),
    }
}

fn refuse_null_roots(conn: &mut DbConnection) -> Result<(), SetupError> {
    let found: Option<i32> = resource_providers::table
        .filter(resource_providers::root_provider_id.is_null())
        .select(resource_providers::id)
        .first(conn)
        .optional()?;
    found.map_or(Ok(()), |_| Err(SetupError::NullRoots))
}

fn refuse_missing_consumers(conn: &mut DbConnection) -> Result<(), SetupError> {
    let found: Option<i32> = allocations::table
        .left_join(consumers::table.on(consumers::uuid.eq(allocations::consumer_id)))
        .filter(consumers::id.nullable().is_null())
        .select(allocations::id)
        .first(conn)
        .optional()?;
    found.map_or(Ok(()), |_| Err(SetupError::MissingConsumers))
}

impl Database {
    /// Records an alembic revision of OpenStack's tables, and changes nothing else. `head` is the newest revision,
    /// `base` none.
    pub fn stamp(&self, revision: &str) -> Result<(), SetupError> {
        let revision = match revision {
            "head" => Some(HEAD),
            "base" => None,
            known if is_known(known) => Some(known),
            _ => return Err(SetupError::NoRevision(revision.to_owned())),
        };
        dialect::change_schema(&mut self.connect_to(OpenMode::Create)?, |conn| {
            if !dialect::table_names(conn)?
                .iter()
                .any(|table| table == "alembic_version")
            {
                conn.batch_execute(
                    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, \
                     CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))",
                )?;
            }
            diesel::delete(alembic_version::table).execute(conn)?;
            if let Some(revision) = revision {
                diesel::insert_into(alembic_version::table)
                    .values(alembic_version::version_num.eq(revision))
                    .execute(conn)?;
            }
            Ok(())
        })
    }
}
