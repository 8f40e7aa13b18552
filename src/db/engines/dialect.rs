//! All that differs between databases. A noun that needs something here asks by a name that says what, not how; each
//! engine has a file of its own.

mod among;
mod capabilities;
mod change_feed;
mod lists;
#[cfg(feature = "mariadb")]
pub(in crate::db) mod mariadb;
mod messages;
mod migrations;
#[cfg(feature = "postgresql")]
pub(in crate::db) mod postgresql;
mod precision;
mod sqlite;
mod transactions;
mod wal;

use std::time::Duration;

use diesel::connection::CacheSize;
use diesel::prelude::*;

use crate::db::connect::url::Target;
use crate::db::{DbConnection, SetupError};

pub use among::among;
pub use capabilities::{Capabilities, capabilities, commit_prepared};
pub use change_feed::{bigint_cast, changes_after};
pub use lists::{LIST_MAX, each_chunk, in_lists, padded, rows_at_once};
pub use messages::{advice, classify_message, constraint_name, found_no_room, is_unreachable, was_undone};
pub use migrations::{migrations, placet_migrations};
pub use precision::{Precision, now, ratio, row_time};
pub use transactions::{
    abandon, begin_write, change_schema, commit, hold_registrations, hold_writers, read_transaction, rollback,
    set_lock_timeout, write_transaction,
};
pub use wal::{CheckpointMode, WalStatus, set_wal_limit, wal_checkpoint};

/// Runs one diesel expression on whichever connection is inside.
///
/// Most queries need no such thing and run on a [`DbConnection`] as it is. Those that diesel builds for one backend at
/// a time (inserting many rows, `on_conflict`, `returning`) do.
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

/// Inserts many rows of a struct in one statement: `insert_rows!(conn, table, &rows)`; no rows, no statement.
///
/// With `, or_ignore` a row that a unique constraint refuses is left out; what is counted then differs by database.
///
/// The struct must derive `Insertable` with `#[diesel(treat_none_as_default_value = false)]`: without it diesel
/// inserts row by row on SQLite, in a transaction of its own.
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
            // A duplicate key would end the transaction; a row that conflicts is waited for, and then left out.
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

/// Locks the rows that a query finds, in the query's order, until the transaction ends, and loads it; where that order
/// is everybody's, nobody waits in a circle. What the locks guard is to be read in a statement of its own, afterwards.
///
/// SQLite has one lock, which `begin_write` took: nothing is asked, and nothing found.
macro_rules! lock_rows {
    ($conn:expr, $query:expr) => {{
        let query = $query;
        match &mut *$conn {
            $crate::db::DbConnection::Sqlite(_) => {
                let _not_asked = query;
                diesel::QueryResult::Ok(Vec::new())
            }
            #[cfg(feature = "postgresql")]
            $crate::db::DbConnection::Postgresql(inner) => query.for_update().load(inner),
            #[cfg(feature = "mariadb")]
            $crate::db::DbConnection::Mariadb(inner) => query.for_update().load(inner),
        }
    }};
}

use engine;
pub(crate) use {insert_rows, lock_rows, on_each};

/// How long a transaction may sit there without a statement before the server ends it and frees its rows: longer than
/// any pause of a live process.
#[cfg(any(feature = "postgresql", feature = "mariadb"))]
const IDLE_IN_TRANSACTION: Duration = Duration::from_secs(30);

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Reading only: it refuses to write.
    Read,
    /// Reading and writing what is there.
    Write,
    /// As `Write`, and an embedded database that is missing is made.
    Create,
}

/// Opens a connection and sets its session up; `patience` is how long it waits for another's lock.
pub fn connect(target: &Target, purpose: Purpose, patience: Duration) -> Result<DbConnection, SetupError> {
    match target {
        Target::Sqlite(path) => sqlite::connect(path, purpose, patience).map(DbConnection::Sqlite),
        #[cfg(feature = "postgresql")]
        Target::Postgresql(server) => postgresql::connect(server, purpose, patience).map(DbConnection::Postgresql),
        #[cfg(feature = "mariadb")]
        Target::Mariadb(server) => mariadb::connect(server, purpose, patience).map(DbConnection::Mariadb),
    }
}

/// Whether writers of other processes may be at work between two statements of a transaction: not on SQLite.
pub fn has_other_writers(conn: &DbConnection) -> bool {
    !matches!(conn, DbConnection::Sqlite(_))
}

/// Whether a new row whose uuid and name are both taken is refused for its name: the constraint that was made first is
/// checked first, and that is the name's.
pub fn checks_names_first(conn: &DbConnection) -> bool {
    match conn {
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(_) => true,
        _ => false,
    }
}

/// What a database compares of a name.
pub type Folding = fn(&str) -> String;

/// How the database compares names: MariaDB, whose usual collations know neither case nor spaces at the end, takes two
/// for the same that differ. What it makes of accents it says itself, where a row is found or refused.
pub fn folding(conn: &DbConnection) -> Folding {
    match conn {
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(_) => |name| name.trim_end_matches(' ').to_lowercase(),
        _ => str::to_owned,
    }
}

/// Whether names are the same to the database where they are spelled alike, and nowhere else.
pub fn compares_exactly(conn: &DbConnection) -> bool {
    folding(conn)("A") == "A"
}

/// Whether a pooled connection still answers. A file does not go away, so SQLite is not asked.
pub fn is_alive(conn: &mut DbConnection) -> bool {
    match conn {
        DbConnection::Sqlite(_) => true,
        #[cfg(any(feature = "postgresql", feature = "mariadb"))]
        server => diesel::r2d2::R2D2Connection::ping(server).is_ok(),
    }
}

/// Runs what brings many rows: with libmariadb a statement that is kept for the next time keeps them too.
pub fn keeping_no_statement<T>(conn: &mut DbConnection, run: impl FnOnce(&mut DbConnection) -> T) -> T {
    keep_statements(conn, CacheSize::Disabled);
    let result = run(conn);
    keep_statements(conn, CacheSize::Unbounded);
    result
}

fn keep_statements(conn: &mut DbConnection, how_many: CacheSize) {
    #[cfg(feature = "mariadb")]
    if let DbConnection::Mariadb(conn) = conn {
        conn.set_prepared_statement_cache_size(how_many);
    }
    #[cfg(not(feature = "mariadb"))]
    let _ = (conn, how_many);
}

/// Whether a table that was to be made is there as of OpenStack's oldest revision: MariaDB commits each by itself, so
/// another program may have made it meanwhile.
pub fn has_old_tables(conn: &mut DbConnection) -> QueryResult<bool> {
    match conn {
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(inner) => mariadb::has_old_tables(inner),
        _ => Ok(false),
    }
}

/// The names of all tables.
pub fn table_names(conn: &mut DbConnection) -> QueryResult<Vec<String>> {
    #[derive(QueryableByName)]
    struct Table {
        #[diesel(sql_type = diesel::sql_types::Text)]
        name: String,
    }
    let sql = match conn {
        DbConnection::Sqlite(_) => sqlite::TABLE_NAMES,
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(_) => postgresql::TABLE_NAMES,
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(_) => mariadb::TABLE_NAMES,
    };
    let tables: Vec<Table> = diesel::sql_query(sql).load(conn)?;
    Ok(tables.into_iter().map(|table| table.name).collect())
}

/// The type of a column that holds a moment to the microsecond.
pub fn moment_type(conn: &DbConnection) -> &'static str {
    match conn {
        DbConnection::Sqlite(_) => "DATETIME",
        #[cfg(feature = "postgresql")]
        DbConnection::Postgresql(_) => "TIMESTAMP",
        #[cfg(feature = "mariadb")]
        DbConnection::Mariadb(_) => "DATETIME(6)",
    }
}
