//! The workloads of a batch's state.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::State;
use crate::model::batch::own_rows::{StandingReplica, WorkloadRows};
use crate::model::workloads::WorkloadRow;
use crate::search::ProviderId;

impl State {
    /// The row of a workload now.
    pub fn workload(&self, uuid: &str) -> Option<&WorkloadRow> {
        self.own.workloads.get(uuid)?.now.as_ref().map(|now| &now.row)
    }

    /// Replaces a workload; `None` deletes it.
    pub fn set_workload(&mut self, uuid: &str, now: Option<WorkloadRows>) {
        let known = &mut self.own.workload_names;
        let entry = self.own.workloads.entry(uuid.to_owned()).or_default();
        if let Some(WorkloadRows { row, replicas, .. }) = &entry.now {
            known.names.remove(&(row.project.clone(), row.name.clone()));
            for replica in replicas {
                known.taken.remove(&replica.consumer);
            }
        }
        if let Some(WorkloadRows { row, replicas, .. }) = &now {
            known
                .names
                .insert((row.project.clone(), row.name.clone()), uuid.to_owned());
            let replicas = replicas.iter();
            known
                .taken
                .extend(replicas.map(|replica| (replica.consumer.clone(), uuid.to_owned())));
        }
        entry.now = now;
    }

    /// Notes a change of a workload whose rules name this workload.
    pub fn note_named(&mut self, uuid: &str) {
        let entry = self.own.workloads.get_mut(uuid);
        if let Some(now) = entry.and_then(|entry| entry.now.as_mut()) {
            now.row.named += 1;
        }
    }

    /// The workloads with a replica on a host now, by uuid with their specs.
    pub fn workloads_on(&mut self, host: ProviderId) -> BTreeMap<String, Arc<str>> {
        let before = self
            .own
            .standing
            .iter()
            .filter(|it| it.host == host && !self.has_left(it));
        let mut replicas: Vec<(String, Arc<str>, String)> = before
            .map(|it| (it.workload.clone(), Arc::clone(&it.body), it.consumer.clone()))
            .collect();
        let now = self.own.workloads.values().filter_map(|entry| entry.now.as_ref());
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
        let Some(entry) = self.own.workloads.get(&replica.workload) else {
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
            let mut before = self.own.standing.iter();
            return before.any(|it| it.host == host && it.consumer == consumer);
        };
        let providers: Vec<ProviderId> = entry.allocations.iter().map(|(provider, ..)| *provider).collect();
        providers
            .into_iter()
            .any(|it| self.provider(it).is_some_and(|row| row.root == host))
    }
}
