//! MariaDB, MySQL and Galera: many writers, row locks, READ COMMITTED, changes of the schema that commit at once.

use std::collections::HashMap;
use std::time::Duration;

use diesel::connection::{CacheSize, SimpleConnection};
use diesel::mysql::MysqlConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer, Nullable, Text};
use diesel_migrations::embed_migrations;

use super::migrations::Migrations;
use super::{Capabilities, Purpose};
use crate::db::SetupError;
#[cfg(target_os = "linux")]
use crate::db::connect::tcp_keepalive;
use crate::db::connect::url::Server;
use crate::db::engines::rows::statement::{Bound, Statement};

pub const MIGRATIONS: Migrations = Migrations {
    openstack: embed_migrations!("migrations/mariadb/openstack"),
    placet: embed_migrations!("migrations/mariadb/placet"),
    to_422ece571366: include_str!("../../../../migrations/mariadb/upgrade/422ece571366.sql"),
    to_a082b8bb98d0: include_str!("../../../../migrations/mariadb/upgrade/a082b8bb98d0.sql"),
};

pub const TABLE_NAMES: &str =
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()";

/// How long a sync waits for another one.
const SCHEMA_PATIENCE_SECONDS: u32 = 300;

/// On Galera a node now and then gives no answer to the statement after which it undid a transaction, and waits for the
/// next one: the connection's end is what frees the writer. A live process that pauses longer tries its batch again.
const IDLE_ON_GALERA: Duration = Duration::from_secs(3);

/// Tries one host after the other.
pub fn connect(server: &Server, purpose: Purpose, patience: Duration) -> Result<MysqlConnection, SetupError> {
    let mut refusal = None;
    for url in server.mysql_urls() {
        let opened = MysqlConnection::establish(&url)
            .map_err(|error| error.to_string())
            .and_then(|mut conn| {
                #[cfg(target_os = "linux")]
                tcp_keepalive::watch(&server.mysql_ports());
                prepare(&mut conn, server, purpose, patience)?;
                Ok(conn)
            });
        match opened {
            Ok(conn) => return Ok(conn),
            Err(detail) => refusal = refusal.or(Some(detail)),
        }
    }
    Err(server.failed(&refusal.unwrap_or_default()))
}

#[derive(QueryableByName)]
struct Variable {
    #[diesel(sql_type = Text, column_name = "Variable_name")]
    name: String,
    #[diesel(sql_type = Text, column_name = "Value")]
    value: String,
}

/// What the server knows of the variables that not every one has.
fn variables(conn: &mut MysqlConnection) -> QueryResult<HashMap<String, String>> {
    let rows: Vec<Variable> = diesel::sql_query(
        "SHOW SESSION VARIABLES WHERE Variable_name IN ('wsrep_on', 'idle_write_transaction_timeout')",
    )
    .load(conn)?;
    Ok(rows.into_iter().map(|row| (row.name, row.value)).collect())
}

/// A session's settings. VCPU has id 0, which is no wish for a new number. A transaction whose client is gone must not
/// hold a hot provider. On Galera every read waits for what other nodes have acknowledged.
fn prepare(conn: &mut MysqlConnection, server: &Server, purpose: Purpose, patience: Duration) -> Result<(), String> {
    let told = |error: diesel::result::Error| error.to_string();
    let known = variables(conn).map_err(told)?;
    let mut settings = vec![
        "sql_mode = 'TRADITIONAL,NO_AUTO_VALUE_ON_ZERO'".to_owned(),
        "time_zone = '+00:00'".to_owned(),
        "lc_messages = 'en_US'".to_owned(),
        "autocommit = 1".to_owned(),
        lock_wait(patience),
    ];
    let on_galera = is_on_galera(&known);
    if known.contains_key("idle_write_transaction_timeout") {
        let patience = if on_galera {
            IDLE_ON_GALERA
        } else {
            super::IDLE_IN_TRANSACTION
        };
        settings.push(format!("idle_write_transaction_timeout = {}", patience.as_secs()));
    }
    if on_galera {
        settings.push("wsrep_sync_wait = 1".to_owned());
    }
    let access = if purpose == Purpose::Read {
        "READ ONLY"
    } else {
        "READ WRITE"
    };
    conn.batch_execute(&format!(
        "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, {access}; SET SESSION {}",
        settings.join(", SESSION ")
    ))
    .map_err(told)?;
    if server.asks_for_tls() && !is_encrypted(conn).map_err(told)? {
        return Err("the URL asks for TLS, and the server does not speak it".to_owned());
    }
    Ok(())
}

fn is_encrypted(conn: &mut MysqlConnection) -> QueryResult<bool> {
    let cipher: Variable = diesel::sql_query("SHOW SESSION STATUS LIKE 'Ssl_cipher'").get_result(conn)?;
    Ok(!cipher.value.is_empty())
}

/// Whole seconds, at least one: with 0 MariaDB does not wait at all.
fn lock_wait(patience: Duration) -> String {
    format!("innodb_lock_wait_timeout = {}", patience.as_secs_f64().ceil().max(1.0))
}

/// Only a repeatable-read transaction is one moment; the session's own level is another.
pub fn begin_read(conn: &mut MysqlConnection) -> QueryResult<()> {
    conn.batch_execute(
        "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
    )
}

/// Marks the transaction that was begun: with it the mark is gone.
///
/// On Galera a commit of another node undoes whatever stands in its way, and where that meets the preparing or closing
/// of a statement, nobody is told. What comes after would commit by itself, each statement alone; so nothing does, and
/// only what still bears the mark is committed.
pub fn begin_write(conn: &mut MysqlConnection) -> QueryResult<()> {
    let begun = conn.batch_execute("SET autocommit = 0; START TRANSACTION; SAVEPOINT placet");
    if begun.is_err() {
        // What went wrong before says more.
        drop(rollback(conn));
    }
    begun
}

/// What begins a transaction within a compound statement, as `begin_write` does.
pub const BEGIN_WITHIN: &str = "SET autocommit = 0; START TRANSACTION; SAVEPOINT placet; ";

/// As `end_write` does, by one statement that is prepared once: plain ones go to the server three times, because the
/// client library tells it before and after that there are several.
pub fn commit_prepared(conn: &mut MysqlConnection) -> QueryResult<()> {
    let text = "BEGIN NOT ATOMIC RELEASE SAVEPOINT placet; COMMIT; SET autocommit = 1; END";
    let committed = Statement::<Bound>::kept::<BigInt>(text.to_owned(), Vec::new()).execute(conn);
    if committed.is_err() {
        // What went wrong before says more.
        drop(rollback(conn));
    }
    committed.map(|_| ())
}

/// DDL commits what was begun, so that no mark lasts.
pub fn begin_schema(conn: &mut MysqlConnection) -> QueryResult<()> {
    conn.batch_execute("START TRANSACTION")
}

/// Ends what `begin_write` began, with COMMIT or ROLLBACK, if it still is that; fails where it was undone meanwhile.
pub fn end_write(conn: &mut MysqlConnection, end: &str) -> QueryResult<()> {
    let ended = conn.batch_execute(&format!("RELEASE SAVEPOINT placet; {end}; SET autocommit = 1"));
    if ended.is_err() {
        // What went wrong before says more.
        drop(rollback(conn));
    }
    ended
}

/// Writes it, as `hold_writers` does; twice, so that it stays what it was: another epoch would have everything read again.
pub fn hold_registrations(conn: &mut MysqlConnection) -> QueryResult<()> {
    let turned = "UPDATE placet_epoch SET epoch = REVERSE(epoch)";
    conn.batch_execute(&format!("{turned}; {turned}"))
}

/// Writes them, for on Galera locks end at the node: of two that wrote one row, the second to commit is refused. By a
/// microsecond, because a row that stays as it was is not written, and nobody is to seem alive who is not.
pub fn hold_writers(conn: &mut MysqlConnection) -> QueryResult<()> {
    conn.batch_execute("UPDATE placet_writers SET seen_at = seen_at + INTERVAL 1 MICROSECOND ORDER BY id")
}

pub fn set_lock_timeout(conn: &mut MysqlConnection, patience: Duration) -> QueryResult<()> {
    conn.batch_execute(&format!("SET SESSION {}", lock_wait(patience)))
}

/// A ROLLBACK that is answered 1213 was overtaken by the server's own, and done again it puts the session in order.
pub fn rollback(conn: &mut MysqlConnection) -> QueryResult<()> {
    forget_prepared(conn);
    let rollback = "ROLLBACK; SET autocommit = 1";
    conn.batch_execute(rollback)
        .or_else(|error| match super::was_undone(&error) {
            true => conn.batch_execute(rollback),
            false => Err(error),
        })
}

/// After a Galera node undid a transaction, what was prepared on the connection may be executed and never answered: the server
/// waits for a command, the client for an answer, without end. So nothing that was prepared before is used again.
fn forget_prepared(conn: &mut MysqlConnection) {
    conn.set_prepared_statement_cache_size(CacheSize::Disabled);
    conn.set_prepared_statement_cache_size(CacheSize::Unbounded);
}

/// A lock by name, for every change of the schema commits what was begun. On other nodes of a cluster it is not seen:
/// there the statements of `migrations/mariadb` may be met twice.
pub fn lock_schema(conn: &mut MysqlConnection) -> QueryResult<()> {
    #[derive(QueryableByName)]
    struct Locked {
        #[diesel(sql_type = Nullable<Integer>)]
        locked: Option<i32>,
    }
    let sql = format!(
        "SELECT CAST(GET_LOCK(CONCAT('placet ', LEFT(DATABASE(), 50)), {SCHEMA_PATIENCE_SECONDS}) AS SIGNED INTEGER) AS locked"
    );
    match diesel::sql_query(sql).get_result::<Locked>(conn)?.locked {
        Some(1) => Ok(()),
        _ => Err(diesel::result::Error::NotFound),
    }
}

/// The connection's end would do it too.
pub fn unlock_schema(conn: &mut MysqlConnection) {
    if let Err(error) = conn.batch_execute("DO RELEASE_LOCK(CONCAT('placet ', LEFT(DATABASE(), 50)))") {
        log::debug!("The lock of the schema was not given back: {error}");
    }
}

/// What OpenStack's oldest revision has and the newest has not, or the other way round.
pub fn has_old_tables(conn: &mut MysqlConnection) -> QueryResult<bool> {
    #[derive(QueryableByName)]
    struct Signs {
        #[diesel(sql_type = BigInt)]
        signs: i64,
    }
    let sql = "SELECT CAST((SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() \
               AND index_name IN ('inventories_resource_provider_id_idx', 'ix_placement_aggregates_uuid', \
               'resource_providers_name_idx')) \
               + (NOT EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE() \
               AND table_name = 'consumers' AND column_name = 'consumer_type_id')) AS SIGNED INTEGER) AS signs";
    Ok(diesel::sql_query(sql).get_result::<Signs>(conn)?.signs > 0)
}

/// FLOAT has four bytes, and its value is what MariaDB writes it as: six digits. Read as a number, 0.9 is 0.89999998.
pub fn ratio(read: f64) -> f64 {
    format!("{:.5e}", read as f32).parse().unwrap_or(read)
}

/// Compound statements outside of a routine are MariaDB's, and rows as JSON its 10.6. On Galera a transaction may be undone
/// before its end is sent: what was prepared before may never be answered then.
pub fn capabilities(conn: &mut MysqlConnection) -> QueryResult<Capabilities> {
    #[derive(QueryableByName)]
    struct Version {
        #[diesel(sql_type = Text)]
        version: String,
    }
    let found: Version = diesel::sql_query("SELECT VERSION() AS version").get_result(conn)?;
    let compound_writes = has_compounds(&found.version);
    let prepared_commit = compound_writes && !is_on_galera(&variables(conn)?);
    Ok(Capabilities {
        compound_writes,
        prepared_commit,
    })
}

fn is_on_galera(variables: &HashMap<String, String>) -> bool {
    variables.get("wsrep_on").is_some_and(|on| on == "ON")
}

fn has_compounds(version: &str) -> bool {
    let mut numbers = version.split(['.', '-']).map_while(|it| it.parse::<u32>().ok());
    let number = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    version.contains("MariaDB") && number >= (10, 6)
}

#[cfg(test)]
mod tests {
    use super::{has_compounds, ratio};

    #[test]
    fn compound_statements_are_mariadbs() {
        for version in [
            "10.6.0-MariaDB",
            "10.11.14-MariaDB-0+deb12u2",
            "11.4.2-MariaDB-log",
            "12.0.1-MariaDB",
        ] {
            assert!(has_compounds(version), "{version}");
        }
        for version in [
            "10.5.29-MariaDB",
            "10.3.39-MariaDB-log",
            "8.0.36",
            "8.4.0-commercial",
            "5.5.5",
            "",
        ] {
            assert!(!has_compounds(version), "{version}");
        }
    }

    #[test]
    fn a_ratio_of_four_bytes_is_the_number_that_was_written() {
        for written in [0.9, 1.1, 1.0, 16.0, 1.5, 0.001, 123456.0, 0.000123456, 9999.99] {
            assert_eq!(ratio(f64::from(written as f32)), written);
        }
    }
}
