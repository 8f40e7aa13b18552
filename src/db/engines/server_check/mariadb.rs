//! MariaDB and MySQL: proxies that split reads from writes, and settings under which a crash loses commits.

use std::collections::{BTreeSet, HashMap};

use diesel::prelude::*;
use diesel::sql_types::Text;

use super::{Checked, UnsuitableReason};
use crate::db::DbConnection;
use crate::db::engines::dialect::{self, on_each};
use crate::db::engines::rows::statement::Statement;

/// The number of reads whose server is compared with a write's server. A proxy may send some to the primary.
const READS: usize = 5;

const STATEMENT_FORMAT: &str = "it has binlog_format = STATEMENT, with which InnoDB refuses writes at placet's isolation \
                                level (READ COMMITTED); set binlog_format = MIXED or ROW";
const SEVERAL_HOSTS: &str = "the URL names several hosts, and the first is no Galera node: if it fails placet goes on with \
                             the next, which must have every commit that was acknowledged";

/// Checks the server.
pub fn check(conn: &mut DbConnection, names_several_hosts: bool) -> Checked {
    let servers = servers(conn)?;
    if let Err(refusal) = one_server(&servers) {
        return Ok(Err(refusal));
    }
    Ok(judge(&variables(conn)?, names_several_hosts))
}

/// The servers of reads outside of a transaction, and of a write.
fn servers(conn: &mut DbConnection) -> QueryResult<BTreeSet<String>> {
    let server = "SELECT CONCAT(@@hostname, ':', @@port, ' with server_id ', @@server_id) AS value";
    dialect::begin_write(conn)?;
    let mut servers: BTreeSet<String> = Statement::of(server).texts(conn)?.into_iter().collect();
    dialect::rollback(conn)?;
    for _ in 0..READS {
        servers.extend(Statement::of(server).texts(conn)?);
    }
    Ok(servers)
}

/// Refuses a proxy that sends the statements of one connection to several servers.
fn one_server(servers: &BTreeSet<String>) -> Result<(), UnsuitableReason> {
    if servers.len() <= 1 {
        return Ok(());
    }
    let names: Vec<&str> = servers.iter().map(String::as_str).collect();
    Err(format!(
        "statements of one connection reach several servers ({}), so a replica would answer reads with old data; give \
         placet an address that leads to one server, without read/write splitting",
        names.join("; ")
    ))
}

fn variables(conn: &mut DbConnection) -> QueryResult<HashMap<String, String>> {
    let statement = Statement::<(Text, Text)>::of(
        "SHOW VARIABLES WHERE Variable_name IN \
         ('log_bin', 'binlog_format', 'sync_binlog', 'innodb_flush_log_at_trx_commit', 'wsrep_on')",
    );
    let rows: Vec<(String, String)> = on_each!(conn, inner => statement.load(inner))?;
    Ok(rows.into_iter().collect())
}

/// The warnings about a server's variables, or the reason to refuse the server.
fn judge(variables: &HashMap<String, String>, names_several_hosts: bool) -> Result<Vec<String>, UnsuitableReason> {
    let value = |name: &str| variables.get(name).map_or("", String::as_str);
    let has_binlog = value("log_bin") == "ON";
    if has_binlog && value("binlog_format") == "STATEMENT" {
        return Err(STATEMENT_FORMAT.to_owned());
    }
    let on_galera = value("wsrep_on") == "ON";
    let mut warnings = Vec::new();
    let mut check = |name: &str, matters: bool| {
        let found = value(name);
        if matters && found != "1" && !found.is_empty() {
            warnings.push(format!(
                "the server has {name} = {found}: a crash of its machine can lose acknowledged writes; set it to 1"
            ));
        }
    };
    check("innodb_flush_log_at_trx_commit", true);
    // On Galera a crashed node gets its missing commits from the cluster.
    check("sync_binlog", has_binlog && !on_galera);
    if names_several_hosts && !on_galera {
        warnings.push(SEVERAL_HOSTS.to_owned());
    }
    Ok(warnings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(variables: &[(&str, &str)], names_several_hosts: bool) -> Result<Vec<String>, UnsuitableReason> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        judge(&variables.iter().map(owned).collect(), names_several_hosts)
    }

    #[test]
    fn a_proxy_that_splits_reads_from_writes_is_refused_with_the_names_of_the_servers() {
        let servers = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(one_server(&servers(&["db1:3306 with server_id 1"])), Ok(()));
        let both = servers(&["db1:3306 with server_id 1", "db2:3306 with server_id 2"]);
        let refusal = one_server(&both).unwrap_err();
        assert!(
            refusal.contains("(db1:3306 with server_id 1; db2:3306 with server_id 2)"),
            "{refusal}"
        );
    }

    #[test]
    fn what_a_crash_would_lose_is_a_warning_for_each_setting() {
        let durable = [
            ("innodb_flush_log_at_trx_commit", "1"),
            ("log_bin", "OFF"),
            ("sync_binlog", "0"),
        ];
        assert_eq!(judged(&durable, false), Ok(Vec::new()));
        assert_eq!(judged(&durable, true), Ok(vec![SEVERAL_HOSTS.to_owned()]));
        let forgets = [
            ("innodb_flush_log_at_trx_commit", "2"),
            ("log_bin", "ON"),
            ("sync_binlog", "0"),
        ];
        assert_eq!(judged(&forgets, false).unwrap().len(), 2);
        let node = [&forgets[..], &[("wsrep_on", "ON")]].concat();
        assert_eq!(judged(&node, true).unwrap().len(), 1);
    }

    #[test]
    fn statements_in_the_binary_log_are_refused() {
        let statements = [("log_bin", "ON"), ("binlog_format", "STATEMENT")];
        assert_eq!(judged(&statements, false), Err(STATEMENT_FORMAT.to_owned()));
        assert_eq!(
            judged(&[("log_bin", "OFF"), ("binlog_format", "STATEMENT")], false),
            Ok(Vec::new())
        );
    }
}
