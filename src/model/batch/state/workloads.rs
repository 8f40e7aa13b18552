//! The workloads of a batch's state.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::State;
use crate::model::workloads::{ReplicaRow, WorkloadRow};
use crate::search::ProviderId;

/// A workload that a command of the batch names, before and after.
#[derive(Debug, Clone, Default)]
pub struct WorkloadEntry {
    pub base: Option<WorkloadRows>,
    pub now: Option<WorkloadRows>,
}

/// The rows of a workload. If only rules name the workload, only the row in `placet_workloads` is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadRows {
    pub row: WorkloadRow,
    pub replicas: Vec<ReplicaRow>,
    /// The workloads that the rules name.
    pub neighbours: BTreeSet<String>,
}

/// A replica that stands on a host whose domains a command changes, before the batch.
#[derive(Debug, Clone)]
pub struct StandingReplica {
    /// The root of the tree.
    pub host: ProviderId,
    /// Uuid.
    pub consumer: String,
    /// Uuid.
    pub workload: String,
    /// The workload's spec.
    pub body: Arc<str>,
}

/// Further lookups of commands on workloads.
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

    /// Notes a change of a workload whose rules name this workload.
    pub fn note_named(&mut self, uuid: &str) {
        let entry = self.workloads.get_mut(uuid);
        if let Some(now) = entry.and_then(|entry| entry.now.as_mut()) {
            now.row.named += 1;
        }
    }

    /// The workloads with a replica on a host now, by uuid with their specs.
    pub fn workloads_on(&mut self, host: ProviderId) -> BTreeMap<String, Arc<str>> {
        let before = self.standing.iter().filter(|it| it.host == host && !self.has_left(it));
        let mut replicas: Vec<(String, Arc<str>, String)> = before
            .map(|it| (it.workload.clone(), Arc::clone(&it.body), it.consumer.clone()))
            .collect();
        let now = self.workloads.values().filter_map(|entry| entry.now.as_ref());
        replicas.extend(now.flat_map(|now| {
            let body = &now.row.body;
            let all = now.replicas.iter();
            all.map(|it| (now.row.uuid.clone(), Arc::clone(body), it.consumer.clone()))
        }));
        replicas.retain(|(.., consumer)| self.stands_on(consumer, host));
        let workloads = replicas.into_iter().map(|(workload, body, _)| (workload, body));
        workloads.collect()
    }

    /// Whether a command of the batch took a replica out of its workload, or deleted the workload.
    fn has_left(&self, replica: &StandingReplica) -> bool {
        let Some(entry) = self.workloads.get(&replica.workload) else {
            return false;
        };
        let has = |rows: &WorkloadRows| rows.replicas.iter().any(|it| it.consumer == replica.consumer);
        // If only rules name the workload, the replicas were not read.
        let had = entry.base.as_ref().is_some_and(has);
        entry.now.as_ref().is_none_or(|now| had && !has(now))
    }

    /// Whether a consumer has allocations in the tree of a host. A consumer that no command names is where it was
    /// before the batch.
    fn stands_on(&mut self, consumer: &str, host: ProviderId) -> bool {
        let Some(entry) = self.consumers.get(consumer) else {
            let mut before = self.standing.iter();
            return before.any(|it| it.host == host && it.consumer == consumer);
        };
        let providers: Vec<ProviderId> = entry.allocations.iter().map(|(provider, ..)| *provider).collect();
        providers
            .into_iter()
            .any(|it| self.provider(it).is_some_and(|row| row.root == host))
    }

    /// The workloads that the batch changed.
    pub fn changed_workloads(&self) -> impl Iterator<Item = (&String, &WorkloadEntry)> {
        self.workloads.iter().filter(|(_, entry)| entry.base != entry.now)
    }
}
