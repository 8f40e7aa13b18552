//! What a plan writes, and what the workload is then.

use std::collections::BTreeSet;

use super::{Planned, Planning};
use crate::error::Reasons;
use crate::model::workloads::report::{Report, Reported};
use crate::model::workloads::{Replica, Set, WorkloadRow};

impl Planning<'_> {
    /// `reasons` say why some replicas have no place.
    pub fn into_planned(self, reasons: Reasons) -> Planned {
        let (job, put) = (self.job, &self.job.put);
        let known = job.stored.as_ref().map(|stored| stored.row.generation);
        let named = job.stored.as_ref().map_or(0, |stored| stored.row.named);
        let row = WorkloadRow {
            uuid: put.uuid.clone(),
            name: put.name.clone(),
            project: put.owner.project.clone(),
            user: put.owner.user.clone(),
            generation: known.map_or(1, |generation| generation + 1),
            revision: self.revision,
            body: put.body.as_str().into(),
            named,
        };
        let neighbours: BTreeSet<String> = put.wish.neighbours().into_iter().collect();
        let neighbours = neighbours.into_iter().filter_map(|uuid| {
            let known = job.others.get(&uuid)?.row.generation;
            Some((uuid, known))
        });
        let chosen: BTreeSet<&str> = self.choices.iter().map(|it| it.claim.consumer.as_str()).collect();
        let standing = self.kept.iter().map(|it| &it.replica);
        let standing = standing.filter(|it| !chosen.contains(it.row.consumer.as_str()));
        // A consumer that went, and whose id has no new place yet, gives back what it had.
        let pending = standing.clone().filter(|it| !it.is_placed());
        let pending = pending.filter_map(|it| Some((it.row.consumer.clone(), it.generation?)));
        let gone = self.gone.iter().filter(|it| !it.row.is_adopted);
        let gone = gone.filter_map(|it| Some((it.row.consumer.clone(), it.generation?)));
        let had_place = |consumer: &str| {
            let stored = job.stored.iter().flat_map(|stored| &stored.replicas);
            stored.clone().any(|it| it.row.consumer == consumer && it.is_placed())
        };
        let released: Vec<(String, i64)> = pending.chain(gone).filter(|(it, _)| had_place(it)).collect();
        let is_released = |consumer: &str| released.iter().any(|(it, _)| it == consumer);
        let standing: Vec<(String, Option<i64>)> = standing
            .filter(|it| !is_released(&it.row.consumer))
            .map(|it| (it.row.consumer.clone(), it.generation))
            .collect();
        let hosts: Vec<Option<u32>> = self.kept.iter().map(|it| it.host).collect();
        let replicas: Vec<Replica> = self.kept.iter().map(|it| it.replica.clone()).collect();
        let reported = Reported {
            snapshot: &job.snapshot,
            list: &self.list,
            eligible: &self.eligible,
            rules: &self.rules[..self.own_rules],
            wish: &put.wish,
        };
        let report = Report {
            reasons,
            is_exact: self.is_exact,
            ..reported.report(row.clone(), &replicas, &hosts)
        };
        let adopted = job.adopted.iter().map(|(it, _)| it.consumer.clone());
        Planned {
            set: Set {
                uuid: put.uuid.clone(),
                known,
                named,
                neighbours: neighbours.collect(),
                row: Some(Box::new(row)),
                replicas: replicas.into_iter().map(|it| it.row).collect(),
                standing,
                released,
                adopted: adopted.collect(),
                placed: self.choices,
            },
            report,
        }
    }
}
