//! Locks rows of a query until the transaction ends.

use std::time::Duration;

#[cfg(feature = "mariadb")]
use diesel::mysql::{Mysql, MysqlConnection};
#[cfg(feature = "mariadb")]
use diesel::prelude::*;
#[cfg(feature = "mariadb")]
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

/// How long the writer waits for a lock. Peers hold their locks for some milliseconds. A row with a longer lock delays
/// only the requests for this row (`src/db/writer/held_rows.rs`).
pub const LOCK_WAIT: Duration = Duration::from_millis(200);

/// Locks the rows of a query until the transaction ends, and loads the rows. The locks are taken in the query's order:
/// if all transactions use the same order, none deadlocks. Read the guarded values in a second statement, after this
/// statement. Each statement waits for at most [`LOCK_WAIT`], and fails after this time.
///
/// On SQLite the macro sends nothing and returns no rows, because `begin_write` holds the only lock.
macro_rules! lock_rows {
    ($conn:expr, $query:expr) => {
        $crate::db::engines::dialect::load_from_server!(
            $conn,
            $query.for_update(),
            $crate::db::engines::dialect::BoundedWait
        )
    };
}

/// Loads the unlocked rows of a query, without a wait. Outside of a transaction no lock is kept.
///
/// On SQLite the macro sends nothing and returns no rows.
macro_rules! free_rows {
    ($conn:expr, $query:expr) => {
        $crate::db::engines::dialect::load_from_server!(
            $conn,
            $query.for_update().skip_locked(),
            std::convert::identity
        )
    };
}

/// Loads a query, on MariaDB wrapped by `$mariadb`. On SQLite the macro sends nothing and returns no rows.
macro_rules! load_from_server {
    ($conn:expr, $query:expr, $mariadb:path) => {{
        let query = $query;
        match &mut *$conn {
            $crate::db::DbConnection::Sqlite(_) => {
                let _unused = query;
                diesel::QueryResult::Ok(Vec::new())
            }
            #[cfg(feature = "postgresql")]
            $crate::db::DbConnection::Postgresql(inner) => query.load(inner),
            #[cfg(feature = "mariadb")]
            $crate::db::DbConnection::Mariadb(inner) => $mariadb(query).load(inner),
        }
    }};
}

pub(crate) use {free_rows, load_from_server, lock_rows};

/// A query that waits for locks for at most [`LOCK_WAIT`] on MariaDB. The session's lock timeout has whole seconds, so
/// the writer's session has none, and does not wait. The comment is code for MariaDB alone: MySQL lacks the statement,
/// and MySQL's queries wait for the session's lock timeout.
#[cfg(feature = "mariadb")]
pub struct BoundedWait<Q>(pub Q);

#[cfg(feature = "mariadb")]
impl<Q: QueryFragment<Mysql>> QueryFragment<Mysql> for BoundedWait<Q> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Mysql>) -> QueryResult<()> {
        out.push_sql(&format!(
            "/*M!100600 SET STATEMENT innodb_lock_wait_timeout = 1, max_statement_time = {} FOR */ ",
            LOCK_WAIT.as_secs_f64()
        ));
        self.0.walk_ast(out.reborrow())
    }
}

/// Without a static id diesel finds the prepared statement by its text.
#[cfg(feature = "mariadb")]
impl<Q> QueryId for BoundedWait<Q> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

#[cfg(feature = "mariadb")]
impl<Q: Query> Query for BoundedWait<Q> {
    type SqlType = Q::SqlType;
}

#[cfg(feature = "mariadb")]
impl<Q> RunQueryDsl<MysqlConnection> for BoundedWait<Q> {}
