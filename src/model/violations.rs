//! Violations: rules of workloads that are broken now, and providers above their limits (`/v1/violations`).
//!
//! No table has violations. A request judges the workloads of its page.

pub mod overused;

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use diesel::prelude::*;

use self::overused::{OveruseFilter, OverusedProvider};
use super::judging::{JudgedPage, Keep, judge_page};
use super::reads::reader::Reader;
use super::workloads::{self, Level, Report, ShownReplica, StoredWorkload, Violation, WorkloadRow};
use super::{Model, providers};
use crate::caller::CallerKey;
use crate::db::DbConnection;
use crate::db::schema::resource_providers;
use crate::error::{ReasonCode, Result};
use crate::search::SearchSettings;

/// A page of violations.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// Only of workloads of this project.
    pub project: Option<String>,
    pub filter: Filter,
    /// Only of workloads with a greater uuid.
    pub after: Option<String>,
    /// The most workloads to judge.
    pub limit: usize,
    /// The page ends with the workload that is being judged after this time.
    pub time: Duration,
}

/// The violations to list. A field that is `None` restricts nothing.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Uuid.
    pub workload: Option<String>,
    /// The uuid of a provider: the host of a replica that breaks the rule, or a provider of the replica's allocations.
    pub provider: Option<String>,
    pub code: Option<ReasonCode>,
    pub level: Option<Level>,
}

/// The approximate length of a violation's code, numbers and names of members.
const MEMBERS_BYTES: usize = 250;

/// A workload with at least one violation.
#[derive(Debug, Clone)]
pub struct Violated {
    pub row: WorkloadRow,
    pub violations: Vec<Violation>,
}

impl Keep for Filter {
    type Kept = Violated;

    /// The workload with the violations that pass; `None` without a violation. The answer leaves out a workload that
    /// cannot be read. The log names the workload.
    fn keep(&self, stored: &StoredWorkload, judged: Result<Report>) -> Option<Violated> {
        let uuid = &stored.row.uuid;
        let judged = judged.inspect_err(|error| {
            log::error!("The violations of workload {uuid} are not listed: {error}; put it again");
        });
        let Report {
            row,
            replicas,
            violations,
            ..
        } = judged.ok()?;
        let on_provider = self.provider.as_deref().map(|provider| {
            let is_there = |it: &&ShownReplica| {
                let mut shares = it.replica.allocations.iter();
                it.hosts.iter().any(|host| host.uuid == provider) || shares.any(|share| &*share.provider == provider)
            };
            let there = replicas.iter().filter(is_there);
            there.map(|it| it.replica.row.id.as_str()).collect()
        });
        let passing = violations
            .into_iter()
            .filter(|it| self.passes(it, on_provider.as_ref()));
        let violations: Vec<Violation> = passing.collect();
        (!violations.is_empty()).then_some(Violated { row, violations })
    }

    /// In an answer each violation names the workload.
    fn bytes(Violated { row, violations }: &Violated) -> usize {
        let texts = violations.iter().flat_map(|violation| {
            let lists = [&violation.replicas, &violation.consumers, &violation.hosts];
            (lists.into_iter().flatten()).chain([&violation.reason.detail])
        });
        let names = violations.len() * (MEMBERS_BYTES + row.name.len() + row.project.len());
        names + texts.map(String::len).sum::<usize>()
    }

    fn violations(kept: &Violated) -> usize {
        kept.violations.len()
    }
}

impl Filter {
    /// `on_provider` are the replicas on the provider of the filter; `None` without a provider.
    fn passes(&self, violation: &Violation, on_provider: Option<&HashSet<&str>>) -> bool {
        let names = |there: &HashSet<&str>| violation.replicas.iter().any(|id| there.contains(id.as_str()));
        self.code.is_none_or(|code| violation.reason.code == code)
            && self.level.is_none_or(|level| violation.level == level)
            && on_provider.is_none_or(names)
    }
}

/// The violations of a page.
#[derive(Debug, Clone, Default)]
pub struct ViolationPage {
    /// On the first page, and if the request is not about a workload or a project: providers above their limits, as far
    /// as no workload in the list has the violation.
    pub providers: Vec<Violation>,
    pub workloads: Vec<Violated>,
    /// The uuid of the workload after which the next page begins.
    pub next: Option<String>,
}

/// The violations of a page.
///
/// # Errors
/// [`crate::error::Error::Busy`] if judging takes longer than a command may. Errors of the search.
pub async fn list(
    model: &Model,
    reader: &Reader,
    page: Page,
    settings: &SearchSettings,
    caller: &CallerKey,
) -> Result<ViolationPage> {
    let providers = overused(model, reader, &page, caller).await?;
    let named = named(reader, &page.filter).await?;
    let judged = JudgedPage {
        rows: workloads::Page {
            project: page.project,
            after: page.after,
            limit: page.limit,
            ..workloads::Page::default()
        },
        named,
        time: page.time,
    };
    let (workloads, next) = judge_page(model, reader, judged, page.filter, (settings, caller, None)).await?;
    Ok(ViolationPage {
        providers,
        workloads,
        next,
    })
}

/// The providers above their limits, if the page has these violations.
async fn overused(model: &Model, reader: &Reader, page: &Page, caller: &CallerKey) -> Result<Vec<Violation>> {
    let Filter {
        workload,
        provider,
        code,
        level,
    } = &page.filter;
    let is_about_workloads = page.project.is_some() || page.after.is_some() || workload.is_some();
    if is_about_workloads || code.is_some_and(|code| code != ReasonCode::NoRoom) {
        return Ok(Vec::new());
    }
    let wanted = OveruseFilter {
        provider: provider.clone(),
        level: *level,
        ..OveruseFilter::default()
    };
    let found = overused::without_replicas(model, reader, wanted, caller).await?;
    let violations = found
        .into_iter()
        .map(|OverusedProvider { level, reason, host }| Violation {
            level,
            reason,
            replicas: Vec::new(),
            consumers: Vec::new(),
            hosts: vec![host.0],
            host_names: vec![host.1.into()],
        });
    Ok(violations.collect())
}

/// The uuids of the workloads that pass the filter; `None`: all workloads.
async fn named(reader: &Reader, filter: &Filter) -> Result<Option<BTreeSet<String>>> {
    let Some(provider) = filter.provider.clone() else {
        return Ok(filter.workload.clone().map(|workload| BTreeSet::from([workload])));
    };
    let mut found = reader.clone().read(move |conn| on_trees_of(conn, &provider)).await?;
    found.retain(|uuid| filter.workload.as_ref().is_none_or(|workload| workload == uuid));
    Ok(Some(found))
}

/// The workloads with a replica in the tree of a provider.
fn on_trees_of(conn: &mut DbConnection, provider: &str) -> Result<BTreeSet<String>> {
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
