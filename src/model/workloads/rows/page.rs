//! Pages of workloads, which end by the length of the bodies as well as by the number of workloads.

use std::collections::HashMap;

use diesel::prelude::*;

use super::{StoredWorkload, neighbours_of, with_replicas, workload_rows};
use crate::db::DbConnection;
use crate::db::schema::{octet_length, placet_workloads as workloads};
use crate::error::Result;
use crate::model::pages;

/// A page of workloads.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Only workloads of this project.
    pub project: Option<String>,
    /// Only workloads with this name.
    pub name: Option<String>,
    /// Only these workloads.
    pub uuids: Option<Vec<String>>,
    /// Only workloads with a greater uuid.
    pub after: Option<String>,
    pub limit: usize,
}

/// The workloads of a page with their replicas, and the workloads that the rules name, all of the same moment.
#[derive(Debug, Clone)]
pub struct StoredPage {
    /// By uuid.
    pub workloads: Vec<StoredWorkload>,
    /// By uuid, without bodies; unknown workloads are left out.
    pub others: HashMap<String, StoredWorkload>,
    /// The uuid after which the next page begins.
    pub next: Option<String>,
}

/// The workloads of a page by uuid, with the replicas and the neighbours. All rows are of one moment if `conn` is in a
/// transaction.
pub fn list_stored(conn: &mut DbConnection, page: &Page) -> Result<StoredPage> {
    let mut query = workloads::table.into_boxed();
    if let Some(project) = &page.project {
        query = query.filter(workloads::project_id.eq(project));
    }
    if let Some(name) = &page.name {
        query = query.filter(workloads::name.eq(name));
    }
    if let Some(uuids) = &page.uuids {
        query = query.filter(workloads::uuid.eq_any(uuids));
    }
    if let Some(after) = &page.after {
        query = query.filter(workloads::uuid.gt(after));
    }
    // First the lengths: a page of the longest bodies would have a gigabyte.
    let found: Vec<(String, i32)> = query
        .order(workloads::uuid)
        .limit(i64::try_from(page.limit).unwrap_or(i64::MAX).saturating_add(1))
        .select((workloads::uuid, octet_length(workloads::body)))
        .load(conn)?;
    let (found, has_more) = pages::cut(found, page.limit, |(_, bytes)| usize::try_from(*bytes).unwrap_or(0));
    let uuids: Vec<&str> = found.iter().map(|(uuid, _)| uuid.as_str()).collect();
    let rows = workload_rows(conn, &uuids)?;
    let mut workloads: Vec<StoredWorkload> = with_replicas(conn, rows)?.into_values().collect();
    workloads.sort_by(|one, other| one.row.uuid.cmp(&other.row.uuid));
    Ok(StoredPage {
        others: neighbours_of(conn, &workloads)?,
        workloads,
        next: found.into_iter().next_back().filter(|_| has_more).map(|(uuid, _)| uuid),
    })
}
