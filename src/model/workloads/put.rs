//! A request about a workload, from its first read to the answer.
//!
//! As for claims by query, the search runs beside the writer, on a snapshot that is newer than the request. The writer
//! compares what the plan saw: the workload's row, the generations of all its consumers, and the workloads to which a rule
//! ties it. It claims exactly the places of the plan, by the rules of any claim. If one of them is gone, or something moved,
//! the request is planned again. Each such round is one that another command has won.
//!
//! Rules between two workloads are guarded on both sides. A workload that is placed raises `named` of those that its rules
//! name, and compares their generations. So of two that are planned in the same moment, the second sees the first.
//!
//! Hosts that are not chosen are not locked. So a description that changes in the same moment leaves at worst a violation,
//! which is shown.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::sync::Arc;

use super::report::{ReadWorkload, Report, ReportJob};
use super::rows::{find, namers, places, show, taken};
use super::wish::{ReadWish, Role, Wish};
use super::{Adopted, PlanJob, Planned, Put, Replica, ReplicaRow, Set, SetAnswer, StoredWorkload};
use crate::db::DbConnection;
use crate::db::boot_instant::BootInstant;
use crate::error::{ClaimRefusal, Error, ReasonCode, Result};
use crate::model::Model;
use crate::model::allocations::Expected;
use crate::model::claims::{Contradiction, OwnAllocations, Queries};
use crate::search::{ProviderId, SearchSettings, Snapshot};

/// What a request reads before it is planned.
struct Found {
    stored: Option<StoredWorkload>,
    others: HashMap<String, StoredWorkload>,
    namers: Vec<(String, Wish)>,
    adopted: Vec<(Adopted, Replica)>,
}

impl Found {
    /// How many replicas lack a place, as far as the numbers say: a role that falls hides one that rises.
    fn missing(&self, put: &Put) -> u32 {
        let stored = self.stored.iter().flat_map(|stored| &stored.replicas);
        let placed = stored.filter(|it| it.is_placed()).count() + self.adopted.len();
        put.wish.count().saturating_sub(placed as u32)
    }
}

/// A workload that was written.
#[derive(Debug)]
pub struct Stored {
    pub report: Report,
    /// The replicas that got a place, and those that lost theirs.
    pub granted: usize,
    pub released: usize,
}

impl Model {
    /// Creates or changes a workload. `search` plans where it delays no other request.
    ///
    /// # Errors
    /// - [`Error::StaleWorkload`], [`Error::DuplicateWorkload`], [`Error::ConsumerTaken`].
    /// - [`Error::NoPlace`], [`Error::NoCapacity`] if the request is atomic and replicas have no place.
    /// - [`Error::BadRequest`] for what the workload cannot be. [`Error::Busy`] if others keep taking what it finds.
    pub async fn put_workload(
        &self,
        put: Put,
        settings: &SearchSettings,
        search: impl AsyncFn(PlanJob) -> Result<Planned>,
    ) -> Result<Report> {
        let mut missing = put.wish.count();
        let put = Arc::new(put);
        let answer = self.try_put(&put, &mut missing, settings, search).await;
        if !put.is_dry_run {
            self.claim_statistics.note_workload(missing, &answer);
        }
        answer.map(|stored| stored.report)
    }

    /// As [`Self::put_workload`]. Sets `missing` to the number of replicas that lack a place.
    pub(super) async fn try_put(
        &self,
        put: &Arc<Put>,
        missing: &mut u32,
        settings: &SearchSettings,
        search: impl AsyncFn(PlanJob) -> Result<Planned>,
    ) -> Result<Stored> {
        let deadline = self.writer_deadline();
        let mut contradictions: Vec<Contradiction> = Vec::new();
        let mut is_compared = false;
        let mut existing = BTreeSet::new();
        while BootInstant::now() < deadline {
            let found = self.found(put).await?;
            *missing = found.missing(put);
            let (snapshot, roles) = self
                .newest_for(&put.wish.roles, std::mem::take(&mut contradictions))
                .await?;
            let stored_wish = match &found.stored {
                Some(stored) => (put.read)(&stored.row.body).ok(),
                None => None,
            };
            let job = PlanJob {
                snapshot,
                put: Arc::clone(put),
                roles: Arc::new(roles),
                stored: found.stored.map(Arc::new),
                stored_wish: stored_wish.map(Arc::new),
                others: Arc::new(found.others),
                namers: Arc::new(found.namers),
                adopted: Arc::new(found.adopted),
                settings: settings.clone(),
            };
            let planned = match until(deadline, search(job)).await {
                Err(refusal @ (Error::NoPlace { .. } | Error::NoCapacity { .. })) => {
                    // Another program may have written what the snapshot does not show. Once in a request.
                    if !is_compared && self.compare_before_refusal(deadline).await? {
                        is_compared = true;
                        continue;
                    }
                    return Err(refusal);
                }
                planned => planned?,
            };
            let Planned { set, report } = planned;
            if put.is_retry && set.placed.is_empty() {
                return Ok(Stored {
                    report,
                    granted: 0,
                    released: 0,
                });
            }
            let (granted, released) = (set.placed.len(), set.released.len());
            let new = new_consumers(&set);
            let decided = if put.is_dry_run {
                self.dry_run(set, deadline).await
            } else {
                self.submit_until(set, deadline).await
            };
            match decided {
                Ok(claimed) => {
                    return Ok(Stored {
                        report: with_claimed(report, &claimed),
                        granted,
                        released,
                    });
                }
                Err(Error::ClaimRefused(refusal)) => {
                    let now: BTreeSet<String> = existing_consumers(&refusal).intersection(&new).cloned().collect();
                    // The workload was read again since, and still has no such consumer: it is another client's.
                    if !now.is_disjoint(&existing) {
                        return Err(Error::ClaimRefused(refusal));
                    }
                    existing = now;
                    contradictions = refusal.consumers.iter().flat_map(Contradiction::of).collect();
                }
                Err(error) => return Err(error),
            }
        }
        Err(busy())
    }

    /// Deletes a workload: its replicas are released, but consumers that were adopted keep what they have. `generation` is the
    /// one that the caller knows; `None`: any.
    ///
    /// # Errors
    /// [`Error::WorkloadNotFound`], [`Error::StaleWorkload`].
    pub async fn delete_workload(&self, uuid: &str, generation: Option<i64>, is_dry_run: bool) -> Result<()> {
        let deadline = self.writer_deadline();
        while BootInstant::now() < deadline {
            let stored = self.stored_workload(uuid).await?;
            let known = stored.row.generation;
            if generation.is_some_and(|generation| generation != known) {
                return Err(Error::stale_workload(uuid, Some(known), generation));
            }
            let placed = stored
                .replicas
                .into_iter()
                .filter(|it| !it.row.is_adopted && it.is_placed());
            let set = Set {
                uuid: uuid.to_owned(),
                known: Some(known),
                named: stored.row.named,
                neighbours: Vec::new(),
                row: None,
                replicas: Vec::new(),
                standing: Vec::new(),
                released: placed
                    .filter_map(|it| Some((it.row.consumer, it.generation?)))
                    .collect(),
                placed: Vec::new(),
                adopted: Vec::new(),
            };
            let released = set.released.len();
            let decided = if is_dry_run {
                self.dry_run(set, deadline).await
            } else {
                self.submit_until(set, deadline).await
            };
            match decided {
                Ok(_) if is_dry_run => return Ok(()),
                Ok(_) => {
                    self.claim_statistics.released.add(released as u64);
                    return Ok(());
                }
                // It changed since it was read.
                Err(Error::ClaimRefused(_) | Error::StaleWorkload { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Err(busy())
    }

    /// One workload with its replicas and their places.
    ///
    /// # Errors
    /// [`Error::WorkloadNotFound`].
    pub async fn stored_workload(&self, uuid: &str) -> Result<StoredWorkload> {
        let uuid = uuid.to_owned();
        self.reader(false).read(move |conn| show(conn, &uuid)).await
    }

    /// What a stored workload is now.
    ///
    /// # Errors
    /// [`Error::Internal`] if its body cannot be read. Errors of the search.
    pub async fn report_workload(
        &self,
        stored: StoredWorkload,
        read: ReadWish,
        settings: &SearchSettings,
        search: impl AsyncFn(ReportJob) -> Result<Report>,
    ) -> Result<Report> {
        let wish = read_wish(&stored, read)?;
        let others = self.neighbours(wish.neighbours()).await?;
        let (snapshot, roles) = self.newest_for(&wish.roles, Vec::new()).await?;
        search(ReportJob {
            snapshot,
            workload: Arc::new(ReadWorkload { stored, wish, roles }),
            others: Arc::new(others),
            settings: settings.clone(),
        })
        .await
    }

    /// The workloads that rules name; unknown ones are left out.
    pub(in crate::model) async fn neighbours(&self, uuids: Vec<String>) -> Result<HashMap<String, StoredWorkload>> {
        if uuids.is_empty() {
            return Ok(HashMap::new());
        }
        self.reader(false).read(move |conn| find_all(conn, &uuids)).await
    }

    /// Reads the workload, those that its rules name or whose rules name it, and the consumers that it adopts.
    ///
    /// # Errors
    /// What the rows alone refuse.
    async fn found(&self, put: &Arc<Put>) -> Result<Found> {
        let put = Arc::clone(put);
        self.reader(false).read(move |conn| found(conn, &put)).await
    }

    /// A snapshot that shows every commit acknowledged before, corrected if rows contradicted it; and the roles with names
    /// as the tables spell them.
    pub(in crate::model) async fn newest_for(
        &self,
        roles: &[Role],
        contradictions: Vec<Contradiction>,
    ) -> Result<(Arc<Snapshot>, Vec<Role>)> {
        let queries = Queries(roles.iter().map(|role| role.query.clone()).collect());
        let prepared = self.prepare_search(queries, std::time::Duration::ZERO).await?;
        let own = OwnAllocations::new();
        let wrong = contradictions
            .iter()
            .filter_map(|it| it.wrong_provider(&prepared.snapshot, &own));
        let wrong: std::collections::BTreeSet<ProviderId> = wrong.collect();
        let snapshot = if wrong.is_empty() {
            prepared.snapshot
        } else {
            self.read_again(wrong).await?
        };
        let roles = roles.iter().zip(prepared.search.0);
        let roles = roles.map(|(role, query)| Role { query, ..role.clone() });
        Ok((snapshot, roles.collect()))
    }
}

/// What a stored workload wants.
///
/// # Errors
/// [`Error::Internal`] if this version of placet cannot read it.
pub fn read_wish(stored: &StoredWorkload, read: ReadWish) -> Result<Wish> {
    read(&stored.row.body).map_err(|error| Error::Internal {
        detail: format!("the body of workload {} cannot be read: {error}", stored.row.uuid),
    })
}

/// The consumers of new replicas.
fn new_consumers(set: &Set) -> BTreeSet<String> {
    let new = set.placed.iter().filter(|it| it.claim.generation == Expected::New);
    new.map(|it| it.claim.consumer.clone()).collect()
}

/// The consumers that were refused because they exist.
fn existing_consumers(refusal: &ClaimRefusal) -> BTreeSet<String> {
    let existing = refusal
        .consumers
        .iter()
        .filter(|it| it.reasons.has(ReasonCode::ConcurrentUpdate));
    existing.map(|it| it.consumer.clone()).collect()
}

fn busy() -> Error {
    Error::Busy {
        detail: "Other commands kept changing what the workload needs.".to_owned(),
    }
}

async fn until<T>(deadline: BootInstant, search: impl Future<Output = Result<T>>) -> Result<T> {
    let left = deadline.saturating_duration_since(BootInstant::now());
    let too_long = |_| Error::Busy {
        detail: "The search for places took too long.".to_owned(),
    };
    tokio::time::timeout(left, search).await.map_err(too_long)?
}

fn find_all(conn: &mut DbConnection, uuids: &[String]) -> Result<HashMap<String, StoredWorkload>> {
    let uuids: Vec<&str> = uuids.iter().map(String::as_str).collect();
    find(conn, &uuids)
}

fn found(conn: &mut DbConnection, put: &Put) -> Result<Found> {
    let namers = namers(conn, &put.uuid)?;
    let mut named = put.wish.neighbours();
    named.push(put.uuid.clone());
    named.extend(namers.iter().cloned());
    named.sort_unstable();
    named.dedup();
    let mut others = find_all(conn, &named)?;
    let stored = others.remove(&put.uuid);
    let current = stored.as_ref().map(|stored| stored.row.generation);
    if current != put.generation {
        return Err(Error::stale_workload(&put.uuid, current, put.generation));
    }
    if let Some(stored) = stored.as_ref().filter(|it| it.row.project != put.owner.project) {
        return Err(Error::BadRequest {
            detail: format!(
                "project_id: the workload belongs to project {}, and stays there.",
                stored.row.project
            ),
        });
    }
    // What other projects have is not to be found out.
    others.retain(|_, other| other.row.project == put.owner.project);
    for uuid in put.wish.neighbours() {
        if !others.contains_key(&uuid) {
            return Err(Error::BadRequest {
                detail: format!("rules: the project has no workload {uuid}."),
            });
        }
    }
    let wish = |uuid: String| {
        let wish = (put.read)(&others.get(&uuid)?.row.body).ok()?;
        Some((uuid, wish))
    };
    let namers = namers.into_iter().filter_map(wish).collect();
    let adopted = adopted(conn, put)?;
    Ok(Found {
        stored,
        others,
        namers,
        adopted,
    })
}

/// The consumers to adopt, with what they have.
fn adopted(conn: &mut DbConnection, put: &Put) -> Result<Vec<(Adopted, Replica)>> {
    let uuids: Vec<&str> = put.adopted.iter().map(|it| it.consumer.as_str()).collect();
    if uuids.is_empty() {
        return Ok(Vec::new());
    }
    let owners = taken(conn, &uuids)?;
    if let Some((consumer, workload)) = owners.into_iter().find(|(_, workload)| *workload != put.uuid) {
        return Err(Error::ConsumerTaken { consumer, workload });
    }
    let projects = crate::model::allocations::projects_of(conn, &uuids)?;
    let mut places = places(conn, &uuids)?;
    let adopted = put.adopted.iter().map(|adopted| {
        let (generation, allocations) = places.remove(&adopted.consumer).unwrap_or_default();
        let is_own = projects.get(&adopted.consumer) == Some(&put.owner.project);
        if allocations.is_empty() || !is_own {
            return Err(Error::BadRequest {
                detail: format!(
                    "adopt: the project has no consumer {} with allocations.",
                    adopted.consumer
                ),
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

/// The report with what the writer says: generations, and what is over normal limits.
fn with_claimed(mut report: Report, claimed: &SetAnswer) -> Report {
    let by_consumer: HashMap<&str, _> = claimed.iter().map(|it| (it.consumer.as_str(), it)).collect();
    for shown in &mut report.replicas {
        if let Some(claimed) = by_consumer.get(shown.replica.row.consumer.as_str()) {
            shown.replica.generation = Some(claimed.generation);
            shown.replica.allocations.clone_from(&claimed.providers);
            shown.over_normal.clone_from(&claimed.over_normal);
        }
    }
    report
}
