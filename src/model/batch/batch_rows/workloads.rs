//! Reads the workloads that the commands of a batch name.

use std::collections::{BTreeMap, BTreeSet};

use crate::db::{DbConnection, DbResult};
use crate::model::batch::footprint::Footprint;
use crate::model::batch::state::{WorkloadEntry, WorkloadNames, WorkloadRows};
use crate::model::workloads;

/// Reads the rows without a lock: generations guard the write of old rows, and unique keys guard new rows.
pub fn workloads(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
) -> DbResult<(BTreeMap<String, WorkloadEntry>, WorkloadNames)> {
    let uuids: Vec<&str> = footprint.workloads.iter().copied().collect();
    if uuids.is_empty() {
        return Ok(Default::default());
    }
    let mut entries: BTreeMap<String, WorkloadEntry> = BTreeMap::new();
    let with_neighbours: Vec<&str> = footprint.workloads.union(&footprint.neighbours).copied().collect();
    for row in workloads::workload_rows(conn, &with_neighbours)? {
        let entry = entries.entry(row.uuid.clone()).or_default();
        entry.base = Some(WorkloadRows {
            row,
            replicas: Vec::new(),
            neighbours: BTreeSet::new(),
        });
    }
    if uuids.iter().any(|uuid| entries.contains_key(*uuid)) {
        let base = |entries: &mut BTreeMap<String, WorkloadEntry>, uuid: &str, add: &dyn Fn(&mut WorkloadRows)| {
            let base = entries.get_mut(uuid).and_then(|entry| entry.base.as_mut());
            base.into_iter().for_each(add);
        };
        for (workload, replica) in workloads::replica_rows(conn, &uuids)? {
            base(&mut entries, &workload, &|base| base.replicas.push(replica.clone()));
        }
        for (workload, neighbour) in workloads::neighbour_rows(conn, &uuids)? {
            base(&mut entries, &workload, &|base| {
                base.neighbours.insert(neighbour.clone());
            });
        }
    }
    for entry in entries.values_mut() {
        entry.now.clone_from(&entry.base);
    }
    let names: Vec<&str> = footprint.workload_names.iter().copied().collect();
    let adopted: Vec<&str> = footprint.adopted.iter().copied().collect();
    let known = WorkloadNames {
        names: workloads::named(conn, &names)?,
        taken: workloads::taken(conn, &adopted)?,
    };
    Ok((entries, known))
}
