//! Declared domains (`/v1/domains/{dimension}/{path}`): the members of an aggregate are in the domain.
//!
//! So the aggregates of OpenStack, for example racks and availability zones, are domains without an agent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chrono::NaiveDateTime;
use diesel::prelude::*;

use crate::db::engines::dialect::in_lists;
use crate::db::schema::placet_domains as table;
use crate::db::{DbConnection, DbResult};
use crate::error::{Error, Result};
use crate::model::batch::entry::Entry;
use crate::model::batch::own_tables::OwnRow;
use crate::model::reads::reader::Reader;
use crate::search::{Domain, DomainKey};

/// A declared domain, as clients see the domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredDomain {
    pub domain: Domain,
    pub row: DomainRow,
}

/// A row of `placet_domains`, without dimension and path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DomainRow {
    pub generation: i64,
    /// Uuid.
    pub aggregate: String,
}

/// `PUT` and `PATCH /v1/domains/{dimension}/{path}`.
#[derive(Debug, Clone)]
pub struct Set {
    pub key: DeclaredKey,
    /// The generation known to the caller; `None` if the domain is new.
    pub generation: Option<i64>,
    /// Uuid.
    pub aggregate: String,
}

/// `DELETE /v1/domains/{dimension}/{path}`.
#[derive(Debug, Clone)]
pub struct Delete {
    pub key: DeclaredKey,
    /// The generation known to the caller; `None`: any generation.
    pub generation: Option<i64>,
}

/// A domain as the key of a row: `dimension:path`. No dimension has a colon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredKey(String);

impl DeclaredKey {
    pub fn new(domain: &Domain) -> DeclaredKey {
        DeclaredKey(format!("{}:{}", domain.dimension, domain.path))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn domain(&self) -> Domain {
        let (dimension, path) = parts(&self.0);
        Domain {
            dimension: dimension.into(),
            path: path.into(),
        }
    }

    /// The refusal of a domain without a row.
    pub fn not_found(&self) -> Error {
        let Domain { dimension, path } = self.domain();
        Error::NotFound {
            noun: format!("aggregate of the domain {path} of {dimension}"),
        }
    }
}

fn parts(key: &str) -> (&str, &str) {
    key.split_once(':').unwrap_or_default()
}

/// The declared domain with this dimension and path.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn fetch(reader: Reader, domain: Domain) -> Result<DeclaredDomain> {
    let read = reader.ask(move |conn| {
        let key = DeclaredKey::new(&domain);
        let row = DomainRow::rows(conn, &[key.as_str()])?.remove(key.as_str());
        let row = row.ok_or_else(|| key.not_found())?;
        Ok(DeclaredDomain {
            domain: domain.clone(),
            row,
        })
    });
    read.await
}

impl OwnRow for DomainRow {
    const TABLE: &'static str = "placet_domains";
    const IS_DECLARED: bool = true;

    fn rows(conn: &mut DbConnection, keys: &[&str]) -> DbResult<BTreeMap<String, DomainRow>> {
        let dimensions: BTreeSet<&str> = keys.iter().map(|key| parts(key).0).collect();
        let paths: Vec<&str> = keys.iter().map(|key| parts(key).1).collect();
        let rows: Vec<(String, String, i64, String)> = in_lists(&paths, |paths| {
            table::table
                .filter(table::path.eq_any(paths))
                .filter(table::dimension.eq_any(&dimensions))
                .select((table::dimension, table::path, table::generation, table::aggregate))
                .load(&mut *conn)
        })?;
        let rows = rows.into_iter().map(|(dimension, path, generation, aggregate)| {
            let row = DomainRow { generation, aggregate };
            (format!("{dimension}:{path}"), row)
        });
        let named: BTreeSet<&str> = keys.iter().copied().collect();
        Ok(rows.filter(|(key, _)| named.contains(key.as_str())).collect())
    }

    /// Guard: the generation before the batch; for a new domain the primary key.
    fn write(conn: &mut DbConnection, now: NaiveDateTime, key: &str, entry: &Entry<DomainRow>) -> DbResult<usize> {
        let (dimension, path) = parts(key);
        let base = entry.base.as_ref().map(|base| base.generation);
        let known = table::table
            .filter(table::dimension.eq(dimension))
            .filter(table::path.eq(path))
            .filter(table::generation.eq(base.unwrap_or_default()));
        let Some(DomainRow { generation, aggregate }) = &entry.now else {
            return diesel::delete(known).execute(conn);
        };
        let row = (table::generation.eq(generation), table::aggregate.eq(aggregate));
        if base.is_none() {
            let key = (table::dimension.eq(dimension), table::path.eq(path));
            let row = (key, table::created_at.eq(now), row);
            return diesel::insert_into(table::table).values(row).execute(conn);
        }
        diesel::update(known)
            .set((table::updated_at.eq(now), row))
            .execute(conn)
    }
}

/// The aggregates of all declared domains.
pub fn aggregates_of_domains(conn: &mut DbConnection) -> DbResult<BTreeMap<DomainKey, Arc<str>>> {
    let rows: Vec<(String, String, String)> = table::table
        .select((table::dimension, table::path, table::aggregate))
        .load(conn)?;
    let domains = rows
        .into_iter()
        .map(|(dimension, path, aggregate)| ((dimension.into(), path.into()), aggregate.into()));
    Ok(domains.collect())
}
