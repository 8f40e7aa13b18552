//! Which rules of workloads are broken now (`/v1/violations`).
//!
//! No table has violations. The workloads of a page are judged when they are asked for, on one snapshot after the other
//! and as `GET /v1/workloads/{uuid}` judges one of them. A page ends when its time is over or when it is long, at the
//! earliest after one workload.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use diesel::prelude::*;

use super::claims::Contradictions;
use super::pages::PAGE_BYTES;
use super::reads::reader::Reader;
use super::workloads::{
    self, Judge, Level, ReadWish, ReadWorkload, Report, ShownReplica, StoredPage, StoredWorkload, Violation, Wish,
    WorkloadRow, read_wish, until, whole,
};
use super::{Model, providers};
use crate::db::DbConnection;
use crate::db::boot_instant::BootInstant;
use crate::db::schema::resource_providers;
use crate::error::{ReasonCode, Result};
use crate::pools::CallerKey;
use crate::search::{Interrupt, SearchSettings, Snapshot};

/// How many workloads are read and judged at once.
const AT_ONCE: usize = 100;
/// A page ends with the workloads that bring it to this number of violations.
const VIOLATIONS_MAX: usize = 10_000;

/// A page of violations.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Only of workloads of this project.
    pub project: Option<String>,
    pub filter: Filter,
    /// Only of workloads with a greater uuid.
    pub after: Option<String>,
    /// The most workloads that are judged.
    pub limit: usize,
    /// The page ends with the workload that was being judged when this was over.
    pub time: Duration,
}

/// Which violations are listed. What is `None` does not restrict them.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Uuid.
    pub workload: Option<String>,
    /// The uuid of a provider: one of the replicas that break the rule has it as its host, or has allocations of it.
    pub provider: Option<String>,
    pub code: Option<ReasonCode>,
    pub level: Option<Level>,
}

/// About how long the names of a violation's members, its code and its numbers are.
const MEMBERS_BYTES: usize = 250;

/// A workload with at least one violation.
#[derive(Debug, Clone)]
pub struct Violated {
    pub row: WorkloadRow,
    pub violations: Vec<Violation>,
}

impl Violated {
    /// About how long it is in an answer, where each violation names the workload.
    fn bytes(&self) -> usize {
        let texts = self.violations.iter().flat_map(|violation| {
            let lists = [&violation.replicas, &violation.consumers, &violation.hosts];
            (lists.into_iter().flatten()).chain([&violation.reason.detail])
        });
        let names = self.violations.len() * (MEMBERS_BYTES + self.row.name.len() + self.row.project.len());
        names + texts.map(String::len).sum::<usize>()
    }
}

/// Workloads to judge. Clones share all of it.
#[derive(Clone)]
pub struct JudgeJob {
    snapshot: Arc<Snapshot>,
    workloads: Arc<Vec<ReadWorkload>>,
    /// The workloads that the rules name.
    others: Arc<HashMap<String, StoredWorkload>>,
    filter: Arc<Filter>,
    settings: SearchSettings,
    /// When the time of the page is over.
    end: BootInstant,
    /// How many bytes the page may still have.
    pub(in crate::model) room: usize,
}

/// What was judged.
#[derive(Debug, Clone, Default)]
pub struct Judged {
    violated: Vec<Violated>,
    /// The uuid of the last workload that was judged, if the page ended before the others.
    ended_after: Option<String>,
}

impl JudgeJob {
    /// Judges, the first workload in any case.
    ///
    /// # Errors
    /// - [`crate::error::Error::Busy`] if `interrupt` ended it, whatever was found by then.
    /// - Of the search.
    pub fn run(&self, interrupt: &Interrupt) -> Result<Judged> {
        whole(&self.snapshot, interrupt, || self.judge(interrupt))
    }

    fn judge(&self, interrupt: &Interrupt) -> Result<Judged> {
        let settings = SearchSettings {
            interrupt: interrupt.clone(),
            ..self.settings.clone()
        };
        let judge = Judge::new(&self.snapshot, &self.others, &settings);
        let mut judged = Judged::default();
        let (mut last, mut bytes): (Option<&str>, usize) = (None, 0);
        for workload in self.workloads.iter() {
            if interrupt.is_set() {
                break;
            }
            if let Some(last) = last.filter(|_| bytes >= self.room || BootInstant::now() >= self.end) {
                judged.ended_after = Some(last.to_owned());
                break;
            }
            let violated = self.filter.violated(judge.report(workload)?);
            bytes += violated.as_ref().map_or(0, Violated::bytes);
            judged.violated.extend(violated);
            last = Some(&workload.stored.row.uuid);
        }
        Ok(judged)
    }
}

impl Filter {
    /// The workload with the violations that pass; `None` without one.
    fn violated(&self, report: Report) -> Option<Violated> {
        let Report {
            row,
            replicas,
            violations,
            ..
        } = report;
        let stand_there = self.provider.as_deref().map(|provider| {
            let stands_there = |it: &&ShownReplica| {
                let mut shares = it.replica.allocations.iter();
                it.host.as_deref() == Some(provider) || shares.any(|share| &*share.provider == provider)
            };
            let there = replicas.iter().filter(stands_there);
            there.map(|it| it.replica.row.id.as_str()).collect()
        });
        let passing = violations
            .into_iter()
            .filter(|it| self.passes(it, stand_there.as_ref()));
        let violations: Vec<Violation> = passing.collect();
        (!violations.is_empty()).then_some(Violated { row, violations })
    }

    /// `stand_there` are the replicas on the provider that the filter names, if it names one.
    fn passes(&self, violation: &Violation, stand_there: Option<&HashSet<&str>>) -> bool {
        let names = |there: &HashSet<&str>| violation.replicas.iter().any(|id| there.contains(id.as_str()));
        self.code.is_none_or(|code| violation.reason.code == code)
            && self.level.is_none_or(|level| violation.level == level)
            && stand_there.is_none_or(names)
    }
}

impl Model {
    /// The violations of a page, and the uuid of the workload after which the next page begins.
    ///
    /// # Errors
    /// [`crate::error::Error::Busy`] if it takes as long as a command may. Errors of the search.
    pub async fn violations(
        &self,
        reader: impl Fn() -> Reader,
        page: Page,
        read: ReadWish,
        settings: &SearchSettings,
        caller: &CallerKey,
    ) -> Result<(Vec<Violated>, Option<String>)> {
        let search = async |job: JudgeJob| self.pools.search(caller, move |interrupt| job.run(interrupt)).await;
        self.violations_with(reader, page, read, (settings, caller), search)
            .await
    }

    /// As [`Self::violations`], with a search of the caller.
    pub(in crate::model) async fn violations_with(
        &self,
        reader: impl Fn() -> Reader,
        page: Page,
        read: ReadWish,
        (settings, caller): (&SearchSettings, &CallerKey),
        search: impl AsyncFn(JudgeJob) -> Result<Judged>,
    ) -> Result<(Vec<Violated>, Option<String>)> {
        let (end, deadline) = (BootInstant::now() + page.time, self.writer_deadline());
        let named = named(&reader, &page.filter).await?;
        let filter = Arc::new(page.filter);
        let (mut found, mut count, mut left): (Vec<Violated>, usize, usize) = (Vec::new(), 0, page.limit);
        let mut room = PAGE_BYTES;
        let mut after = page.after;
        while left > 0 && count < VIOLATIONS_MAX && room > 0 {
            let limit = left.min(AT_ONCE);
            let (uuids, has_more_named) = next_named(named.as_ref(), after.as_deref(), limit);
            let last_named = uuids.as_ref().and_then(|uuids| uuids.last().cloned());
            let rows = workloads::Page {
                project: page.project.clone(),
                uuids,
                after: after.clone(),
                limit,
                ..workloads::Page::default()
            };
            let found_rows = reader().read(move |conn| workloads::list_stored(conn, &rows)).await?;
            let next = found_rows.next.clone();
            left = left.saturating_sub(limit);
            if let Some(job) = self
                .judge_job(found_rows, (read, caller), (&filter, settings), (end, room))
                .await?
            {
                let judged = until(deadline, search(job)).await?;
                count += judged.violated.iter().map(|it| it.violations.len()).sum::<usize>();
                room = room.saturating_sub(judged.violated.iter().map(Violated::bytes).sum());
                found.extend(judged.violated);
                if judged.ended_after.is_some() {
                    return Ok((found, judged.ended_after));
                }
            }
            after = next.or(last_named.filter(|_| has_more_named));
            if after.is_none() || BootInstant::now() >= end {
                break;
            }
        }
        Ok((found, after))
    }

    /// `None` without workloads. A workload whose wish cannot be read is left out, and the log says so.
    async fn judge_job(
        &self,
        page: StoredPage,
        (read, caller): (ReadWish, &CallerKey),
        (filter, settings): (&Arc<Filter>, &SearchSettings),
        (end, room): (BootInstant, usize),
    ) -> Result<Option<JudgeJob>> {
        let StoredPage { workloads, others, .. } = page;
        let length = workloads.iter().map(|stored| stored.row.body.len()).sum();
        let read = self
            .pools
            .read(caller, length, move || Ok(read_wishes(workloads, read)))
            .await?;
        if read.is_empty() {
            return Ok(None);
        }
        let roles: Vec<_> = read.iter().flat_map(|(_, wish)| wish.roles.iter().cloned()).collect();
        let (snapshot, roles) = self.newest_for(&roles, &mut Contradictions::default()).await?;
        let mut roles = roles.into_iter();
        let workloads = read.into_iter().map(|(stored, wish)| ReadWorkload {
            stored,
            roles: roles.by_ref().take(wish.roles.len()).collect(),
            wish,
        });
        Ok(Some(JudgeJob {
            snapshot,
            workloads: Arc::new(workloads.collect()),
            others: Arc::new(others),
            filter: Arc::clone(filter),
            settings: settings.clone(),
            end,
            room,
        }))
    }
}

/// The workloads with what they ask for. A workload whose wish cannot be read is left out, and the log says so.
fn read_wishes(workloads: Vec<StoredWorkload>, read: ReadWish) -> Vec<(StoredWorkload, Wish)> {
    let read = workloads
        .into_iter()
        .filter_map(|stored| match read_wish(&stored.row, read) {
            Ok(wish) => Some((stored, wish)),
            Err(error) => {
                log::error!("The violations of a workload are not listed: {error}; put it again");
                None
            }
        });
    read.collect()
}

/// The uuids of the workloads that the filter leaves; `None`: all of them.
async fn named(reader: &impl Fn() -> Reader, filter: &Filter) -> Result<Option<BTreeSet<String>>> {
    let Some(provider) = filter.provider.clone() else {
        return Ok(filter.workload.clone().map(|workload| BTreeSet::from([workload])));
    };
    let mut found = reader().read(move |conn| standing_on(conn, &provider)).await?;
    found.retain(|uuid| filter.workload.as_ref().is_none_or(|workload| workload == uuid));
    Ok(Some(found))
}

/// The workloads with a replica in the tree of a provider.
fn standing_on(conn: &mut DbConnection, provider: &str) -> Result<BTreeSet<String>> {
    use resource_providers as t;
    let root: Option<Option<i32>> = t::table
        .filter(t::uuid.eq(provider))
        .select(t::root_provider_id)
        .first(conn)
        .optional()?;
    let roots: Vec<i32> = root.flatten().into_iter().collect();
    let consumers = providers::consumers_of_trees(conn, &roots)?;
    let consumers: Vec<&str> = consumers.iter().map(|(_, consumer)| consumer.as_str()).collect();
    Ok(workloads::taken(conn, &consumers)?.into_values().collect())
}

/// The first `limit` of the uuids that are greater than `after`, and whether there are more; `None`: all of them.
fn next_named(named: Option<&BTreeSet<String>>, after: Option<&str>, limit: usize) -> (Option<Vec<String>>, bool) {
    let Some(named) = named else {
        return (None, false);
    };
    let mut rest = named
        .iter()
        .filter(|uuid| after.is_none_or(|after| uuid.as_str() > after));
    let first: Vec<String> = rest.by_ref().take(limit).cloned().collect();
    (Some(first), rest.next().is_some())
}
