//! The rows that a plan writes, and the state of the workload after the write.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Draft, Kept, PlanJob, Planned, Planning};
use crate::error::Reasons;
use crate::model::workloads::report::Report;
use crate::model::workloads::report::violations::ReportSource;
use crate::model::workloads::{LostHost, Neighbour, PlannedHost, Replica, Set, StoredWorkload, WorkloadRow};
use crate::search::PlannedUsage;

/// The result of a plan. `reasons` say why some replicas have no place. `usage` is the usage after the plan.
pub fn planned(planning: &Planning<'_>, draft: Draft, reasons: Reasons, usage: &PlannedUsage) -> Planned {
    let (job, put) = (planning.job, &planning.job.put);
    let known = job.found.stored.as_ref().map(|stored| stored.row.generation);
    let named = job.found.stored.as_ref().map(|stored| stored.row.named);
    let mut row = WorkloadRow {
        uuid: put.uuid.clone(),
        name: put.name.clone(),
        project: put.owner.project.clone(),
        user: put.owner.user.clone(),
        generation: known.map_or(1, |generation| generation + 1),
        revision: planning.revision,
        body: put.body.as_str().into(),
        named: named.unwrap_or(job.incarnation.range().0),
    };
    let neighbours: BTreeSet<String> = put.spec.neighbours().into_iter().collect();
    let neighbour = |uuid: &String| {
        let other = job.found.others.get(uuid);
        other.map_or_else(|| Neighbour::missing(uuid), |other| Neighbour::of(&other.row))
    };
    let neighbours = neighbours.iter().map(neighbour).collect();
    let referrers = job.found.referrers.iter().filter(|_| known.is_none());
    let referrers = referrers.map(|(uuid, _)| neighbour(uuid)).collect();
    let chosen: BTreeSet<&str> = draft.choices.iter().map(|it| it.claim.consumer.as_str()).collect();
    let stored = job.found.stored.iter().flat_map(|stored| &stored.replicas);
    let had_place = stored.filter(|it| it.is_placed()).map(|it| it.row.consumer.as_str());
    let had_place: BTreeSet<&str> = had_place.collect();
    let gives_back = |it: &Replica| it.generation.is_some() && had_place.contains(it.row.consumer.as_str());
    let others = draft.kept.iter().map(|it| &it.replica);
    let others = others.filter(|it| !chosen.contains(it.row.consumer.as_str()));
    // A consumer that left gives back the allocations if the id has no new place yet.
    let (pending, unchanged): (Vec<&Replica>, Vec<&Replica>) = others.partition(|it| !it.is_placed() && gives_back(it));
    let gone = draft.gone.iter().filter(|it| !it.row.is_adopted && gives_back(it));
    let released = pending.into_iter().chain(gone);
    let released = released.filter_map(|it| Some((it.row.consumer.clone(), it.generation?)));
    let released: Vec<(String, i64)> = released.collect();
    let unchanged = unchanged.into_iter().map(|it| (it.row.consumer.clone(), it.generation));
    let unchanged: Vec<(String, Option<i64>)> = unchanged.collect();
    let hosts: Vec<Vec<u32>> = draft.kept.iter().map(|it| it.hosts.clone()).collect();
    let replicas: Vec<Replica> = draft.kept.iter().map(|it| it.replica.clone()).collect();
    if let Some(stored) = &job.found.stored
        && draft.choices.is_empty()
        && released.is_empty()
        && is_same(stored, &row, &replicas)
    {
        row.generation = stored.row.generation;
    }
    let source = ReportSource {
        hosts: planning.hosts(&job.snapshot),
        rules: &planning.rules[..planning.own_rules],
        spec: &put.spec,
        others: &job.found.others,
        replicas: &replicas,
        hosts_of: &hosts,
        used: &|slot, class| usage.used(slot, class),
    };
    let report = Report {
        reasons,
        is_exact: draft.is_exact,
        ..source.report(row.clone())
    };
    let adopted = job.found.adopted.iter().map(|(it, _)| it.consumer.clone());
    let planned_hosts = planned_hosts(planning, &draft);
    let lost = draft.lost.iter().map(|(host, state)| LostHost {
        host: job.snapshot.uuid(planning.list.slots[*host as usize]).to_string(),
        state: *state,
    });
    Planned {
        is_unchanged: known == Some(row.generation) || put.is_retry && draft.choices.is_empty(),
        set: Set {
            uuid: put.uuid.clone(),
            known,
            named: named.unwrap_or_default(),
            neighbours,
            referrers,
            row: Some(Box::new(row)),
            replicas: replicas.into_iter().map(|it| it.row).collect(),
            standing: unchanged,
            released,
            adopted: adopted.collect(),
            lost: lost.collect(),
            hosts: planned_hosts,
            placed: draft.choices,
        },
        report,
    }
}

/// The hosts on which the places rest. A description that changes the domains of a host is refused if rules `spread` or
/// `within` of replicas on the host name the dimension. So the host of a placed replica counts only if such a rule is
/// new for the replica.
fn planned_hosts(planning: &Planning<'_>, draft: &Draft) -> Vec<PlannedHost> {
    let dimensions: Vec<Arc<str>> = planning.list.names.iter().map(|name| name.as_str().into()).collect();
    if dimensions.is_empty() {
        return Vec::new();
    }
    let chosen: BTreeSet<&str> = draft.choices.iter().map(|it| it.claim.consumer.as_str()).collect();
    let is_chosen = |it: &Kept| chosen.contains(it.replica.row.consumer.as_str());
    let rests_on_placed = !chosen.is_empty() && has_new_members(planning.job);
    let mut hosts: BTreeMap<u32, bool> = BTreeMap::new();
    for it in &draft.kept {
        let counts = is_chosen(it) || rests_on_placed && it.replica.is_placed();
        for &host in it.hosts.iter().filter(|_| counts) {
            *hosts.entry(host).or_insert(true) &= !is_chosen(it);
        }
    }
    let snapshot = &planning.job.snapshot;
    let planned = hosts.into_iter().map(|(host, is_unclaimed)| {
        let slot = planning.list.slots[host as usize];
        let domains = dimensions
            .iter()
            .map(|name| (Arc::clone(name), snapshot.own_domain(slot, name).cloned()));
        PlannedHost {
            host: snapshot.uuid(slot).to_string(),
            domains: domains.collect(),
            is_unclaimed,
        }
    });
    planned.collect()
}

/// Whether a rule `spread` or `within` is new for placed replicas.
fn has_new_members(job: &PlanJob) -> bool {
    let Some(before) = &job.found.stored_spec else {
        return true;
    };
    let before = before.own_dimensions();
    let mut now = job.put.spec.own_dimensions().into_iter();
    !job.found.adopted.is_empty() || now.any(|name| !before.contains(&name))
}

/// Whether the row and the replicas equal the stored workload, apart from the generation.
fn is_same(stored: &StoredWorkload, row: &WorkloadRow, replicas: &[Replica]) -> bool {
    let now = WorkloadRow {
        generation: stored.row.generation,
        ..row.clone()
    };
    let before = stored.replicas.iter().map(|it| &it.row);
    stored.row == now && before.eq(replicas.iter().map(|it| &it.row))
}
