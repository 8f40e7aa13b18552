//! Locking rows of a query until the transaction ends.

use std::time::Duration;

#[cfg(feature = "mariadb")]
use diesel::mysql::{Mysql, MysqlConnection};
#[cfg(feature = "mariadb")]
use diesel::prelude::*;
#[cfg(feature = "mariadb")]
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};

/// How long the writer waits for a lock. Peers hold their locks for some milliseconds. A row that is locked for longer
/// delays only the requests that need it (`src/db/writer/held_rows.rs`).
pub const LOCK_WAIT: Duration = Duration::from_millis(200);

/// Locks the rows of a query until the transaction ends, and loads them. The locks are taken in the query's order: if
/// all transactions use the same order, none deadlocks. Read what the locks guard in another statement, after this one.
/// Each statement waits for at most [`LOCK_WAIT`], and then fails.
///
/// On SQLite it sends nothing and returns no rows, because `begin_write` holds the only lock.
macro_rules! lock_rows {
    ($conn:expr, $query:expr) => {
        $crate::db::engines::dialect::load_from_server!(
            $conn,
            $query.for_update(),
            $crate::db::engines::dialect::BoundedWait
        )
    };
}

/// Loads those rows of a query that no other transaction has locked. It does not wait, and outside of a transaction it
/// keeps no lock.
///
/// On SQLite it sends nothing and returns no rows.
macro_rules! free_rows {
    ($conn:expr, $query:expr) => {
        $crate::db::engines::dialect::load_from_server!(
            $conn,
            $query.for_update().skip_locked(),
            std::convert::identity
        )
    };
}

/// Loads a query, on MariaDB wrapped by `$mariadb`. On SQLite it sends nothing and returns no rows.
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

/// A query that waits for locks for at most [`LOCK_WAIT`] on MariaDB. Its lock timeout has whole seconds, so the
/// writer's session has none, and does not wait. The comment is code for MariaDB alone: MySQL lacks the statement, and
/// its queries wait for the session's lock timeout.
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
