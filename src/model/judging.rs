//! Judges stored workloads page by page: for lists of workloads and of violations, and for the census.
//!
//! The workloads of a page are read and judged some at a time, each time on the newest snapshot. A workload is judged
//! as by `GET /v1/workloads/{uuid}`. A page ends when its time is over or when it is long, but not before the first
//! workload.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::Model;
use super::pages::PAGE_BYTES;
use super::reads::reader::Reader;
use super::workloads::{self, Report, Spec, StoredPage, StoredWorkload, ended_by, judge, newest_for, until, whole};
use crate::caller::CallerKey;
use crate::db::boot_instant::BootInstant;
use crate::error::{Error, Result};
use crate::search::{Interrupt, SearchSettings, Snapshot};

/// How many workloads are read and judged at once.
pub const AT_ONCE: usize = 100;
/// A page ends with the workloads that bring the page to this number of violations.
const VIOLATIONS_MAX: usize = 10_000;

/// The part of judged workloads that an answer needs.
pub trait Keep: Clone + Send + Sync + 'static {
    type Kept: Send + 'static;

    /// The part of a workload, with the judgement or the reason why the spec cannot be read. `None` if the answer
    /// leaves out the workload.
    fn keep(&self, stored: &StoredWorkload, judged: Result<Report>) -> Option<Self::Kept>;

    /// The approximate length in the answer.
    fn bytes(kept: &Self::Kept) -> usize;

    /// The number of violations in the answer.
    fn violations(_: &Self::Kept) -> usize {
        0
    }
}

/// The workloads to judge.
#[derive(Debug, Clone)]
pub struct JudgedPage {
    pub rows: workloads::Page,
    /// Only workloads with these uuids.
    pub named: Option<BTreeSet<String>>,
    /// The page ends with the workload that is being judged after this time.
    pub time: Duration,
}

/// Workloads to judge. Clones share the workloads and the snapshot.
#[derive(Clone)]
pub struct JudgeJob<K: Keep> {
    snapshot: Arc<Snapshot>,
    /// Each with its spec, or the error of reading the spec.
    workloads: Arc<Vec<(StoredWorkload, Result<Spec>)>>,
    /// The workloads that the rules name.
    others: Arc<HashMap<String, StoredWorkload>>,
    keep: K,
    settings: SearchSettings,
    /// When the time of the page is over.
    end: BootInstant,
    /// The number of bytes that the page may still get.
    room: usize,
}

/// The result of a job.
#[derive(Debug, Clone)]
pub struct Judged<T> {
    kept: Vec<T>,
    /// The uuid of the last judged workload, if the page ended before the remaining workloads.
    ended_after: Option<String>,
}

impl<K: Keep> JudgeJob<K> {
    /// Judges the workloads, the first in any case.
    ///
    /// # Errors
    /// - [`Error::Busy`] if `interrupt` ended the job, even with some workloads judged.
    /// - Errors that do not belong to one workload.
    pub fn run(&self, interrupt: &Interrupt) -> Result<Judged<K::Kept>> {
        whole(&self.snapshot, interrupt, || self.judge(interrupt))
    }

    fn judge(&self, interrupt: &Interrupt) -> Result<Judged<K::Kept>> {
        let settings = SearchSettings {
            interrupt: interrupt.clone(),
            ..self.settings.clone()
        };
        let (mut kept, mut last, mut bytes): (Vec<K::Kept>, Option<&str>, usize) = (Vec::new(), None, 0);
        for (stored, spec) in self.workloads.iter() {
            if interrupt.is_set() {
                break;
            }
            if let Some(last) = last.filter(|_| bytes >= self.room || BootInstant::now() >= self.end) {
                let ended_after = Some(last.to_owned());
                return Ok(Judged { kept, ended_after });
            }
            let judged = match spec {
                Ok(spec) => judge(&self.snapshot, (stored, spec), &self.others, &settings),
                Err(error) => Err(error.clone()),
            };
            let found = match judged {
                // An interrupted search means nothing.
                Err(_) if interrupt.has_ended() => break,
                Ok(_) | Err(Error::Internal { .. }) => self.keep.keep(stored, judged),
                Err(error) => return Err(error),
            };
            bytes += found.as_ref().map_or(0, K::bytes);
            kept.extend(found);
            last = Some(&stored.row.uuid);
        }
        Ok(Judged {
            kept,
            ended_after: None,
        })
    }
}

/// The kept parts of the workloads of a page, and the uuid of the workload after which the next page begins. If no
/// request waits for the page, `stop` ends the search.
///
/// # Errors
/// [`Error::Busy`] if judging takes longer than a command may. Errors of the database.
pub async fn judge_page<K: Keep>(
    model: &Model,
    reader: &Reader,
    page: JudgedPage,
    keep: K,
    (settings, caller, stop): (&SearchSettings, &CallerKey, Option<&Interrupt>),
) -> Result<(Vec<K::Kept>, Option<String>)> {
    let JudgedPage { rows, named, time } = page;
    let (end, deadline) = (BootInstant::now() + time, model.writer_deadline());
    let (mut found, mut count, mut left): (Vec<K::Kept>, usize, usize) = (Vec::new(), 0, rows.limit);
    let mut room = PAGE_BYTES;
    let mut after = rows.after.clone();
    while left > 0 && count < VIOLATIONS_MAX && room > 0 {
        let limit = left.min(AT_ONCE);
        let (uuids, has_more_named) = next_named(named.as_ref(), after.as_deref(), limit);
        let last_named = uuids.as_ref().and_then(|uuids| uuids.last().cloned());
        let rows = workloads::Page {
            uuids,
            after: after.clone(),
            limit,
            ..rows.clone()
        };
        let read = move |conn: &mut _| workloads::list_stored(conn, &rows);
        let found_rows = reader.clone().read(read).await?;
        let next = found_rows.next.clone();
        left = left.saturating_sub(limit);
        if !found_rows.workloads.is_empty() {
            let judged = async {
                let job = judge_job(model, found_rows, keep.clone(), (settings, caller), (end, room)).await?;
                search(model, job, (caller, stop), deadline).await
            };
            let judged = until(deadline, judged).await?;
            count += judged.kept.iter().map(K::violations).sum::<usize>();
            room = room.saturating_sub(judged.kept.iter().map(K::bytes).sum());
            found.extend(judged.kept);
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

/// Runs a job for the request of the caller, or for a background task.
async fn search<K: Keep>(
    model: &Model,
    job: JudgeJob<K>,
    (caller, stop): (&CallerKey, Option<&Interrupt>),
    deadline: BootInstant,
) -> Result<Judged<K::Kept>> {
    let Some(stop) = stop else {
        return model.pools.search(caller, move |interrupt| job.run(interrupt)).await;
    };
    let interrupt = ended_by([stop], deadline);
    model.pools.searches.start(caller, move || job.run(&interrupt)).await
}

/// The job of judging these workloads until `end`, or until the kept parts have `room` bytes.
pub async fn judge_job<K: Keep>(
    model: &Model,
    page: StoredPage,
    keep: K,
    (settings, caller): (&SearchSettings, &CallerKey),
    (end, room): (BootInstant, usize),
) -> Result<JudgeJob<K>> {
    let StoredPage { workloads, others, .. } = page;
    let length = workloads.iter().map(|stored| stored.row.body.len()).sum();
    let read_spec = model.read_spec;
    let read = move || {
        let specs = workloads.into_iter().map(|stored| {
            let spec = stored.row.spec(read_spec);
            (stored, spec)
        });
        Ok(specs.collect::<Vec<_>>())
    };
    let workloads = model.pools.read(caller, length, read).await?;
    let specs = workloads.iter().filter_map(|(_, spec)| spec.as_ref().ok());
    let snapshot = newest_for(model, specs.flat_map(|spec| &spec.roles)).await?;
    Ok(JudgeJob {
        snapshot,
        workloads: Arc::new(workloads),
        others: Arc::new(others),
        keep,
        settings: settings.clone(),
        end,
        room,
    })
}

/// The first `limit` of the uuids that are greater than `after`, and whether there are more uuids. `None`: all uuids.
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
