//! A request about a workload, from its first read to the answer.
//!
//! As for claims by query, the search runs beside the writer, on a snapshot that is newer than the request. The writer
//! compares what the plan saw: the workload's row, the generations of all its consumers, and the workloads to which a
//! rule ties it. It claims exactly the places of the plan, by the rules of any claim. If one of them is gone, or
//! something moved, the request is planned again. Each such round is one that another command has won; else `attempts`
//! ends the request.
//!
//! Rules between two workloads are guarded on both sides. A workload that is placed raises `named` of those that its
//! rules name, and compares their generations. So of two that are planned in the same moment, the second sees the
//! first. One that is deleted and created again has the same generations, but another [`Incarnation`], which is
//! compared too.
//!
//! A workload that rules of others name is deleted only by force. `named` guards that too: it rises if another workload
//! begins to name this one. After that these rules are as if they named an empty workload. One that is created with the
//! uuid raises `named` of those whose rules name it already.
//!
//! The domains of the chosen hosts are compared with those of the plan. Other hosts are neither compared nor locked: a
//! change of them in the same moment is as one just after the placement.

use std::collections::HashMap;
use std::sync::Arc;

use super::attempts::{Attempt, Attempts};
use super::found::Found;
use super::report::{Change, ReadWorkload, Report, ReportJob};
use super::rows::show;
use super::time::until;
use super::wish::{ReadWish, Role, Wish};
use super::{
    Delete, Incarnation, Neighbourhood, PlanJob, Planned, Put, Set, SetAnswer, StoredWorkload, WorkloadRow, found,
};
use crate::db::boot_instant::BootInstant;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::model::claims::{ClaimQuery, Contradictions, OwnAllocations};
use crate::pools::CallerKey;
use crate::search::{SearchSettings, Snapshot};

/// Placing more replicas takes longer than [`crate::pools::INLINE_TIME`].
const MAX_INLINE_REPLICAS: u32 = 10;

impl Model {
    /// Creates or changes a workload.
    ///
    /// # Errors
    /// - [`Error::StaleWorkload`], [`Error::DuplicateWorkload`], [`Error::ConsumerTaken`].
    /// - [`Error::NoPlace`], [`Error::NoCapacity`] if the request is atomic and replicas have no place.
    /// - [`Error::BadRequest`] for what the workload cannot be. [`Error::Busy`] if others keep taking what it finds.
    pub async fn put_workload(&self, put: Put, settings: &SearchSettings, caller: &CallerKey) -> Result<Report> {
        let search = async |job: PlanJob| {
            if job.put.wish.count() > MAX_INLINE_REPLICAS {
                return self
                    .pools
                    .long_search(caller, move |interrupt| job.run(interrupt))
                    .await;
            }
            self.pools.search(caller, move |interrupt| job.run(interrupt)).await
        };
        self.put_workload_with(put, settings, caller, search).await
    }

    /// As [`Self::put_workload`], with a search of the caller.
    pub(in crate::model) async fn put_workload_with(
        &self,
        put: Put,
        settings: &SearchSettings,
        caller: &CallerKey,
        search: impl AsyncFn(PlanJob) -> Result<Planned>,
    ) -> Result<Report> {
        let mut missing = put.wish.count();
        let put = Arc::new(put);
        let answer = self.try_put(&put, &mut missing, (settings, caller), search).await;
        if !put.is_dry_run {
            self.claim_statistics.note_workload(missing, &answer);
        }
        answer
    }

    /// As [`Self::put_workload`]. Sets `missing` to the number of replicas that lack a place.
    pub(super) async fn try_put(
        &self,
        put: &Arc<Put>,
        missing: &mut u32,
        (settings, caller): (&SearchSettings, &CallerKey),
        search: impl AsyncFn(PlanJob) -> Result<Planned>,
    ) -> Result<Report> {
        let deadline = self.writer_deadline();
        let mut attempts = Attempts::default();
        while BootInstant::now() < deadline {
            let found = self.found(put).await?;
            *missing = found.missing(put);
            let (snapshot, roles) = self.newest_for(&put.wish.roles, &mut attempts.contradictions).await?;
            let stored_wish = match &found.stored {
                Some(stored) => self.read_wish(stored, put.read, caller).await.ok(),
                None => None,
            };
            let job = PlanJob {
                snapshot: Arc::clone(&snapshot),
                put: Arc::clone(put),
                roles: Arc::new(roles),
                stored: found.stored.map(Arc::new),
                stored_wish: stored_wish.map(Arc::new),
                others: Arc::new(found.others),
                namers: Arc::new(found.namers),
                adopted: Arc::new(found.adopted),
                held: self.store.held(),
                settings: settings.clone(),
            };
            let held = Arc::clone(&job.held);
            let planned = match until(deadline, search(job)).await {
                Err(refusal @ (Error::NoPlace { .. } | Error::NoCapacity { .. })) => {
                    if attempts.must_compare(self, deadline).await? {
                        continue;
                    }
                    return Err(refusal);
                }
                planned => planned?,
            };
            let Planned { mut set, report } = planned;
            if let (None, Some(row)) = (set.known, &mut set.row) {
                (row.named, _) = Incarnation::random().range();
            }
            // The same again changes nothing.
            let is_same = set.row.as_ref().is_some_and(|row| Some(row.generation) == set.known);
            if is_same || put.is_retry && set.placed.is_empty() {
                return Ok(report);
            }
            let change = Change {
                placed: set.placed.iter().map(|choice| choice.claim.consumer.clone()).collect(),
                released: set.released.len(),
            };
            let attempt = Attempt::of(&set, snapshot);
            let decided = if put.is_dry_run {
                self.dry_run(set, deadline).await.map(Some)
            } else {
                self.submit_planned(set, deadline, &held).await
            };
            match decided {
                // The next plan avoids the row.
                Ok(None) => {}
                Ok(Some(claimed)) => {
                    return Ok(Report {
                        change: if put.is_dry_run { Change::default() } else { change },
                        ..with_claimed(report, &claimed)
                    });
                }
                Err(Error::ClaimRefused(refusal)) => attempts.note(self, attempt, refusal, deadline).await?,
                Err(error) => return Err(error),
            }
        }
        Err(busy())
    }

    /// Deletes a workload: its replicas are released, but consumers that were adopted keep what they have. `generation`
    /// is the one that the caller knows; `None`: any.
    ///
    /// # Errors
    /// [`Error::WorkloadNotFound`], [`Error::StaleWorkload`]. [`Error::WorkloadInUse`] unless it is forced.
    pub async fn delete_workload(&self, uuid: &str, generation: Option<i64>, how: Delete) -> Result<()> {
        let Delete { is_forced, is_dry_run } = how;
        let deadline = self.writer_deadline();
        while BootInstant::now() < deadline {
            let read = {
                let uuid = uuid.to_owned();
                move |conn: &mut _| found::to_delete(conn, &uuid, is_forced)
            };
            let stored = self.reader(false).read(read).await?;
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
                namers: Vec::new(),
                row: None,
                replicas: Vec::new(),
                standing: Vec::new(),
                released: placed
                    .filter_map(|it| Some((it.row.consumer, it.generation?)))
                    .collect(),
                placed: Vec::new(),
                adopted: Vec::new(),
                hosts: Vec::new(),
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
        found: Neighbourhood,
        read: ReadWish,
        settings: &SearchSettings,
        caller: &CallerKey,
    ) -> Result<Report> {
        let search = async |job: ReportJob| self.pools.search(caller, move |interrupt| job.run(interrupt)).await;
        self.report_workload_with(found, read, (settings, caller), search).await
    }

    /// As [`Self::report_workload`], with a search of the caller.
    pub(in crate::model) async fn report_workload_with(
        &self,
        found: Neighbourhood,
        read: ReadWish,
        (settings, caller): (&SearchSettings, &CallerKey),
        search: impl AsyncFn(ReportJob) -> Result<Report>,
    ) -> Result<Report> {
        let Neighbourhood {
            workload: stored,
            others,
        } = found;
        let wish = self.read_wish(&stored, read, caller).await?;
        let (snapshot, roles) = self.newest_for(&wish.roles, &mut Contradictions::default()).await?;
        let job = ReportJob {
            snapshot,
            workload: Arc::new(ReadWorkload { stored, wish, roles }),
            others: Arc::new(others),
            settings: settings.clone(),
        };
        until(self.writer_deadline(), search(job)).await
    }

    /// What a stored workload asks for.
    async fn read_wish(&self, stored: &StoredWorkload, read: ReadWish, caller: &CallerKey) -> Result<Wish> {
        let row = stored.row.clone();
        let length = row.body.len();
        self.pools.read(caller, length, move || read_wish(&row, read)).await
    }

    /// Reads the workload, those that its rules name or whose rules name it, and the consumers that it adopts.
    ///
    /// # Errors
    /// What the rows alone refuse.
    async fn found(&self, put: &Arc<Put>) -> Result<Found> {
        let put = Arc::clone(put);
        self.reader(false).read(move |conn| found::found(conn, &put)).await
    }

    /// A snapshot that shows every commit acknowledged before, corrected if rows contradicted it; and the roles with
    /// names as the tables spell them.
    pub(in crate::model) async fn newest_for(
        &self,
        roles: &[Role],
        contradictions: &mut Contradictions,
    ) -> Result<(Arc<Snapshot>, Vec<Role>)> {
        let queries: Vec<ClaimQuery> = roles.iter().map(|role| role.query.clone()).collect();
        let prepared = self.prepare_search(queries, std::time::Duration::ZERO).await?;
        let suspects = contradictions.take_suspects(&prepared.snapshot, &OwnAllocations::new());
        let snapshot = if suspects.is_empty() {
            prepared.snapshot
        } else {
            self.read_again(suspects).await?
        };
        let roles = roles.iter().zip(prepared.search);
        let roles = roles.map(|(role, query)| Role { query, ..role.clone() });
        Ok((snapshot, roles.collect()))
    }
}

/// What a stored workload wants.
///
/// # Errors
/// [`Error::Internal`] if this version of placet cannot read it.
pub fn read_wish(row: &WorkloadRow, read: ReadWish) -> Result<Wish> {
    read(&row.body).map_err(|error| Error::Internal {
        detail: format!("the body of workload {} cannot be read: {error}", row.uuid),
    })
}

fn busy() -> Error {
    Error::Busy {
        detail: "Other commands kept changing what the workload needs.".to_owned(),
    }
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
