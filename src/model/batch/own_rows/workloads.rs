//! Reads the workloads that the commands of a batch name.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::db::{DbConnection, DbResult};
use crate::model::batch::entry::{Entries, entries};
use crate::model::batch::footprint::Footprint;
use crate::model::workloads::{self, ReplicaRow, WorkloadRow};

/// The rows of a workload. If only rules name the workload, only the row in `placet_workloads` is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadRows {
    pub row: WorkloadRow,
    pub replicas: Vec<ReplicaRow>,
    /// The workloads that the rules name.
    pub neighbours: BTreeSet<String>,
}

/// Further lookups of commands on workloads.
#[derive(Debug, Clone, Default)]
pub struct WorkloadNames {
    /// Uuids by project and name.
    pub names: HashMap<(String, String), String>,
    /// The workloads of consumers.
    pub taken: HashMap<String, String>,
}

pub fn read(
    conn: &mut DbConnection,
    footprint: &Footprint<'_>,
) -> DbResult<(Entries<String, WorkloadRows>, WorkloadNames)> {
    let uuids: Vec<&str> = footprint.workloads.iter().copied().collect();
    if uuids.is_empty() {
        return Ok(Default::default());
    }
    let with_neighbours: Vec<&str> = footprint.workloads.union(&footprint.neighbours).copied().collect();
    let rows = workloads::workload_rows(conn, &with_neighbours)?
        .into_iter()
        .map(|row| {
            let rows = WorkloadRows {
                row,
                replicas: Vec::new(),
                neighbours: BTreeSet::new(),
            };
            (rows.row.uuid.clone(), rows)
        });
    let mut found: BTreeMap<String, WorkloadRows> = rows.collect();
    if uuids.iter().any(|uuid| found.contains_key(*uuid)) {
        for (workload, replica) in workloads::replica_rows(conn, &uuids)? {
            if let Some(rows) = found.get_mut(&workload) {
                rows.replicas.push(replica);
            }
        }
        for (workload, neighbour) in workloads::neighbour_rows(conn, &uuids)? {
            if let Some(rows) = found.get_mut(&workload) {
                rows.neighbours.insert(neighbour);
            }
        }
    }
    let names: Vec<&str> = footprint.workload_names.iter().copied().collect();
    let adopted: Vec<&str> = footprint.adopted.iter().copied().collect();
    let known = WorkloadNames {
        names: workloads::named(conn, &names)?,
        taken: workloads::taken(conn, &adopted)?,
    };
    Ok((entries(found), known))
}
