//! `db sync`: creates the schema in an empty database, adopts and upgrades OpenStack Placement's schema, and refuses
//! any unknown schema.
//!
//! The two parts of the schema have separate versions. OpenStack's tables are at the alembic revision in
//! `alembic_version`, and OpenStack's own tool keeps working on the tables. placet's tables, all named `placet_…`, are
//! versioned by `placet_migrations`.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use super::{alembic, alembic_version, placet_migrations as table};
use crate::db::engines::dialect::{self, OpenMode, insert_rows};
use crate::db::{Database, DbConnection, SetupError};

/// placet's migrations, each below a line with the version.
const OWN: &str = include_str!("../../../migrations/placet.sql");

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
        dialect::change_schema(&mut self.connect_to(OpenMode::Create)?, sync)
    }

    /// Checks that the schema has the version for this placet.
    ///
    /// # Errors
    /// The schema has a different version; the error says what to do.
    pub fn check(&self) -> Result<(), SetupError> {
        check_schema(&mut self.connect_to(OpenMode::Read)?)
    }

    /// Drops placet's own tables, and returns their number. OpenStack's tables stay.
    ///
    /// # Errors
    /// [`SetupError::Served`] if a process serves the embedded database, and [`SetupError::Missing`].
    pub fn drop_own_tables(&self) -> Result<usize, SetupError> {
        self.check_exists()?;
        let _lock = self.lock_for_serving()?;
        dialect::change_schema(&mut self.connect_to(OpenMode::Write)?, |conn| {
            let mut tables = dialect::table_names(conn)?;
            tables.retain(|table| table.starts_with("placet_"));
            // The versions first: MariaDB commits each statement, and a sync then makes again what is missing.
            tables.sort_by_key(|table| table != "placet_migrations");
            for table in &tables {
                run(conn, &format!("DROP TABLE {table}"))?;
            }
            Ok(tables.len())
        })
    }

    /// The versions of the schema. A missing database has none.
    pub fn version(&self) -> Result<SchemaVersions, SetupError> {
        match self.connect_to(OpenMode::Read) {
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
    match (found.alembic, found.placet.last().map(String::as_str) == newest()) {
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
        run(conn, migrations.openstack)?;
    }
    if found.alembic.is_none() || found.is_interrupted {
        alembic::upgrade_mixed_tables(conn)?;
    }
    let is_missing = |(version, _): &(&str, &str)| found.placet.iter().all(|known| known != version);
    let done: Vec<_> = own_migrations().filter(is_missing).collect();
    for (_, sql) in &done {
        run(conn, &in_words(conn, sql))?;
    }
    let now = dialect::now();
    let rows = done
        .iter()
        .map(|(version, _)| (table::version.eq(*version), table::run_at.eq(now)));
    let rows: Vec<_> = rows.collect();
    // A sync on a second node of a cluster may have inserted the same rows.
    insert_rows!(conn, table::table, &rows, or_ignore)?;
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
        let is_known = |version: &str| own_migrations().any(|(known, _)| known == version);
        match self.placet.iter().find(|version| !is_known(version)) {
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
        table::table.select(table::version).order(table::version).load(conn)?
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

fn create_version_table(conn: &mut DbConnection) -> Result<(), SetupError> {
    let sql = "CREATE TABLE IF NOT EXISTS placet_migrations \
               (version VARCHAR(50) NOT NULL, run_at {moment} NOT NULL, PRIMARY KEY (version))";
    run(conn, &in_words(conn, sql))
}

fn run(conn: &mut DbConnection, sql: &str) -> Result<(), SetupError> {
    conn.batch_execute(sql)
        .map_err(|error| SetupError::Migration(error.to_string()))
}

/// SQL of `migrations/placet.sql` with the engine's own types.
fn in_words(conn: &DbConnection, sql: &str) -> String {
    let words = dialect::migrations(conn).words.into_iter();
    words.fold(sql.to_owned(), |sql, (word, engine)| sql.replace(word, engine))
}

/// The versions of placet's migrations and their SQL, oldest first.
pub(in crate::db) fn own_migrations() -> impl Iterator<Item = (&'static str, &'static str)> {
    let parts = OWN.split("\n-- migration ").skip(1);
    parts.filter_map(|part| part.split_once('\n'))
}

/// The version of the newest migration.
pub(in crate::db) fn newest() -> Option<&'static str> {
    own_migrations().map(|(version, _)| version).last()
}
