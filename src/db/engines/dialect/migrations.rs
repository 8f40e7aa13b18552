//! The files of `migrations/`, which are part of the binary.

use diesel_migrations::EmbeddedMigrations;

#[cfg(feature = "mariadb")]
use super::mariadb;
#[cfg(feature = "postgresql")]
use super::postgresql;
use super::sqlite;
use crate::db::DbConnection;

/// The schema as one engine spells it.
pub struct Migrations {
    /// OpenStack's tables, at their newest revision.
    pub openstack: EmbeddedMigrations,
    pub placet: EmbeddedMigrations,
    /// OpenStack's step to its revision 422ece571366.
    pub to_422ece571366: &'static str,
    /// OpenStack's step to its revision a082b8bb98d0.
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

/// placet's own migrations, whose versions are the same on every engine: those of SQLite, which every build has.
pub fn placet_migrations() -> &'static EmbeddedMigrations {
    &sqlite::MIGRATIONS.placet
}
