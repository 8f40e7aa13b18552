//! The tables of workloads, and where the replicas stand.

mod page;
mod places;

use std::collections::{BTreeSet, HashMap};

use diesel::prelude::*;

use super::{Replica, ReplicaRow, WorkloadRow};
use crate::db::engines::dialect::in_lists;
use crate::db::schema::{allocations, placet_neighbours as neighbours};
use crate::db::schema::{placet_replicas as replicas, placet_workloads as workloads};
use crate::db::{DbConnection, DbResult};
use crate::error::{Error, Result};
use crate::model::reads::reader::Reader;
pub use page::{Page, StoredPage, list_stored};
pub use places::{Place, places};

/// A workload with its replicas, in natural order of their ids.
#[derive(Debug, Clone)]
pub struct StoredWorkload {
    pub row: WorkloadRow,
    pub replicas: Vec<Replica>,
}

/// A workload and the workloads that the rules name, all of the same moment.
#[derive(Debug, Clone)]
pub struct Neighbourhood {
    pub workload: StoredWorkload,
    /// By uuid, without bodies; unknown workloads are left out.
    pub others: HashMap<String, StoredWorkload>,
}

/// The columns without the body.
#[derive(Queryable, Selectable)]
#[diesel(table_name = workloads)]
struct Columns {
    uuid: String,
    name: String,
    project_id: String,
    user_id: String,
    generation: i64,
    revision: i64,
    named: i64,
}

impl Columns {
    fn with_body(self, body: &str) -> WorkloadRow {
        let columns = self;
        WorkloadRow {
            uuid: columns.uuid,
            name: columns.name,
            project: columns.project_id,
            user: columns.user_id,
            generation: columns.generation,
            revision: columns.revision,
            body: body.into(),
            named: columns.named,
        }
    }
}

/// The workloads that the rules of these workloads name, by uuid and without bodies.
fn neighbours_of(conn: &mut DbConnection, workloads: &[StoredWorkload]) -> Result<HashMap<String, StoredWorkload>> {
    let uuids: Vec<&str> = workloads.iter().map(|it| it.row.uuid.as_str()).collect();
    let rows = neighbour_rows(conn, &uuids)?;
    let named: BTreeSet<&str> = rows.iter().map(|(_, neighbour)| neighbour.as_str()).collect();
    find_without_bodies(conn, &named.into_iter().collect::<Vec<_>>())
}

/// These workloads with their replicas, by uuid; unknown workloads are left out. So are the bodies: rules look at
/// replicas, and a page or a workload may have a thousand neighbours with a body of a megabyte each.
pub fn find_without_bodies(conn: &mut DbConnection, uuids: &[&str]) -> Result<HashMap<String, StoredWorkload>> {
    let rows: Vec<Columns> = in_lists(uuids, |uuids| {
        workloads::table
            .filter(workloads::uuid.eq_any(uuids))
            .select(Columns::as_select())
            .load(&mut *conn)
    })?;
    let rows = rows.into_iter().map(|columns| columns.with_body(""));
    with_replicas(conn, rows.collect())
}

/// These workloads with their replicas, by uuid; unknown workloads are left out.
pub fn find(conn: &mut DbConnection, uuids: &[&str]) -> Result<HashMap<String, StoredWorkload>> {
    let rows = workload_rows(conn, uuids)?;
    with_replicas(conn, rows)
}

/// The workloads of these rows, by uuid.
fn with_replicas(conn: &mut DbConnection, rows: Vec<WorkloadRow>) -> Result<HashMap<String, StoredWorkload>> {
    let uuids: Vec<String> = rows.iter().map(|row| row.uuid.clone()).collect();
    let uuids: Vec<&str> = uuids.iter().map(String::as_str).collect();
    let mut found: HashMap<String, StoredWorkload> = HashMap::new();
    for row in rows {
        let replicas = Vec::new();
        found.insert(row.uuid.clone(), StoredWorkload { row, replicas });
    }
    if found.is_empty() {
        return Ok(found);
    }
    let rows = replica_rows(conn, &uuids)?;
    let consumers: Vec<&str> = rows.iter().map(|(_, row)| row.consumer.as_str()).collect();
    let mut places = places(conn, &consumers)?;
    for (workload, row) in rows {
        let Some(stored) = found.get_mut(&workload) else {
            continue;
        };
        // A consumer of a foreign project is not a replica any more.
        let place = places
            .remove(&row.consumer)
            .filter(|place| place.is_of(&stored.row.project));
        let Place {
            generation,
            allocations,
            ..
        } = place.unwrap_or_default();
        stored.replicas.push(Replica {
            row,
            generation,
            allocations,
        });
    }
    for stored in found.values_mut() {
        stored
            .replicas
            .sort_by(|one, other| super::natural_order(&one.row.id, &other.row.id));
    }
    Ok(found)
}

/// The rows of these workloads.
pub fn workload_rows(conn: &mut DbConnection, uuids: &[&str]) -> DbResult<Vec<WorkloadRow>> {
    let rows: Vec<(Columns, String)> = in_lists(uuids, |uuids| {
        workloads::table
            .filter(workloads::uuid.eq_any(uuids))
            .select((Columns::as_select(), workloads::body))
            .load(&mut *conn)
    })?;
    let rows = rows.into_iter().map(|(columns, body)| columns.with_body(&body));
    Ok(rows.collect())
}

/// The uuids of the workloads with these names in all projects, by project and name.
pub fn named(conn: &mut DbConnection, names: &[&str]) -> DbResult<HashMap<(String, String), String>> {
    let rows: Vec<(String, String, String)> = in_lists(names, |names| {
        workloads::table
            .filter(workloads::name.eq_any(names))
            .select((workloads::project_id, workloads::name, workloads::uuid))
            .load(&mut *conn)
    })?;
    let names = rows.into_iter().map(|(project, name, uuid)| ((project, name), uuid));
    Ok(names.collect())
}

/// The workloads that the rules of these workloads name. Each row has first the workload with the rule.
pub fn neighbour_rows(conn: &mut DbConnection, uuids: &[&str]) -> DbResult<Vec<(String, String)>> {
    in_lists(uuids, |uuids| {
        neighbours::table
            .filter(neighbours::workload.eq_any(uuids))
            .select((neighbours::workload, neighbours::neighbour))
            .load(&mut *conn)
    })
}

/// The workloads whose rules name this workload.
pub fn referrers(conn: &mut DbConnection, uuid: &str) -> DbResult<Vec<String>> {
    neighbours::table
        .filter(neighbours::neighbour.eq(uuid))
        .select(neighbours::workload)
        .load(conn)
}

/// The replicas of these workloads, each after the uuid of the workload.
pub fn replica_rows(conn: &mut DbConnection, uuids: &[&str]) -> DbResult<Vec<(String, ReplicaRow)>> {
    let rows: Vec<(String, String, String, String, i64, i32)> = in_lists(uuids, |uuids| {
        replicas::table
            .filter(replicas::workload.eq_any(uuids))
            .select((
                replicas::workload,
                replicas::consumer_id,
                replicas::replica,
                replicas::role,
                replicas::revision,
                replicas::adopted,
            ))
            .load(&mut *conn)
    })?;
    let rows = rows
        .into_iter()
        .map(|(workload, consumer, id, role, revision, adopted)| {
            let row = ReplicaRow {
                id,
                consumer,
                role,
                revision,
                is_adopted: adopted != 0,
            };
            (workload, row)
        });
    Ok(rows.collect())
}

/// The workloads to which these consumers belong.
pub fn taken(conn: &mut DbConnection, consumers: &[&str]) -> DbResult<HashMap<String, String>> {
    let rows: Vec<(String, String)> = in_lists(consumers, |consumers| {
        replicas::table
            .filter(replicas::consumer_id.eq_any(consumers))
            .select((replicas::consumer_id, replicas::workload))
            .load(&mut *conn)
    })?;
    Ok(rows.into_iter().collect())
}

/// Of the first `limit` workloads with a greater uuid: the workloads with replicas without a place, adopted replicas
/// apart. Also the last uuid of the `limit` workloads; `None` if there are no more.
///
/// A query for all workloads would look at every replica to find that none is pending. This query reads the index range
/// of these workloads.
pub fn pending(conn: &mut DbConnection, after: &str, limit: i64) -> DbResult<(Vec<String>, Option<String>)> {
    let page: Vec<String> = workloads::table
        .filter(workloads::uuid.gt(after))
        .order(workloads::uuid)
        .limit(limit)
        .select(workloads::uuid)
        .load(conn)?;
    let Some(last) = page.into_iter().next_back() else {
        return Ok((Vec::new(), None));
    };
    let place = allocations::table.filter(allocations::consumer_id.eq(replicas::consumer_id));
    let pending = replicas::table
        .filter(replicas::workload.gt(after))
        .filter(replicas::workload.le(&last))
        .filter(replicas::adopted.eq(0))
        .filter(diesel::dsl::not(diesel::dsl::exists(place)))
        .select(replicas::workload)
        .distinct()
        .order(replicas::workload)
        .load(conn)?;
    Ok((pending, Some(last)))
}

/// A workload with the workload's neighbours, read in a transaction.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn fetch_with_neighbours(reader: Reader, uuid: String) -> Result<Neighbourhood> {
    let found = reader.read(move |conn| {
        let workload = show(conn, &uuid)?;
        let others = neighbours_of(conn, std::slice::from_ref(&workload))?;
        Ok(Neighbourhood { workload, others })
    });
    found.await
}

/// A workload with the replicas and their places.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn fetch(reader: Reader, uuid: String) -> Result<StoredWorkload> {
    reader.read(move |conn| show(conn, &uuid)).await
}

/// As [`fetch`].
///
/// # Errors
/// As there.
pub fn show(conn: &mut DbConnection, uuid: &str) -> Result<StoredWorkload> {
    find(conn, &[uuid])?.remove(uuid).ok_or_else(|| Error::NotFound {
        noun: format!("workload {uuid}"),
    })
}
