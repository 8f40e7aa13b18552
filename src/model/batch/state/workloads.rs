//! The workloads of a batch's state.

use std::collections::{BTreeSet, HashMap};

use super::State;
use crate::model::workloads::{ReplicaRow, WorkloadRow};

/// A workload that a command of the batch names, before and after.
#[derive(Debug, Clone, Default)]
pub struct WorkloadEntry {
    pub base: Option<WorkloadRows>,
    pub now: Option<WorkloadRows>,
}

/// The rows of a workload. Of one that only the rules of others name, the row in `placet_workloads` alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadRows {
    pub row: WorkloadRow,
    pub replicas: Vec<ReplicaRow>,
    /// The workloads that its rules name.
    pub neighbours: BTreeSet<String>,
}

/// What commands on workloads read besides the workloads themselves.
#[derive(Debug, Clone, Default)]
pub struct WorkloadNames {
    /// Uuids by project and name.
    pub names: HashMap<(String, String), String>,
    /// The workloads of consumers.
    pub taken: HashMap<String, String>,
}

impl State {
    /// The row of a workload now.
    pub fn workload(&self, uuid: &str) -> Option<&WorkloadRow> {
        self.workloads.get(uuid)?.now.as_ref().map(|now| &now.row)
    }

    /// Replaces a workload; `None` deletes it.
    pub fn set_workload(&mut self, uuid: &str, now: Option<WorkloadRows>) {
        let entry = self.workloads.entry(uuid.to_owned()).or_default();
        let before = std::mem::replace(&mut entry.now, now.clone());
        if let Some(WorkloadRows { row, replicas, .. }) = before {
            self.workload_names.names.remove(&(row.project, row.name));
            for replica in replicas {
                self.workload_names.taken.remove(&replica.consumer);
            }
        }
        if let Some(WorkloadRows { row, replicas, .. }) = now {
            self.workload_names
                .names
                .insert((row.project, row.name), uuid.to_owned());
            for replica in replicas {
                self.workload_names.taken.insert(replica.consumer, uuid.to_owned());
            }
        }
    }

    /// Notes that a workload changed whose rules name this one.
    pub fn note_named(&mut self, uuid: &str) {
        let entry = self.workloads.get_mut(uuid);
        if let Some(now) = entry.and_then(|entry| entry.now.as_mut()) {
            now.row.named += 1;
        }
    }

    /// The workloads that the batch changed.
    pub fn changed_workloads(&self) -> impl Iterator<Item = (&String, &WorkloadEntry)> {
        self.workloads.iter().filter(|(_, entry)| entry.base != entry.now)
    }
}
