//! The workloads that the commands of a batch name.

use std::collections::BTreeMap;

use crate::db::{DbConnection, DbResult};
use crate::model::batch::footprint::Footprint;
use crate::model::batch::state::{WorkloadEntry, WorkloadNames};
use crate::model::workloads;

/// Reads the rows without a lock: their generations guard the write, and unique keys what is new.
pub fn workloads(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
) -> DbResult<(BTreeMap<String, WorkloadEntry>, WorkloadNames)> {
    let uuids: Vec<&str> = footprint.workloads.iter().copied().collect();
    if uuids.is_empty() {
        return Ok(Default::default());
    }
    let mut entries: BTreeMap<String, WorkloadEntry> = BTreeMap::new();
    for row in workloads::workload_rows(conn, &uuids)? {
        let entry = entries.entry(row.uuid.clone()).or_default();
        entry.base = Some((row, Vec::new()));
    }
    if !entries.is_empty() {
        for (workload, replica) in workloads::replica_rows(conn, &uuids)? {
            let base = entries.get_mut(&workload).and_then(|entry| entry.base.as_mut());
            base.into_iter()
                .for_each(|(_, replicas)| replicas.push(replica.clone()));
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
