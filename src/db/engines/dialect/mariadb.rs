//! MariaDB, MySQL and Galera: many writers, row locks, READ COMMITTED. Each change of the schema commits by itself.

use std::collections::HashMap;
use std::time::Duration;

use diesel::connection::{CacheSize, SimpleConnection};
use diesel::mysql::MysqlConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};

use super::{Capabilities, OpenMode};
use crate::db::SetupError;
#[cfg(target_os = "linux")]
use crate::db::connect::tcp_keepalive;
use crate::db::connect::url::Server;
use crate::db::engines::rows::statement::{Fragment, Statement};

pub const TABLE_NAMES: &str =
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()";

/// How long a sync waits for a concurrent sync.
const SCHEMA_LOCK_TIMEOUT_SECONDS: u32 = 300;

/// The idle timeout of a transaction on Galera. After a rollback of a transaction, a node sometimes does not answer the
/// statement, and waits for the next statement. Only the end of the connection frees the writer. A live process with a
/// longer pause loses its transaction, and tries the batch again.
const IDLE_TIMEOUT_ON_GALERA: Duration = Duration::from_secs(3);

/// How long a session may be silent outside of a writing transaction, as in the servers' defaults.
const WAIT_TIMEOUT: &str = "wait_timeout = 28800";
/// The same inside of a writing transaction, and during a change of the schema: after this time the locks of a vanished
/// host are released ([`super::IDLE_IN_TRANSACTION_TIMEOUT`]).
///
/// MariaDB's `idle_write_transaction_timeout` alone is not enough: before its first written row, a transaction with
/// locks counts as read-only. MySQL lacks this timeout.
const LOCKS_WAIT_TIMEOUT: &str = "wait_timeout = 30";

/// Connects to the first host that answers. Returns the first error if no host answers.
pub fn connect(server: &Server, mode: OpenMode, lock_timeout: Duration) -> Result<MysqlConnection, SetupError> {
    let mut first_error = None;
    for url in server.mysql_urls() {
        let opened = MysqlConnection::establish(&url)
            .map_err(|error| error.to_string())
            .and_then(|mut conn| {
                #[cfg(target_os = "linux")]
                tcp_keepalive::enable(&server.mysql_ports());
                set_up_session(&mut conn, server, mode, lock_timeout)?;
                Ok(conn)
            });
        match opened {
            Ok(conn) => return Ok(conn),
            Err(detail) => first_error = first_error.or(Some(detail)),
        }
    }
    Err(server.connect_error(&first_error.unwrap_or_default()))
}

/// The variables that only some servers have. The server does not know a missing variable.
fn variables(conn: &mut MysqlConnection) -> QueryResult<HashMap<String, String>> {
    let statement = Statement::<(Text, Text)>::of(
        "SHOW SESSION VARIABLES WHERE Variable_name IN \
         ('wsrep_on', 'idle_write_transaction_timeout', 'idle_readonly_transaction_timeout', \
         'idle_transaction_timeout', 'max_statement_time', 'max_execution_time', \
         'in_predicate_conversion_threshold', 'eq_range_index_dive_limit')",
    );
    Ok(statement.load::<(String, String)>(conn)?.into_iter().collect())
}

/// Sets up the session:
///
/// - `NO_AUTO_VALUE_ON_ZERO`, because VCPU has the id 0, which must not be replaced by a generated id;
/// - no timeout of a statement, whatever the user or the server sets (MariaDB's `max_statement_time`, MySQL's
///   `max_execution_time`): placet waits for locks until the caller's deadline, and loads whole tables;
/// - the servers' default timeouts of a silent connection, whatever the server sets. A transaction that writes has a
///   shorter timeout of its own ([`begin_write`]);
/// - plans of long lists of keys by the contents of the index (`eq_range_index_dive_limit`), and as lists
///   (`in_predicate_conversion_threshold`). By its statistics, which lag behind, MariaDB reads the whole index of a
///   table for a thousand missing keys;
/// - an idle timeout, so that a transaction whose client is gone does not keep its locks;
/// - `wsrep_sync_wait` on Galera, so that a read waits for all acknowledged commits of further nodes.
fn set_up_session(
    conn: &mut MysqlConnection,
    server: &Server,
    mode: OpenMode,
    lock_timeout: Duration,
) -> Result<(), String> {
    let message = |error: diesel::result::Error| error.to_string();
    let known = variables(conn).map_err(message)?;
    let mut settings = vec![
        "sql_mode = 'TRADITIONAL,NO_AUTO_VALUE_ON_ZERO'".to_owned(),
        "time_zone = '+00:00'".to_owned(),
        "lc_messages = 'en_US'".to_owned(),
        "autocommit = 1".to_owned(),
        lock_wait_timeout(lock_timeout),
        "net_read_timeout = 30".to_owned(),
        "net_write_timeout = 60".to_owned(),
    ];
    settings.push(match mode {
        OpenMode::Create => LOCKS_WAIT_TIMEOUT.to_owned(),
        OpenMode::Read | OpenMode::Write => WAIT_TIMEOUT.to_owned(),
    });
    for disabled in [
        "max_statement_time",
        "max_execution_time",
        "idle_readonly_transaction_timeout",
        "idle_transaction_timeout",
        "in_predicate_conversion_threshold",
        "eq_range_index_dive_limit",
    ] {
        if known.contains_key(disabled) {
            settings.push(format!("{disabled} = 0"));
        }
    }
    let on_galera = is_on_galera(&known);
    if known.contains_key("idle_write_transaction_timeout") {
        let idle_timeout = if on_galera {
            IDLE_TIMEOUT_ON_GALERA
        } else {
            super::IDLE_IN_TRANSACTION_TIMEOUT
        };
        settings.push(format!("idle_write_transaction_timeout = {}", idle_timeout.as_secs()));
    }
    if on_galera {
        settings.push("wsrep_sync_wait = 1".to_owned());
    }
    let access_mode = if mode == OpenMode::Read {
        "READ ONLY"
    } else {
        "READ WRITE"
    };
    conn.batch_execute(&format!(
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, {access_mode}; SET SESSION {}",
        settings.join(", SESSION ")
    ))
    .map_err(message)?;
    if server.requires_tls() && !is_encrypted(conn).map_err(message)? {
        return Err("the URL asks for TLS, and the server does not offer it".to_owned());
    }
    Ok(())
}

fn is_encrypted(conn: &mut MysqlConnection) -> QueryResult<bool> {
    let status = Statement::<(Text, Text)>::of("SHOW SESSION STATUS LIKE 'Ssl_cipher'");
    let (_, cipher): (String, String) = status.get_result(conn)?;
    Ok(!cipher.is_empty())
}

/// The setting for the lock timeout, in whole seconds. Below one second the timeout is 0 on MariaDB, which does not
/// wait. MySQL and older versions refuse 0: for them the comment is no code, and the wait is one second.
fn lock_wait_timeout(lock_timeout: Duration) -> String {
    match lock_timeout.as_secs() {
        0 => "innodb_lock_wait_timeout = 1 /*M!100600 - 1 */".to_owned(),
        seconds => format!("innodb_lock_wait_timeout = {seconds}"),
    }
}

/// Reads are consistent within a transaction only at REPEATABLE READ. The session's level is READ COMMITTED.
pub fn begin_read(conn: &mut MysqlConnection) -> QueryResult<()> {
    conn.batch_execute(
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    )
}

/// The statements of [`begin_write`], as the beginning of a compound statement.
pub const BEGIN_IN_COMPOUND: &str = "SET autocommit = 0, wait_timeout = 30; START TRANSACTION; SAVEPOINT placet; ";

/// Begins a transaction, and marks the transaction with a savepoint that is gone after a rollback by the server.
///
/// On Galera the commit of a second node rolls a conflicting transaction back. If a statement is being prepared or
/// closed at this moment, the client gets no error, and each later statement would commit by itself. So `autocommit` is
/// off, and [`end_write`] commits only a transaction that still has the savepoint.
pub fn begin_write(conn: &mut MysqlConnection) -> QueryResult<()> {
    let begun = conn.batch_execute(BEGIN_IN_COMPOUND.trim_end_matches("; "));
    or_roll_back(conn, begun)
}

/// Rolls back after an error, which says more than an error of the rollback.
fn or_roll_back(conn: &mut MysqlConnection, result: QueryResult<()>) -> QueryResult<()> {
    result.inspect_err(|_| drop(rollback(conn)))
}

/// Commits as [`end_write`] does, by one prepared statement. Several statements in plain text take three round trips,
/// because the client library turns the option for such texts on before and off after.
pub fn commit_prepared(conn: &mut MysqlConnection) -> QueryResult<()> {
    let text = format!("BEGIN NOT ATOMIC RELEASE SAVEPOINT placet; COMMIT; SET autocommit = 1, {WAIT_TIMEOUT}; END");
    let committed = Fragment::new(text, []).cached::<BigInt>().execute(conn);
    or_roll_back(conn, committed.map(|_| ()))
}

/// Begins without a savepoint: DDL commits the transaction, and the savepoint would be gone.
pub fn begin_schema(conn: &mut MysqlConnection) -> QueryResult<()> {
    conn.batch_execute("START TRANSACTION")
}

/// Ends the transaction of [`begin_write`], with COMMIT or ROLLBACK. Fails if the server has rolled the transaction
/// back since.
pub fn end_write(conn: &mut MysqlConnection, end: &str) -> QueryResult<()> {
    let ended = conn.batch_execute(&format!(
        "RELEASE SAVEPOINT placet; {end}; SET autocommit = 1, {WAIT_TIMEOUT}"
    ));
    or_roll_back(conn, ended)
}

/// Lets a statement wait for locks in the writer's session, which does not wait otherwise. The comment is code for
/// MariaDB alone. Batches of peers hold the rows for some milliseconds each.
const WAIT_FOR_LOCK: &str = "/*M!100600 SET STATEMENT innodb_lock_wait_timeout = 1 FOR */";

/// Writes the epoch's row, for the reason given at [`hold_writers`]. The epoch is reversed twice, and so stays the
/// same: a new epoch would make every process reload its snapshot.
pub fn hold_registrations(conn: &mut MysqlConnection) -> QueryResult<()> {
    let reverse = "UPDATE placet_epoch SET epoch = REVERSE(epoch)";
    conn.batch_execute(&format!("{WAIT_FOR_LOCK} {reverse}; {reverse}"))
}

/// Writes the rows of all writers. Locks are not enough: on Galera a lock ends at the node, but of two transactions
/// that write one row the second to commit is refused. Each heartbeat moves by one microsecond only: an unchanged row
/// is not written, and a dead writer must not look alive.
pub fn hold_writers(conn: &mut MysqlConnection) -> QueryResult<()> {
    let write = "UPDATE placet_writers SET seen_at = seen_at + INTERVAL 1 MICROSECOND ORDER BY id";
    conn.batch_execute(&format!("{WAIT_FOR_LOCK} {write}"))
}

pub fn set_lock_timeout(conn: &mut MysqlConnection, lock_timeout: Duration) -> QueryResult<()> {
    conn.batch_execute(&format!("SET SESSION {}", lock_wait_timeout(lock_timeout)))
}

/// Rolls back, and turns `autocommit` on again. If ROLLBACK is answered with error 1213, the server had already rolled
/// the transaction back, and a second ROLLBACK succeeds.
pub fn rollback(conn: &mut MysqlConnection) -> QueryResult<()> {
    forget_prepared_statements(conn);
    let rollback = format!("ROLLBACK; SET autocommit = 1, {WAIT_TIMEOUT}");
    conn.batch_execute(&rollback).or_else(|error| {
        if super::was_rolled_back(&error) {
            conn.batch_execute(&rollback)
        } else {
            Err(error)
        }
    })
}

/// Empties the statement cache. After a rollback by a Galera node, the node may never answer an earlier prepared
/// statement: the server waits for a command and the client for an answer.
fn forget_prepared_statements(conn: &mut MysqlConnection) {
    conn.set_prepared_statement_cache_size(CacheSize::Disabled);
    conn.set_prepared_statement_cache_size(CacheSize::Unbounded);
}

/// Takes a named lock, because each change of the schema commits the transaction and its locks. Further nodes of a
/// cluster do not see the lock, so two syncs there can run the statements of `migrations/` at the same time.
pub fn lock_schema(conn: &mut MysqlConnection) -> QueryResult<()> {
    let sql = format!(
        "SELECT CAST(GET_LOCK(CONCAT('placet ', LEFT(DATABASE(), 50)), {SCHEMA_LOCK_TIMEOUT_SECONDS}) AS SIGNED INTEGER) AS locked"
    );
    match Statement::<Nullable<Integer>>::of(&sql).get_result::<Option<i32>>(conn)? {
        Some(1) => Ok(()),
        _ => Err(diesel::result::Error::NotFound),
    }
}

/// Releases the named lock. After a failure, the end of the connection releases the lock.
pub fn unlock_schema(conn: &mut MysqlConnection) {
    if let Err(error) = conn.batch_execute("DO RELEASE_LOCK(CONCAT('placet ', LEFT(DATABASE(), 50)))") {
        log::debug!("The lock of the schema could not be released: {error}");
    }
}

/// Counts the signs of OpenStack's oldest revision: indexes that only it has, and a column that it lacks.
pub fn has_old_tables(conn: &mut MysqlConnection) -> QueryResult<bool> {
    let sql = "SELECT CAST((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() \
               AND index_name IN ('inventories_resource_provider_id_idx', 'ix_placement_aggregates_uuid', \
               'resource_providers_name_idx')) \
               + (NOT EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() \
               AND table_name = 'consumers' AND column_name = 'consumer_type_id')) AS SIGNED INTEGER) AS signs";
    let signs: i64 = Statement::<BigInt>::of(sql).get_result(conn)?;
    Ok(signs > 0)
}

/// Rounds to six digits, as MariaDB prints a FLOAT of four bytes. diesel reads 0.9 as 0.89999998.
pub fn ratio(read: f64) -> f64 {
    format!("{:.5e}", read as f32).parse().unwrap_or(read)
}

/// MariaDB has compound statements outside of routines, unlike MySQL, and rows from JSON since 10.6. A Galera node may
/// roll a transaction back before its end is sent, and never answer a prepared statement. So on Galera the commit is
/// not prepared.
pub fn capabilities(conn: &mut MysqlConnection) -> QueryResult<Capabilities> {
    let version: String = Statement::<Text>::of("SELECT VERSION() AS version").get_result(conn)?;
    let compound_writes = has_compound_statements(&version);
    let prepared_commit = compound_writes && !is_on_galera(&variables(conn)?);
    Ok(Capabilities {
        compound_writes,
        prepared_commit,
    })
}

fn is_on_galera(variables: &HashMap<String, String>) -> bool {
    variables.get("wsrep_on").is_some_and(|on| on == "ON")
}

fn has_compound_statements(version: &str) -> bool {
    let mut numbers = version.split(['.', '-']).map_while(|it| it.parse::<u32>().ok());
    let number = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    version.contains("MariaDB") && number >= (10, 6)
}

#[cfg(test)]
mod tests {
    use super::{has_compound_statements, ratio};

    #[test]
    fn only_mariadb_from_10_6_on_has_compound_statements() {
        for version in [
            "10.6.0-MariaDB",
            "10.11.14-MariaDB-0+deb12u2",
            "11.4.2-MariaDB-log",
            "12.0.1-MariaDB",
        ] {
            assert!(has_compound_statements(version), "{version}");
        }
        for version in [
            "10.5.29-MariaDB",
            "10.3.39-MariaDB-log",
            "8.0.36",
            "8.4.0-commercial",
            "5.5.5",
            "",
        ] {
            assert!(!has_compound_statements(version), "{version}");
        }
    }

    #[test]
    fn a_ratio_that_was_stored_in_four_bytes_is_read_as_written() {
        for written in [0.9, 1.1, 1.0, 16.0, 1.5, 0.001, 123456.0, 0.000123456, 9999.99] {
            assert_eq!(ratio(f64::from(written as f32)), written);
        }
    }
}
