//! `db sync`: creates the schema in an empty database, adopts and upgrades OpenStack Placement's schema, and refuses
//! any unknown schema.
//!
//! The two parts of the schema have separate versions. OpenStack's tables are at the alembic revision in
//! `alembic_version`, and OpenStack's own tool keeps working on the tables. placet's tables, all named `placet_…`, are
//! versioned by `placet_migrations`.

use diesel::backend::Backend;
use diesel::connection::BoxableConnection;
use diesel::migration::{Migration, MigrationSource};
use diesel::prelude::*;
use diesel_migrations::EmbeddedMigrations;

use super::alembic;
use super::{alembic_version, placet_migrations};
use crate::db::engines::dialect::{self, Purpose, insert_rows, on_each};
use crate::db::{Database, DbConnection, SetupError};

/// The versions of both parts of the schema; `None` if a part is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaVersions {
    pub alembic: Option<String>,
    pub placet: Option<String>,
}

/// The result of a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synced {
    /// The database was empty: all tables were created.
    Created,
    /// OpenStack Placement had created the database: placet's tables were added.
    Adopted,
    /// Some tables were added or changed.
    Upgraded,
    /// The schema was current already.
    Current,
}

/// The schema before a sync.
struct FoundSchema {
    /// Whether there are tables outside of placet's schema.
    has_other_tables: bool,
    /// An earlier sync did not finish: MariaDB commits each table by itself.
    is_interrupted: bool,
    alembic: Option<String>,
    placet: Vec<String>,
}

impl Database {
    /// Brings the schema to the version for this placet. Of two concurrent syncs the second waits for the first, and
    /// has nothing left to do.
    pub fn sync(&self) -> Result<Synced, SetupError> {
        dialect::change_schema(&mut self.connect_to(Purpose::Create)?, sync)
    }

    /// Checks that the schema has the version for this placet.
    ///
    /// # Errors
    /// The schema has a different version; the error says what to do.
    pub fn check(&self) -> Result<(), SetupError> {
        check_schema(&mut self.connect_to(Purpose::Read)?)
    }

    /// The versions of the schema. A missing database has none.
    pub fn version(&self) -> Result<SchemaVersions, SetupError> {
        match self.connect_to(Purpose::Read) {
            Err(SetupError::Missing { .. }) => Ok(SchemaVersions::default()),
            Err(error) => Err(error),
            Ok(mut conn) => {
                let found = find_schema(&mut conn)?;
                Ok(SchemaVersions {
                    alembic: found.alembic,
                    placet: found.placet.into_iter().next_back(),
                })
            }
        }
    }
}

/// As [`Database::check`], on a connection.
pub(in crate::db) fn check_schema(conn: &mut DbConnection) -> Result<(), SetupError> {
    let found = find_schema(conn)?;
    found.refuse_unknown()?;
    if let Some(old) = found.alembic.as_ref().filter(|found| *found != alembic::HEAD) {
        return Err(SetupError::OldRevision { found: old.clone() });
    }
    match (found.alembic, found.placet.last() == known()?.last()) {
        (None, _) => Err(SetupError::NotSynced),
        (Some(_), false) => Err(SetupError::NotCurrent),
        (Some(_), true) => Ok(()),
    }
}

fn sync(conn: &mut DbConnection) -> Result<Synced, SetupError> {
    let found = find_schema(conn)?;
    found.refuse_unknown()?;
    let migrations = dialect::migrations(conn);
    let upgraded = match &found.alembic {
        Some(from) => alembic::upgrade(conn, from)?,
        None => false,
    };
    // First: if this sync is interrupted, the next sync recognizes the unfinished tables as placet's by this table.
    create_version_table(conn)?;
    if found.alembic.is_none() {
        on_each!(&mut *conn, inner => run(inner, &migrations.openstack, &[]))?;
    }
    if found.alembic.is_none() || found.is_interrupted {
        alembic::upgrade_mixed_tables(conn)?;
    }
    let done = on_each!(&mut *conn, inner => run(inner, &migrations.placet, &found.placet))?;
    let run_at = dialect::now();
    let rows: Vec<_> = done
        .iter()
        .map(|version| {
            (
                placet_migrations::version.eq(version),
                placet_migrations::run_at.eq(run_at),
            )
        })
        .collect();
    // A sync on a second node of a cluster may have inserted the same rows.
    insert_rows!(conn, placet_migrations::table, &rows, or_ignore)?;
    Ok(
        match (found.alembic, found.placet.is_empty(), done.is_empty() && !upgraded) {
            (None, ..) => Synced::Created,
            (Some(_), true, _) => Synced::Adopted,
            (Some(_), false, false) => Synced::Upgraded,
            (Some(_), false, true) => Synced::Current,
        },
    )
}

impl FoundSchema {
    /// Refuses schemas that placet must not touch: the tables of a foreign program, an unknown alembic revision, a
    /// newer placet's schema.
    fn refuse_unknown(&self) -> Result<(), SetupError> {
        match &self.alembic {
            None if self.has_other_tables && !self.is_interrupted => return Err(SetupError::Foreign),
            Some(found) if !alembic::is_known(found) => return Err(SetupError::OtherRevision { found: found.clone() }),
            _ => {}
        }
        let known = known()?;
        match self.placet.iter().find(|version| !known.contains(version)) {
            Some(migration) => Err(SetupError::Newer {
                migration: migration.clone(),
            }),
            None => Ok(()),
        }
    }
}

fn find_schema(conn: &mut DbConnection) -> Result<FoundSchema, SetupError> {
    let tables = dialect::table_names(conn)?;
    let has = |name: &str| tables.iter().any(|table| table == name);
    let mut alembic: Vec<String> = if has("alembic_version") {
        alembic_version::table
            .select(alembic_version::version_num)
            .order(alembic_version::version_num)
            .load(conn)?
    } else {
        Vec::new()
    };
    if alembic.len() > 1 {
        return Err(SetupError::SeveralRevisions {
            found: alembic.join(", "),
        });
    }
    let placet = if has("placet_migrations") {
        placet_migrations::table
            .select(placet_migrations::version)
            .order(placet_migrations::version)
            .load(conn)?
    } else {
        Vec::new()
    };
    Ok(FoundSchema {
        has_other_tables: tables.iter().any(|table| !table.starts_with("placet_")),
        is_interrupted: has("placet_migrations") && placet.is_empty(),
        alembic: alembic.pop(),
        placet,
    })
}

fn create_version_table(conn: &mut DbConnection) -> QueryResult<usize> {
    diesel::sql_query(format!(
        "CREATE TABLE IF NOT EXISTS placet_migrations \
         (version VARCHAR(50) NOT NULL, run_at {} NOT NULL, PRIMARY KEY (version))",
        dialect::moment_type(conn)
    ))
    .execute(conn)
}

/// Runs the migrations outside of `done`, in order. Returns the versions of these migrations.
fn run<C, DB>(conn: &mut C, source: &EmbeddedMigrations, done: &[String]) -> Result<Vec<String>, SetupError>
where
    DB: Backend,
    C: BoxableConnection<DB> + 'static,
{
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| SetupError::Migration(error.to_string());
    let mut pending = MigrationSource::<DB>::migrations(source).map_err(failed)?;
    pending.sort_by_key(version);
    pending.retain(|migration| !done.contains(&version(migration)));
    for migration in &pending {
        migration.run(conn).map_err(failed)?;
    }
    Ok(pending.iter().map(version).collect())
}

fn version<DB: Backend>(migration: &impl Migration<DB>) -> String {
    migration.name().version().to_string()
}

/// The versions of placet's migrations, oldest first: the same on every engine.
fn known() -> Result<Vec<String>, SetupError> {
    let migrations = MigrationSource::<diesel::sqlite::Sqlite>::migrations(dialect::placet_migrations())
        .map_err(|error| SetupError::Migration(error.to_string()))?;
    let mut versions: Vec<_> = migrations.iter().map(version).collect();
    versions.sort();
    Ok(versions)
}
