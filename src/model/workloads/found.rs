//! The reads of a request about a workload before the plan, and the refusals that rest on rows alone.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::rows::{Place, find, find_without_bodies, places, referrers, show, taken, workload_rows};
use super::spec::{AffinityRule, ReadSpec, Spec, SpecRule};
use super::{Adopted, Put, Replica, ReplicaRow, StoredWorkload, WorkloadRow};
use crate::db::{DbConnection, leases};
use crate::error::{ClaimRefusal, Error, Reason, ReasonCode, Reasons, RefusedConsumer, Result};

/// The rows that a request reads before the plan.
#[derive(Debug, Clone, Default)]
pub struct Found {
    pub stored: Option<StoredWorkload>,
    /// The spec of the stored workload, if this version of placet can read the spec.
    pub stored_spec: Option<Spec>,
    /// The workloads that the rules name, and the workloads whose rules name this workload: by uuid, without bodies.
    pub others: HashMap<String, StoredWorkload>,
    /// The specs of the workloads whose rules name this workload, without roles.
    pub referrers: Vec<(String, Spec)>,
    pub adopted: Vec<(Adopted, Replica)>,
    /// The hosts that are unknown for longer than the `lost_after` of a request that replaces lost hosts.
    pub long_unknown: BTreeSet<String>,
}

impl Found {
    /// How many replicas lack a place, by the total numbers: a role that falls hides a role that rises.
    pub fn missing(&self, put: &Put) -> u32 {
        let stored = self.stored.iter().flat_map(|stored| &stored.replicas);
        let placed = stored.filter(|it| it.is_placed()).count() + self.adopted.len();
        put.spec.count().saturating_sub(placed as u32)
    }
}

/// How many bodies are read together. A body may have a megabyte.
const BODIES_AT_ONCE: usize = 4;

/// The specs of these workloads without roles, because only rules count for other workloads. Unreadable specs are
/// left out.
fn rules_of(conn: &mut DbConnection, uuids: &[String], read_spec: ReadSpec) -> Result<Vec<(String, Spec)>> {
    let mut specs = Vec::with_capacity(uuids.len());
    for uuids in uuids.chunks(BODIES_AT_ONCE) {
        let uuids: Vec<&str> = uuids.iter().map(String::as_str).collect();
        for row in workload_rows(conn, &uuids)? {
            if let Ok(spec) = read_spec(&row.body) {
                let roles = Vec::new();
                specs.push((row.uuid, Spec { roles, ..spec }));
            }
        }
    }
    specs.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    Ok(specs)
}

/// Reads the workload, the consumers to adopt, and the workloads that a rule ties to this workload.
///
/// # Errors
/// The refusals that rest on rows alone.
pub fn found(conn: &mut DbConnection, put: &Put, read_spec: ReadSpec) -> Result<Found> {
    let referrers = referrers(conn, &put.uuid)?;
    let named = put.spec.neighbours();
    let named: BTreeSet<&str> = named.iter().chain(&referrers).map(String::as_str).collect();
    let named: Vec<&str> = named.into_iter().filter(|uuid| *uuid != put.uuid).collect();
    let mut others = find_without_bodies(conn, &named)?;
    let stored = find(conn, &[&put.uuid])?.remove(&put.uuid);
    let is_foreign = |stored: &&StoredWorkload| stored.row.project != put.owner.project;
    if !put.sees_others && stored.as_ref().is_some_and(|stored| is_foreign(&stored)) {
        return Err(match put.generation {
            Some(_) => Error::stale_generation(format!("Workload {}", put.uuid), None, put.generation),
            None => Error::NotFound {
                noun: format!("workload {}", put.uuid),
            },
        });
    }
    let current = stored.as_ref().map(|stored| stored.row.generation);
    if current != put.generation {
        return Err(Error::stale_generation(
            format!("Workload {}", put.uuid),
            current,
            put.generation,
        ));
    }
    if let Some(stored) = stored.as_ref().filter(is_foreign) {
        return Err(Error::BadRequest {
            detail: format!(
                "project_id: the workload belongs to project {}, and stays there.",
                stored.row.project
            ),
        });
    }
    let exist: BTreeSet<String> = others.keys().cloned().collect();
    // A stored rule may stay if the named workload was deleted. A new rule about an unknown workload is a mistake.
    let stored_spec = stored.as_ref().and_then(|stored| read_spec(&stored.row.body).ok());
    let before: &[SpecRule] = stored_spec
        .as_ref()
        .and_then(|spec| spec.rules.as_deref())
        .unwrap_or_default();
    let is_kept =
        |rule: &SpecRule, affinity: &AffinityRule| !exist.contains(&affinity.workload) && before.contains(rule);
    // A caller must not find out workloads of other projects.
    others.retain(|_, other| other.row.project == put.owner.project);
    for (at, rule) in put.spec.rules.iter().flatten().enumerate() {
        if let SpecRule::Affinity(affinity) = rule
            && !others.contains_key(&affinity.workload)
            && !is_kept(rule, affinity)
        {
            return Err(Error::BadRequest {
                detail: format!(
                    "rules[{at}].workload: the project has no workload {}.",
                    affinity.workload
                ),
            });
        }
    }
    let referrers: Vec<String> = referrers.into_iter().filter(|uuid| others.contains_key(uuid)).collect();
    let referrers = rules_of(conn, &referrers, read_spec)?;
    let adopted = adopted(conn, put)?;
    let long_unknown = match put.spec.lost_after {
        Some(seconds) if put.replaces_lost => leases::unknown_for(conn, seconds)?,
        _ => BTreeSet::new(),
    };
    Ok(Found {
        stored,
        stored_spec,
        others,
        referrers,
        adopted,
        long_unknown,
    })
}

/// The consumers to adopt, with their allocations.
fn adopted(conn: &mut DbConnection, put: &Put) -> Result<Vec<(Adopted, Replica)>> {
    let uuids: Vec<&str> = put.adopted.iter().map(|it| it.consumer.as_str()).collect();
    if uuids.is_empty() {
        return Ok(Vec::new());
    }
    let owners = owners(conn, put, &uuids)?;
    let mut places = places(conn, &uuids)?;
    let adopted = put.adopted.iter().map(|adopted| {
        let Place {
            generation,
            project,
            allocations,
        } = places.remove(&adopted.consumer).unwrap_or_default();
        let is_own = project.as_ref() == Some(&put.owner.project);
        let owner = owners.get(&adopted.consumer);
        // A refusal does not name a foreign workload whose consumer this project has taken over.
        if allocations.is_empty() || !is_own || owner.is_some_and(|owner| owner.project != put.owner.project) {
            return Err(Error::BadRequest {
                detail: format!(
                    "adopt: the project has no consumer {} with allocations.",
                    adopted.consumer
                ),
            });
        }
        if let Some(owner) = owner {
            return Err(Error::ConsumerTaken {
                consumer: adopted.consumer.clone(),
                workload: owner.uuid.clone(),
            });
        }
        let row = ReplicaRow {
            id: String::new(),
            consumer: adopted.consumer.clone(),
            role: String::new(),
            revision: 0,
            is_adopted: true,
        };
        let replica = Replica {
            row,
            generation,
            allocations,
        };
        Ok((adopted.clone(), replica))
    });
    adopted.collect()
}

/// By consumer, the workload of which the consumer is a replica; not the workload of the request.
fn owners(conn: &mut DbConnection, put: &Put, consumers: &[&str]) -> Result<HashMap<String, WorkloadRow>> {
    let mut taken = taken(conn, consumers)?;
    taken.retain(|_, workload| *workload != put.uuid);
    let uuids: BTreeSet<&str> = taken.values().map(String::as_str).collect();
    let rows = workload_rows(conn, &uuids.into_iter().collect::<Vec<_>>())?;
    let owner = |(consumer, workload): (String, String)| {
        let row = rows.iter().find(|row| row.uuid == workload)?;
        Some((consumer, row.clone()))
    };
    Ok(taken.into_iter().filter_map(owner).collect())
}

/// The refusal of the consumers that exist, in the order of `consumers`. `None` if none exists. Also `None` if the
/// workload's generation is not `known`: a request about the workload may have made the consumers.
pub fn existing(
    conn: &mut DbConnection,
    consumers: &[String],
    workload: &str,
    known: Option<i64>,
) -> Result<Option<Error>> {
    let uuids: Vec<&str> = consumers.iter().map(String::as_str).collect();
    let found = places(conn, &uuids)?;
    // Read after the consumers, so the row shows each request whose consumers were found.
    let rows = workload_rows(conn, &[workload])?;
    if rows.first().map(|row| row.generation) != known {
        return Ok(None);
    }
    let existing = consumers.iter().filter(|it| found.contains_key(*it));
    let refused = existing.map(|consumer| {
        let detail = format!("Consumer {consumer} exists, and is no replica yet: adopt it, or delete its allocations.");
        RefusedConsumer {
            consumer: consumer.clone(),
            reasons: Reason::new(ReasonCode::ConcurrentUpdate, detail).into(),
        }
    });
    let consumers: Vec<RefusedConsumer> = refused.collect();
    Ok((!consumers.is_empty()).then(|| Error::ClaimRefused(Arc::new(ClaimRefusal { consumers }))))
}

/// A workload to delete.
///
/// # Errors
/// - [`Error::NotFound`].
/// - [`Error::WorkloadInUse`] if rules of the project's workloads name this workload, unless the request is forced.
pub fn to_delete(conn: &mut DbConnection, uuid: &str, is_forced: bool) -> Result<StoredWorkload> {
    let stored = show(conn, uuid)?;
    let referrers = if is_forced { Vec::new() } else { referrers(conn, uuid)? };
    let referrers: Vec<&str> = referrers.iter().map(String::as_str).collect();
    let mut referrers = workload_rows(conn, &referrers)?;
    referrers.retain(|referrer| referrer.project == stored.row.project);
    if referrers.is_empty() {
        return Ok(stored);
    }
    referrers.sort_by(|one, other| one.uuid.cmp(&other.uuid));
    let mut reasons = Reasons::default();
    for WorkloadRow { uuid, name, .. } in referrers {
        let detail = format!("Rules of workload {uuid} ({name}) name it.");
        reasons.add(Reason::new(ReasonCode::WorkloadInUse, detail));
    }
    Err(Error::WorkloadInUse {
        uuid: uuid.to_owned(),
        reasons: Arc::new(reasons),
    })
}
