//! The connection type of all engines, for which queries are written; the differences between engines are in
//! `src/db/engines/`.

use diesel::MultiConnection;
#[cfg(feature = "mariadb")]
use diesel::mysql::MysqlConnection;
#[cfg(feature = "postgresql")]
use diesel::pg::PgConnection;
use diesel::sqlite::SqliteConnection;

/// diesel's derive accepts no `cfg` on a variant, so each set of engines has an enum of its own.
macro_rules! connection {
    ($($engine:ident($connection:ident)),+) => {
        /// A connection to the configured database.
        #[derive(MultiConnection)]
        pub enum DbConnection {
            $($engine($connection)),+
        }
    };
}

#[cfg(not(any(feature = "postgresql", feature = "mariadb")))]
connection!(Sqlite(SqliteConnection));
#[cfg(all(feature = "postgresql", not(feature = "mariadb")))]
connection!(Sqlite(SqliteConnection), Postgresql(PgConnection));
#[cfg(all(not(feature = "postgresql"), feature = "mariadb"))]
connection!(Sqlite(SqliteConnection), Mariadb(MysqlConnection));
#[cfg(all(feature = "postgresql", feature = "mariadb"))]
connection!(
    Sqlite(SqliteConnection),
    Postgresql(PgConnection),
    Mariadb(MysqlConnection)
);

/// Runs one diesel expression on the connection inside a [`DbConnection`].
///
/// Only queries that diesel builds for one backend at a time need this: inserts of many rows, `on_conflict`,
/// `returning`. All further queries run on the [`DbConnection`] itself.
macro_rules! on_each {
    ($conn:expr, $inner:ident => $run:expr) => {
        match $conn {
            $crate::db::DbConnection::Sqlite($inner) => $run,
            #[cfg(feature = "postgresql")]
            $crate::db::DbConnection::Postgresql($inner) => $run,
            #[cfg(feature = "mariadb")]
            $crate::db::DbConnection::Mariadb($inner) => $run,
        }
    };
}

pub(crate) use on_each;
