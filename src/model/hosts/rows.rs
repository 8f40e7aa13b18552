//! The rows of `placet_hosts`: the providers that the agent of a host owns, and the description that it wrote.

use std::collections::BTreeMap;

use chrono::NaiveDateTime;
use diesel::prelude::*;
use serde::{Deserialize, Serialize};

use crate::db::engines::dialect::in_lists;
use crate::db::schema::{octet_length, placet_hosts as table};
use crate::db::{DbConnection, DbResult};
use crate::model::batch::entry::Entry;
use crate::model::batch::own_tables::OwnRow;

/// A row of `placet_hosts`, without the host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRow {
    /// The description of the host as the last report wrote it; `None` if no report has written one.
    pub description: Option<String>,
    pub providers: Vec<OwnProvider>,
}

/// A provider that the agent of a host owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnProvider {
    pub uuid: String,
    pub name: String,
    /// Whether the last report lacks the provider, which has allocations.
    pub is_gone: bool,
}

impl HostRow {
    pub fn owns(&self, uuid: &str) -> bool {
        self.providers.iter().any(|own| own.uuid == uuid)
    }

    /// The lengths of the rows of these hosts.
    pub fn bytes(conn: &mut DbConnection, hosts: &[&str]) -> DbResult<BTreeMap<String, usize>> {
        let rows: Vec<(String, i32)> = in_lists(hosts, |hosts| {
            table::table
                .filter(table::host.eq_any(hosts))
                .select((table::host, octet_length(table::body)))
                .load(&mut *conn)
        })?;
        let lengths = rows.into_iter();
        Ok(lengths
            .map(|(host, bytes)| (host, usize::try_from(bytes).unwrap_or(0)))
            .collect())
    }

    fn read(host: &str, body: &str) -> HostRow {
        serde_json::from_str(body).unwrap_or_else(|error| {
            log::error!("placet_hosts has a row of host {host} that cannot be read; its agent owns nothing: {error}");
            HostRow::default()
        })
    }
}

impl OwnRow for HostRow {
    const TABLE: &'static str = "placet_hosts";

    fn rows(conn: &mut DbConnection, hosts: &[&str]) -> DbResult<BTreeMap<String, HostRow>> {
        let rows: Vec<(String, String)> = in_lists(hosts, |hosts| {
            table::table
                .filter(table::host.eq_any(hosts))
                .select((table::host, table::body))
                .load(&mut *conn)
        })?;
        let rows = rows.into_iter().map(|(host, body)| {
            let row = HostRow::read(&host, &body);
            (host, row)
        });
        Ok(rows.collect())
    }

    /// Guard: the lease of the host, which each report writes with its number.
    fn write(conn: &mut DbConnection, now: NaiveDateTime, host: &str, entry: &Entry<HostRow>) -> DbResult<usize> {
        let known = table::table.filter(table::host.eq(host));
        let Some(row) = &entry.now else {
            return diesel::delete(known).execute(conn);
        };
        let body = serde_json::to_string(row).expect("texts can be written");
        if entry.base.is_some() {
            return diesel::update(known)
                .set((table::updated_at.eq(now), table::body.eq(body)))
                .execute(conn);
        }
        let row = (table::host.eq(host), table::created_at.eq(now), table::body.eq(body));
        diesel::insert_into(table::table).values(row).execute(conn)
    }
}
