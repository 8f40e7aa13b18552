//! Which replicas stay, leave, or exchange their roles, by the request of the caller.

use std::collections::{BTreeSet, HashMap};

use super::{Draft, Kept, Planning};
use crate::error::{Error, Result};
use crate::model::workloads::{Adopted, Put, Replica, ReplicaRow, Role, affinity, ids};
use crate::search::ProviderState;

fn bad_request<T>(detail: String) -> Result<T> {
    Err(Error::BadRequest { detail })
}

/// Sorts the stored replicas and the consumers to adopt into staying and leaving replicas.
pub fn take(planning: &Planning<'_>) -> Result<Draft> {
    let (job, named) = (planning.job, NamedIds::of(planning));
    let mut all: Vec<(Replica, bool)> = match &job.found.stored {
        Some(stored) => stored.replicas.iter().map(|it| (it.clone(), false)).collect(),
        None => Vec::new(),
    };
    adopt(&named, &mut all)?;
    let by_id = all.iter().enumerate().map(|(at, (it, _))| (it.row.id.clone(), at));
    let by_id: HashMap<String, usize> = by_id.collect();
    for [one, other] in &job.put.swaps {
        let (Some(&one_at), Some(&other_at)) = (by_id.get(one), by_id.get(other)) else {
            return bad_request(format!("swap: the workload has no replicas {one} and {other}."));
        };
        let role = all[one_at].0.row.role.clone();
        all[one_at].0.row.role = std::mem::replace(&mut all[other_at].0.row.role, role);
        let has_changed = all[one_at].0.row.role != all[other_at].0.row.role;
        for at in [one_at, other_at] {
            all[at].1 |= has_changed && all[at].0.is_placed();
        }
    }
    let mut draft = Draft {
        is_exact: true,
        ..Draft::default()
    };
    for (replica, is_swapped) in all {
        let stays = !named.leaves(&replica.row);
        match planning.role(&replica.row.role).filter(|_| stays) {
            Some(role) => draft.kept.push(Kept {
                hosts: affinity::hosts_of(&job.snapshot, &planning.list, &replica),
                replica,
                role,
                is_swapped,
            }),
            None => draft.gone.push(replica),
        }
    }
    if job.put.replaces_lost {
        give_up_lost(planning, &mut draft);
    }
    draft.sort();
    check_ids(&job.put, &draft)?;
    Ok(draft)
}

/// Takes the places of replicas with a lost host. A consumer that the request adopts keeps its place.
fn give_up_lost(planning: &Planning<'_>, draft: &mut Draft) {
    let adopted = planning.job.found.adopted.iter();
    let adopted: BTreeSet<&str> = adopted.map(|(it, _)| it.consumer.as_str()).collect();
    for kept in &mut draft.kept {
        let lost = kept
            .hosts
            .iter()
            .filter_map(|host| Some((*host, planning.lost_state(*host)?)));
        let lost: Vec<(u32, ProviderState)> = lost.collect();
        if lost.is_empty() || adopted.contains(kept.replica.row.consumer.as_str()) {
            continue;
        }
        draft.given_up.push(kept.replica.clone());
        draft.lost.extend(lost);
        kept.replica.allocations.clear();
        kept.hosts.clear();
        kept.is_swapped = false;
    }
}

/// Adds the adopted consumers as replicas.
fn adopt(named: &NamedIds<'_>, all: &mut Vec<(Replica, bool)>) -> Result<()> {
    let planning = named.planning;
    let mut ids = AdoptedIds::new(named, all);
    let staying = all.iter().map(|(it, _)| &it.row).filter(|it| !named.leaves(it));
    let mut counts: HashMap<String, u32> = HashMap::new();
    staying.for_each(|it| *counts.entry(it.role.clone()).or_default() += 1);
    let by_consumer = all.iter().map(|(it, _)| (it.row.consumer.clone(), it.row.id.clone()));
    let mut by_consumer: HashMap<String, String> = by_consumer.collect();
    let mut lacking = 0;
    for (adopted, replica) in planning.job.found.adopted.iter() {
        if let Some(own) = by_consumer.get(&adopted.consumer) {
            if adopted.id.as_ref().is_some_and(|id| id != own) {
                return bad_request(format!(
                    "adopt: consumer {} is already replica {own} of the workload.",
                    adopted.consumer
                ));
            }
            continue;
        }
        let mut replica = replica.clone();
        replica.row.id = ids.take(adopted)?;
        replica.row.role = named.role_of(adopted, &counts, &mut lacking)?;
        *counts.entry(replica.row.role.clone()).or_default() += 1;
        replica.row.revision = planning.revision;
        by_consumer.insert(replica.row.consumer.clone(), replica.row.id.clone());
        all.push((replica, false));
    }
    Ok(())
}

/// Refuses new ids if their consumers are adopted under different ids.
fn check_ids(put: &Put, draft: &Draft) -> Result<()> {
    let adopted = draft.adopted();
    if adopted.is_empty() {
        return Ok(());
    }
    let known: BTreeSet<&str> = draft.kept.iter().map(|it| it.replica.row.id.as_str()).collect();
    let is_new = |id: &&String| !known.contains(id.as_str());
    for id in put.ids.iter().flatten().filter(is_new) {
        if let Some(other) = ids::other_id(&adopted, &put.uuid, id) {
            let consumer = ids::consumer_of(&put.uuid, id);
            return bad_request(format!(
                "ids: replica {id} would be consumer {consumer}, which is replica {other} of the workload."
            ));
        }
    }
    Ok(())
}

/// The ids named by the caller, for the choice of staying replicas.
struct NamedIds<'a> {
    planning: &'a Planning<'a>,
    /// The ids, if the caller names all ids.
    all: Option<BTreeSet<&'a str>>,
    /// The ids whose replicas exchange their roles.
    swapped: BTreeSet<&'a str>,
}

impl NamedIds<'_> {
    fn of<'a>(planning: &'a Planning<'a>) -> NamedIds<'a> {
        let put = &planning.job.put;
        let all = put.ids.as_ref().map(|ids| ids.iter().map(String::as_str).collect());
        NamedIds {
            planning,
            all,
            swapped: put.swaps.iter().flatten().map(String::as_str).collect(),
        }
    }

    /// Whether a replica leaves, whatever is placed: the caller leaves out the id, or the role is gone.
    fn leaves(&self, row: &ReplicaRow) -> bool {
        let id = row.id.as_str();
        let is_left_out = self.all.as_ref().is_some_and(|ids| !ids.contains(id));
        // The exchange may give the replica a new role.
        let is_swapped = || self.swapped.contains(id);
        is_left_out || self.planning.role(&row.role).is_none() && !is_swapped()
    }

    /// The role named by the caller, or the first role with a missing replica. `counts` are the staying replicas of
    /// each role. `first` is the first role that may lack a replica: the counts only rise.
    fn role_of(&self, adopted: &Adopted, counts: &HashMap<String, u32>, first: &mut usize) -> Result<String> {
        let roles = self.planning.job.roles();
        let is_full = |role: &Role| counts.get(&role.name).is_some_and(|count| *count >= role.count) || role.count == 0;
        while roles.get(*first).is_some_and(is_full) {
            *first += 1;
        }
        let lacking = roles.get(*first);
        let Some(role) = adopted.role.clone().or(lacking.map(|role| role.name.clone())) else {
            return bad_request(format!(
                "adopt: no role lacks a replica for consumer {}.",
                adopted.consumer
            ));
        };
        if self.planning.role(&role).is_none() {
            return bad_request(format!("adopt: there is no role {role}."));
        }
        Ok(role)
    }
}

/// The ids for adopted consumers.
struct AdoptedIds<'a> {
    /// All ids. `None` if the caller names no ids.
    given: Option<&'a BTreeSet<&'a str>>,
    /// The free ids without reserved ids, and all free ids: each in order, without the ids tried before.
    free: [Box<dyn Iterator<Item = String> + 'a>; 2],
    /// The ids of staying replicas, and the ids taken since.
    used: BTreeSet<String>,
    /// By consumer to adopt, the free id whose replica would be this consumer. So replicas of a workload whose rows
    /// were lost get their ids again.
    own: HashMap<String, String>,
}

/// How many free ids are compared with the consumers to adopt. A workload has no more replicas.
const COMPARED_IDS: usize = 1_000;

impl<'a> AdoptedIds<'a> {
    fn new(named: &'a NamedIds<'_>, all: &[(Replica, bool)]) -> AdoptedIds<'a> {
        let put = &named.planning.job.put;
        let given = put.ids.as_deref();
        let staying = all.iter().map(|(it, _)| &it.row).filter(|it| !named.leaves(it));
        let used: BTreeSet<String> = staying.map(|it| it.id.clone()).collect();
        let unnamed = put.adopted.iter().filter(|it| it.id.is_none());
        let unnamed: BTreeSet<&str> = unnamed.map(|it| it.consumer.as_str()).collect();
        let compared = if unnamed.is_empty() { 0 } else { COMPARED_IDS };
        let free = ids::free(given, &used).take(compared);
        let own = free.map(|id| (ids::consumer_of(&put.uuid, &id), id));
        let taken: BTreeSet<&String> = put.adopted.iter().filter_map(|it| it.id.as_ref()).collect();
        let own = own.filter(|(it, id)| unnamed.contains(it.as_str()) && !taken.contains(id));
        let own: HashMap<String, String> = own.collect();
        let reserved: BTreeSet<String> = own.values().chain(taken).cloned().collect();
        let unreserved = ids::free(given, &used).filter(move |id| !reserved.contains(id));
        AdoptedIds {
            given: named.all.as_ref(),
            free: [Box::new(unreserved), ids::free(given, &used)],
            own,
            used,
        }
    }

    /// The id named by the caller, else the id whose replica would be this consumer, else the first free id.
    fn take(&mut self, Adopted { consumer, id, .. }: &Adopted) -> Result<String> {
        let Some(id) = id.clone().or_else(|| self.free(consumer)) else {
            return bad_request(format!("adopt: no id is free for consumer {consumer}."));
        };
        let is_listed = self.given.is_none_or(|ids| ids.contains(id.as_str()));
        if !is_listed || !self.used.insert(id.clone()) {
            return bad_request(format!("adopt: id {id} is not free for consumer {consumer}."));
        }
        Ok(id)
    }

    fn free(&mut self, consumer: &str) -> Option<String> {
        let own = self.own.get(consumer).filter(|id| !self.used.contains(*id));
        let used = &self.used;
        own.cloned()
            .or_else(|| self.free.iter_mut().find_map(|free| free.find(|id| !used.contains(id))))
    }
}
