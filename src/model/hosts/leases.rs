//! The leases of hosts, as rows of a batch.

use std::collections::BTreeMap;

use chrono::NaiveDateTime;
use diesel::prelude::*;

pub use crate::db::leases::LeaseValues;
use crate::db::leases::{self, StoredLease, UNKNOWN, UP};
use crate::db::schema::placet_leases as table;
use crate::db::{DbConnection, DbResult};
use crate::model::batch::entry::Entry;
use crate::model::batch::own_tables::OwnRow;

/// Whether a host is alive, as its lease says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// The host never reported.
    None,
    Up,
    /// The lease is over.
    Unknown,
}

impl Health {
    /// All values with their names.
    pub const ALL: [(&'static str, Health); 3] = [("none", Health::None), (UP, Health::Up), (UNKNOWN, Health::Unknown)];

    pub fn name(self) -> &'static str {
        Health::ALL[self as usize].0
    }
}

/// A row of `placet_leases`, without the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRow {
    pub values: LeaseValues,
    pub health: Health,
    /// Whether the lease is over by the database's clock.
    pub is_over: bool,
}

impl From<StoredLease> for LeaseRow {
    fn from(stored: StoredLease) -> LeaseRow {
        LeaseRow {
            is_over: stored.is_over(),
            health: health(&stored),
            values: stored.values,
        }
    }
}

/// The health of a host with a lease.
pub fn health(stored: &StoredLease) -> Health {
    if stored.health == UNKNOWN {
        Health::Unknown
    } else {
        Health::Up
    }
}

impl OwnRow for LeaseRow {
    const TABLE: &'static str = "placet_leases";

    fn rows(conn: &mut DbConnection, hosts: &[&str]) -> DbResult<BTreeMap<String, LeaseRow>> {
        let stored = leases::of_hosts(conn, hosts)?.into_iter();
        Ok(stored.map(|lease| (lease.host.clone(), lease.into())).collect())
    }

    /// Guard: the number of the last report, and the health. For a new lease the primary key.
    fn write(conn: &mut DbConnection, _: NaiveDateTime, host: &str, entry: &Entry<LeaseRow>) -> DbResult<usize> {
        let (base, now) = (entry.base.as_ref(), entry.now.as_ref());
        match (base, now) {
            (None, None) => Ok(1),
            (None, Some(now)) => leases::insert(conn, host, &now.values),
            (Some(base), None) => {
                let known = table::table
                    .filter(table::host.eq(host))
                    .filter(table::number.eq(base.values.number));
                diesel::delete(known).execute(conn)
            }
            (Some(base), Some(now)) if now.health == Health::Unknown => leases::end(conn, host, base.values.number),
            (Some(base), Some(now)) => {
                let known = (base.values.number, base.health.name());
                leases::replace(conn, host, known, &now.values)
            }
        }
    }
}
