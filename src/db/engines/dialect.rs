//! The functions whose implementation differs by engine. A function's name says the effect; each engine has a file of
//! its own.

mod among;
mod capabilities;
mod casts;
mod change_feed;
mod clock;
mod copies;
mod lists;
mod lock_rows;
#[cfg(feature = "mariadb")]
pub(in crate::db) mod mariadb;
mod messages;
#[cfg(feature = "postgresql")]
pub(in crate::db) mod postgresql;
mod precision;
mod sqlite;
mod transactions;
mod wal;
mod write_refusals;

use std::time::Duration;

use diesel::connection::CacheSize;
use diesel::prelude::*;

use crate::db::connect::url::DbTarget;
use crate::db::engines::rows::statement::Statement;
use crate::db::{DbConnection, SetupError};

pub use among::among;
pub use capabilities::{Capabilities, capabilities, commit_prepared};
pub use casts::{bigint_cast, text_cast};
pub use change_feed::changes_after;
pub use clock::{clock, clock_after};
pub use copies::{allow_writes, copy_into, integrity_fault};
pub use lists::{LIST_MAX, each_chunk, in_lists, lock_in_lists, padded, rows_at_once};
#[cfg(feature = "mariadb")]
pub(crate) use lock_rows::BoundedWait;
pub use lock_rows::LOCK_WAIT;
pub(crate) use lock_rows::{free_rows, load_from_server, lock_rows};
pub use messages::{
    RESTORE_ADVICE, advice, classify_message, for_clients, is_disk_full, is_lock_timeout, is_unreachable, message,
    says_damaged, was_rolled_back,
};
pub use precision::{Precision, now, ratio, row_time};
pub use transactions::{
    begin_write, change_schema, checked_rollback, commit, data_version, hold_registrations, hold_writers,
    read_transaction, rollback, set_lock_timeout, write_transaction,
};
pub use wal::{CheckpointMode, WalStatus, database_size, set_user_version, set_wal_limit, wal_checkpoint};
pub use write_refusals::{WriteRefusal, write_refusal};

/// Calls a function of the engine's own file with the connection inside: `engine!(conn, commit)`.
macro_rules! engine {
    ($conn:expr, $function:ident $(, $argument:expr)*) => {
        match $conn {
            DbConnection::Sqlite(inner) => sqlite::$function(inner $(, $argument)*),
            #[cfg(feature = "postgresql")]
            DbConnection::Postgresql(inner) => postgresql::$function(inner $(, $argument)*),
            #[cfg(feature = "mariadb")]
            DbConnection::Mariadb(inner) => mariadb::$function(inner $(, $argument)*),
        }
    };
}

/// Inserts many rows of a struct in one statement: `insert_rows!(conn, table, &rows)`. Without rows, sends nothing.
///
/// With `, or_ignore` a row that a unique constraint refuses is left out. The returned count differs by engine in this
/// case.
///
/// The struct must derive `Insertable` with `#[diesel(treat_none_as_default_value = false)]`: otherwise diesel inserts
/// row by row on SQLite, in a transaction of its own.
macro_rules! insert_rows {
    ($conn:expr, $table:path, $rows:expr) => {
        $crate::db::engines::dialect::each_chunk($rows, |rows| {
            $crate::db::engines::dialect::on_each!(&mut *$conn, inner => diesel::insert_into($table).values(rows).execute(inner))
        })
    };
    ($conn:expr, $table:path, $rows:expr, or_ignore) => {
        $crate::db::engines::dialect::each_chunk($rows, |rows| match &mut *$conn {
            $crate::db::DbConnection::Sqlite(inner) => {
                diesel::insert_or_ignore_into($table).values(rows).execute(inner)
            }
            // A duplicate key would end the transaction. With ON CONFLICT the statement waits for the transaction that
            // inserted the row, and leaves the row out.
            #[cfg(feature = "postgresql")]
            $crate::db::DbConnection::Postgresql(inner) => {
                diesel::insert_into($table).values(rows).on_conflict_do_nothing().execute(inner)
            }
            #[cfg(feature = "mariadb")]
            $crate::db::DbConnection::Mariadb(inner) => {
                diesel::insert_or_ignore_into($table).values(rows).execute(inner)
            }
        })
    };
}

pub(crate) use crate::db::connect::connection::on_each;
use engine;
pub(crate) use insert_rows;

/// How long a transaction may be idle before the server ends the transaction and releases its locks. Longer than any
/// pause of a live process.
#[cfg(any(feature = "postgresql", feature = "mariadb"))]
const IDLE_IN_TRANSACTION_TIMEOUT: Duration = Duration::from_secs(30);

/// What a connection may do to the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Reading. The session refuses to write.
    Read,
    /// Reading and writing an existing database.
    Write,
    /// As `Write`, and creates a missing embedded database.
    Create,
}

/// Opens a connection and sets up its session. `lock_timeout` limits how long a statement waits for a lock.
pub fn connect(target: &DbTarget, mode: OpenMode, lock_timeout: Duration) -> Result<DbConnection, SetupError> {
    match target {
        DbTarget::Sqlite(path) => sqlite::connect(path, mode, lock_timeout).map(DbConnection::Sqlite),
        #[cfg(feature = "postgresql")]
        DbTarget::Postgresql(server) => postgresql::connect(server, mode, lock_timeout).map(DbConnection::Postgresql),
        #[cfg(feature = "mariadb")]
        DbTarget::Mariadb(server) => mariadb::connect(server, mode, lock_timeout).map(DbConnection::Mariadb),
    }
}

/// Whether a second process may write between two statements of a transaction. Not on SQLite.
pub fn has_other_writers(conn: &DbConnection) -> bool {
    !matches!(conn, DbConnection::Sqlite(_))
}

/// Whether a new row whose uuid and name both exist is refused for its name. PostgreSQL checks the oldest constraint
/// first, which is the name's.
pub fn checks_names_first(conn: &DbConnection) -> bool {
    match conn {
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(_) => true,
        _ => false,
    }
}

/// Maps names that are equal to the database to one text.
pub type Folding = fn(&str) -> String;

/// How the database compares names. MariaDB's usual collations ignore case and trailing spaces. Some also ignore
/// accents, which only the database knows: a row is found or refused.
pub fn folding(conn: &DbConnection) -> Folding {
    match conn {
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(_) => |name| name.trim_end_matches(' ').to_lowercase(),
        _ => str::to_owned,
    }
}

/// Whether two names are equal to the database only if the two are spelled alike.
pub fn compares_exactly(conn: &DbConnection) -> bool {
    folding(conn)("A") == "A"
}

/// Whether the database ignores the case of letters in uuids, and in names of providers. On MariaDB the collations of
/// the columns decide. A union has the collation of its first query.
pub fn ignores_case(conn: &mut DbConnection) -> QueryResult<[bool; 2]> {
    if compares_exactly(conn) {
        return Ok([false; 2]);
    }
    let mut ignores_case = |column, letters| {
        let sql = format!(
            "SELECT CAST(COUNT(*) AS SIGNED) AS value FROM (SELECT {column} FROM resource_providers WHERE 1 = 0 \
             UNION ALL SELECT '{letters}') AS texts WHERE {column} = UPPER('{letters}')"
        );
        QueryResult::Ok(Statement::of(&sql).number(conn)? > 0)
    };
    let uuids = ignores_case("uuid", "abcdef")?;
    Ok([uuids, ignores_case("name", "abcdefghijklmnopqrstuvwxyz")?])
}

/// Whether a pooled connection still answers. A connection to an SQLite file cannot be lost, and is not tested.
pub fn is_alive(conn: &mut DbConnection) -> bool {
    match conn {
        DbConnection::Sqlite(_) => true,
        #[cfg(any(feature = "postgresql", feature = "mariadb"))]
        server => diesel::r2d2::R2D2Connection::ping(server).is_ok(),
    }
}

/// A statement that every database answers at once.
pub fn probe(conn: &mut DbConnection) -> QueryResult<()> {
    diesel::r2d2::R2D2Connection::ping(conn)
}

/// How many connections the server gives to all its clients. `None` if the database is embedded.
pub fn max_connections(conn: &mut DbConnection) -> QueryResult<Option<usize>> {
    let sql = match conn {
        DbConnection::Sqlite(_) => None,
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(_) => Some("SELECT current_setting('max_connections')::bigint AS value"),
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(_) => Some("SELECT CAST(@@max_connections AS SIGNED) AS value"),
    };
    let number = sql.map(|sql| Statement::of(sql).number(conn)).transpose()?;
    Ok(number.and_then(|number| usize::try_from(number).ok()))
}

/// Runs queries with many rows. On MariaDB the statement cache is off during these queries: libmariadb keeps the rows
/// of a prepared statement's result in memory.
pub fn without_statement_cache<T>(conn: &mut DbConnection, run: impl FnOnce(&mut DbConnection) -> T) -> T {
    set_statement_cache(conn, CacheSize::Disabled);
    let result = run(conn);
    set_statement_cache(conn, CacheSize::Unbounded);
    result
}

fn set_statement_cache(conn: &mut DbConnection, size: CacheSize) {
    #[cfg(feature = "mariadb")]
    if let DbConnection::Mariadb(conn) = conn {
        conn.set_prepared_statement_cache_size(size);
    }
    #[cfg(not(feature = "mariadb"))]
    let _ = (conn, size);
}

/// Whether some tables have the form of OpenStack's oldest revision after a sync created the newest. MariaDB commits
/// each table by itself, so a foreign program may have created tables at the same time.
pub fn has_old_tables(conn: &mut DbConnection) -> QueryResult<bool> {
    match conn {
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(inner) => mariadb::has_old_tables(inner),
        _ => Ok(false),
    }
}

/// The names of all tables.
pub fn table_names(conn: &mut DbConnection) -> QueryResult<Vec<String>> {
    let sql = match conn {
        DbConnection::Sqlite(_) => sqlite::TABLE_NAMES,
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(_) => postgresql::TABLE_NAMES,
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(_) => mariadb::TABLE_NAMES,
    };
    Statement::of(sql).texts(conn)
}

/// The files of `migrations/` in the SQL of one engine, which are compiled into the binary.
pub struct Migrations {
    /// Creates OpenStack's tables at their newest revision.
    pub openstack: &'static str,
    /// Upgrades OpenStack's tables to revision 422ece571366.
    pub to_422ece571366: &'static str,
    /// Upgrades OpenStack's tables to revision a082b8bb98d0.
    pub to_a082b8bb98d0: &'static str,
    /// The words of `migrations/placet.sql`, and the engine's SQL for each.
    pub words: [(&'static str, &'static str); 4],
}

/// The migrations of the engine with this folder, and the engine's SQL for the words.
macro_rules! migrations {
    ($folder:literal, $time:literal, $moment:literal, $exact:expr, $long_text:literal) => {
        Migrations {
            openstack: include_str!(concat!(
                "../../../migrations/",
                $folder,
                "/openstack/a082b8bb98d0_head/up.sql"
            )),
            to_422ece571366: include_str!(concat!("../../../migrations/", $folder, "/upgrade/422ece571366.sql")),
            to_a082b8bb98d0: include_str!(concat!("../../../migrations/", $folder, "/upgrade/a082b8bb98d0.sql")),
            words: [
                ("{time}", $time),
                ("{moment}", $moment),
                ("{exact}", $exact),
                ("{long text}", $long_text),
            ],
        }
    };
}

/// The migrations of a connection's engine.
pub fn migrations(conn: &DbConnection) -> Migrations {
    match conn {
        DbConnection::Sqlite(_) => migrations!("sqlite", "DATETIME", "DATETIME", "", "TEXT"),
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(_) => migrations!("postgresql", "TIMESTAMP", "TIMESTAMP", "", "TEXT"),
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(_) => {
            let exact = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";
            migrations!("mariadb", "DATETIME", "DATETIME(6)", exact, "LONGTEXT")
        }
    }
}
