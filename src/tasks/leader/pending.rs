//! The duty to place pending replicas of workloads.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::model::workloads::{PendingWorkloads, SeenSnapshot};
use crate::tasks::background::Stopped;
use crate::tasks::failures::Failures;

/// The pause after each step, as a multiple of the time for the step. So the duty takes a tenth of the time at most.
const PAUSE_FACTOR: u32 = 9;

pub struct PendingDuty {
    workloads: PendingWorkloads,
    /// The pause between two rounds.
    interval: Duration,
    /// `None` if the duty is disabled.
    due: Option<Instant>,
    round: Option<Round>,
    /// The snapshot of the last complete round.
    seen: SeenSnapshot,
    failures: Failures,
}

/// A round over all workloads with pending replicas.
struct Round {
    snapshot: SeenSnapshot,
    /// Workloads of the page that were not tried yet.
    page: VecDeque<String>,
    /// The workload after which the next page begins; `None` after the last page.
    after: Option<String>,
}

impl PendingDuty {
    pub fn new(workloads: PendingWorkloads, interval: Duration) -> PendingDuty {
        PendingDuty {
            workloads,
            interval,
            due: (!interval.is_zero()).then(|| Instant::now() + interval),
            round: None,
            seen: SeenSnapshot::default(),
            failures: Failures::default(),
        }
    }

    /// The time until the next step; the longest time if the duty is disabled.
    pub fn due_in(&self) -> Duration {
        let until = |due: Instant| due.saturating_duration_since(Instant::now());
        self.due.map_or(Duration::MAX, until)
    }

    /// Begins a round at the next step, even if nothing has changed since the last round.
    pub fn begin_again(&mut self) {
        self.round = None;
        self.seen = SeenSnapshot::default();
    }

    /// Reads a page of workloads, or tries one workload.
    pub fn step(&mut self, stopped: &Stopped) {
        let began = Instant::now();
        let pause = match self.work(stopped) {
            Ok(true) => began.elapsed() * PAUSE_FACTOR,
            Ok(false) => self.interval,
            Err(error) => {
                let error = error.for_log();
                if self.failures.note("", error.clone()) {
                    log::warn!("Pending replicas could not be placed; this is tried again: {error}");
                }
                self.failures.cut_round();
                self.begin_again();
                self.interval
            }
        };
        self.due = Some(Instant::now() + pause);
    }

    /// Returns whether the round goes on.
    ///
    /// # Errors
    /// Of the database. The error of a workload keeps no further workload from its places.
    fn work(&mut self, stopped: &Stopped) -> Result<bool> {
        let Some(round) = &mut self.round else {
            return Ok(self.begin());
        };
        if let Some(workload) = round.page.pop_front() {
            self.place(&workload, stopped)?;
            return Ok(true);
        }
        let Some(after) = round.after.take() else {
            self.seen = std::mem::take(&mut round.snapshot);
            self.round = None;
            self.failures.end_round();
            return Ok(false);
        };
        let (page, next) = self.workloads.page(after)?;
        (round.page, round.after) = (page.into(), next);
        Ok(true)
    }

    /// Begins a round, unless nothing has changed since the last round.
    fn begin(&mut self) -> bool {
        let newest = self.workloads.newest_snapshot();
        if self.seen == newest {
            return false;
        }
        self.round = Some(Round {
            snapshot: newest,
            page: VecDeque::new(),
            after: Some(String::new()),
        });
        true
    }

    fn place(&mut self, workload: &str, stopped: &Stopped) -> Result<()> {
        match self.workloads.place(workload) {
            Ok(None) => {}
            Err(_) if stopped.is_set() => {}
            Ok(Some(granted)) => log::info!("Pending replicas have a place now: granted: {granted}"),
            Err(error @ (Error::Unavailable { .. } | Error::UnknownOutcome { .. })) => return Err(error),
            // A client has changed or deleted the workload.
            Err(Error::StaleGeneration { .. } | Error::NotFound { .. }) => {}
            Err(error) => {
                let error = error.for_log();
                if self.failures.note(workload, error.clone()) {
                    log::warn!("Workload {workload}: its pending replicas cannot be placed: {error}");
                }
            }
        }
        Ok(())
    }
}
