//! The census of all workloads and leases: how many replicas lack a place, which rules are broken, and how many hosts
//! report. Metrics show the result.
//!
//! No table has these numbers, and judging all workloads may take minutes. So a scrape does not count. A background
//! task of each process counts from time to time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use super::Model;
use super::judging::{AT_ONCE, JudgedPage, Keep, judge_page};
use super::pages::PAGE_TIME;
use super::violations::overused::{self, OveruseFilter};
use super::workloads::{Level, Page, Report, StoredWorkload, Violation, placed_and_pending};
use crate::caller::CallerKey;
use crate::db::leases;
use crate::error::{ReasonCode, Result};
use crate::search::{Interrupt, SearchSettings};

/// The numbers of one count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    pub workloads: u64,
    /// Workloads that have no majority, or would have none without one domain.
    pub not_safe: u64,
    /// Workloads of which fewer replicas than a majority are alive.
    pub without_quorum: u64,
    /// Replicas with a place, and without a place.
    pub placed: u64,
    pub pending: u64,
    /// By the code of the broken rule, and by the level of the rule.
    pub violations: HashMap<(ReasonCode, Level), u64>,
    /// Hosts whose lease holds, and hosts whose lease is over.
    pub leases_up: u64,
    pub leases_unknown: u64,
    /// Workloads whose spec cannot be read. Violations of these workloads are unknown.
    pub unreadable: u64,
}

/// The last count of a process.
#[derive(Debug, Clone)]
pub struct LastCensus {
    pub figures: Figures,
    pub ended: Instant,
    pub took: Duration,
}

/// The counts of a process, as far as known.
#[derive(Debug, Clone, Default)]
pub struct Censuses {
    /// When the counting thread began; `None` if the census is disabled.
    pub began: Option<Instant>,
    /// `None` before the first count.
    pub last: Option<LastCensus>,
}

/// The counts, for the thread and for the metrics.
pub type CensusCell = Arc<Mutex<Censuses>>;

/// Keeps the numbers of each workload.
#[derive(Clone)]
struct Count;

impl Keep for Count {
    type Kept = Figures;

    /// The replicas of an unreadable workload count; the violations are unknown.
    fn keep(&self, stored: &StoredWorkload, judged: Result<Report>) -> Option<Figures> {
        let (placed, pending) = placed_and_pending(stored.replicas.iter());
        let mut figures = Figures {
            workloads: 1,
            placed: placed as u64,
            pending: pending as u64,
            ..Figures::default()
        };
        let Ok(report) = judged else {
            figures.unreadable = 1;
            return Some(figures);
        };
        figures.not_safe = u64::from(report.safety.is_safe == Some(false));
        figures.without_quorum = u64::from(report.safety.is_quorum_lost == Some(true));
        for Violation { level, reason, .. } in report.violations {
            *figures.violations.entry((reason.code, level)).or_default() += 1;
        }
        Some(figures)
    }

    fn bytes(_: &Figures) -> usize {
        0
    }
}

impl Figures {
    fn add(&mut self, other: Figures) {
        self.workloads += other.workloads;
        self.not_safe += other.not_safe;
        self.without_quorum += other.without_quorum;
        self.placed += other.placed;
        self.pending += other.pending;
        self.unreadable += other.unreadable;
        for (violation, count) in other.violations {
            *self.violations.entry(violation).or_default() += count;
        }
    }
}

/// Counts, for a thread of its own. The thread waits for the database, and for the pool in which workloads are judged.
pub struct Census {
    model: Model,
    settings: SearchSettings,
    runtime: Runtime,
    stop: Interrupt,
}

impl Census {
    /// # Errors
    /// If the process has no file descriptors left.
    pub fn new(model: Model, settings: SearchSettings) -> std::io::Result<Census> {
        Ok(Census {
            model,
            settings,
            runtime: Builder::new_current_thread().enable_time().build()?,
            stop: Interrupt::default(),
        })
    }

    /// Ends the running count and each later count: for the thread that stops the counting thread.
    pub fn interrupt(&self) -> impl FnOnce() + Send + use<> {
        let stop = self.stop.clone();
        move || stop.set()
    }

    /// Marks the beginning of the counting thread: from now on metrics show the age of the last count.
    pub fn begin(&self) {
        self.counts().began = Some(Instant::now());
    }

    fn counts(&self) -> MutexGuard<'_, Censuses> {
        self.model.census.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts all workloads, and publishes the numbers.
    ///
    /// # Errors
    /// [`crate::error::Error::Busy`] if the count was interrupted, or if too many searches wait. Errors of the
    /// database.
    pub fn count(&self) -> Result<()> {
        let began = Instant::now();
        let figures = figures(&self.model, &self.settings, &self.stop);
        let figures = self.runtime.block_on(figures)?;
        let last = LastCensus {
            figures,
            ended: Instant::now(),
            took: began.elapsed(),
        };
        self.counts().last = Some(last);
        Ok(())
    }
}

/// The numbers of all workloads.
///
/// # Errors
/// As of [`Census::count`].
pub(in crate::model) async fn figures(model: &Model, settings: &SearchSettings, stop: &Interrupt) -> Result<Figures> {
    let (caller, reader) = (CallerKey::of_background(), model.reader(false));
    let (mut figures, mut after) = (Figures::default(), None);
    loop {
        let page = JudgedPage {
            rows: Page {
                after,
                limit: AT_ONCE,
                ..Page::default()
            },
            named: None,
            time: PAGE_TIME,
        };
        let judged = judge_page(model, &reader, page, Count, (settings, &caller, Some(stop)));
        let (counted, next) = judged.await?;
        counted.into_iter().for_each(|counted| figures.add(counted));
        after = next;
        if after.is_none() {
            break;
        }
    }
    for overused in overused::without_replicas(model, &reader, OveruseFilter::default(), &caller).await? {
        let violation = (overused.reason.code, overused.level);
        *figures.violations.entry(violation).or_default() += 1;
    }
    let leases = reader.ask(|conn| Ok(leases::count_by_health(conn)?)).await?;
    let count = |health: &str| leases.get(health).copied().unwrap_or_default();
    (figures.leases_up, figures.leases_unknown) = (count(leases::UP), count(leases::UNKNOWN));
    Ok(figures)
}
