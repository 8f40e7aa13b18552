//! The workloads of a batch's state.

use std::collections::HashMap;

use super::State;
use crate::model::workloads::{ReplicaRow, WorkloadRow};

/// A workload that a command of the batch names: its row with its replicas, before and after.
#[derive(Debug, Clone, Default)]
pub struct WorkloadEntry {
    pub base: Option<(WorkloadRow, Vec<ReplicaRow>)>,
    pub now: Option<(WorkloadRow, Vec<ReplicaRow>)>,
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
        self.workloads.get(uuid)?.now.as_ref().map(|(row, _)| row)
    }

    /// Replaces a workload; `None` deletes it.
    pub fn set_workload(&mut self, uuid: &str, now: Option<(WorkloadRow, Vec<ReplicaRow>)>) {
        let entry = self.workloads.entry(uuid.to_owned()).or_default();
        let before = std::mem::replace(&mut entry.now, now.clone());
        if let Some((row, replicas)) = before {
            self.workload_names.names.remove(&(row.project, row.name));
            for replica in replicas {
                self.workload_names.taken.remove(&replica.consumer);
            }
        }
        if let Some((row, replicas)) = now {
            self.workload_names
                .names
                .insert((row.project, row.name), uuid.to_owned());
            for replica in replicas {
                self.workload_names.taken.insert(replica.consumer, uuid.to_owned());
            }
        }
    }

    /// The workloads that the batch changed.
    pub fn changed_workloads(&self) -> impl Iterator<Item = (&String, &WorkloadEntry)> {
        self.workloads.iter().filter(|(_, entry)| entry.base != entry.now)
    }
}
