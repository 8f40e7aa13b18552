//! The files of `migrations/`, which are compiled into the binary.

use diesel_migrations::EmbeddedMigrations;

#[cfg(feature = "mariadb")]
use super::mariadb;
#[cfg(feature = "postgresql")]
use super::postgresql;
use super::sqlite;
use crate::db::DbConnection;

/// The schema in the SQL of one engine.
pub struct Migrations {
    /// Creates OpenStack's tables at their newest revision.
    pub openstack: EmbeddedMigrations,
    /// Creates placet's own tables.
    pub placet: EmbeddedMigrations,
    /// Upgrades OpenStack's tables to revision 422ece571366.
    pub to_422ece571366: &'static str,
    /// Upgrades OpenStack's tables to revision a082b8bb98d0.
    pub to_a082b8bb98d0: &'static str,
}

/// The migrations of a connection's engine.
pub fn migrations(conn: &DbConnection) -> &'static Migrations {
    match conn {
        DbConnection::Sqlite(_) => &sqlite::MIGRATIONS,
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(_) => &postgresql::MIGRATIONS,
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(_) => &mariadb::MIGRATIONS,
    }
}

/// placet's own migrations, to list their versions. These are the same on every engine, so those of SQLite are
/// returned, which every build has.
pub fn placet_migrations() -> &'static EmbeddedMigrations {
    &sqlite::MIGRATIONS.placet
}
