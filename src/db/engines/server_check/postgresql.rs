//! PostgreSQL: poolers, URLs of several hosts, and settings under which a crash loses commits.

use diesel::QueryResult;

use super::{Checked, UnsuitableReason};
use crate::db::DbConnection;
use crate::db::connect::url::Server;
use crate::db::engines::dialect;
use crate::db::engines::rows::statement::Statement;

const POOLED: &str = "its connections change sessions between transactions, as with pgbouncer in transaction mode, so \
                      placet's settings and prepared statements would be lost; connect to the server itself, or set \
                      pool_mode = session";
const STANDBY: &str = "its URL names several hosts, of which a standby could answer reads with old data; add \
                       target_session_attrs=read-write to the URL";

/// Refuses a URL of several hosts that may lead to a standby.
pub fn check_url(server: &Server) -> Result<(), UnsuitableReason> {
    let target = server.option("target_session_attrs");
    if server.names_several_hosts() && !matches!(target, Some("read-write" | "primary")) {
        return Err(STANDBY.to_owned());
    }
    Ok(())
}

/// Checks the server on two connections.
pub fn check(one: &mut DbConnection, other: &mut DbConnection) -> Checked {
    if is_pooled(one, other)? {
        return Ok(Err(POOLED.to_owned()));
    }
    let off = "SELECT name AS value FROM pg_settings WHERE setting = 'off' AND name IN ('fsync', 'full_page_writes')";
    let mut warnings: Vec<String> = Statement::of(off)
        .texts(one)?
        .into_iter()
        .map(|name| {
            format!("the server has {name} = off: a crash of its machine can lose acknowledged writes; set it to on")
        })
        .collect();
    let reset = "SELECT reset_val AS value FROM pg_settings WHERE name = 'synchronous_commit'";
    if Statement::of(reset).texts(one)?.iter().any(|value| value == "off") {
        warnings.push(
            "the server has synchronous_commit = off for placet's user: placet's sessions use on, because a crash would \
             lose acknowledged writes"
                .to_owned(),
        );
    }
    Ok(Ok(warnings))
}

/// Whether sessions are shared. While `other` is in a transaction, `one` runs two transactions. A pooler gives its idle
/// session to `other`, or a new session to the second transaction.
fn is_pooled(one: &mut DbConnection, other: &mut DbConnection) -> QueryResult<bool> {
    let session = |conn: &mut DbConnection| Statement::of("SELECT pg_backend_pid()::text AS value").texts(conn);
    let first = session(one)?;
    dialect::begin_write(other)?;
    let occupied = session(other)?;
    let second = session(one)?;
    dialect::rollback(other)?;
    Ok(first == occupied || first != second)
}
