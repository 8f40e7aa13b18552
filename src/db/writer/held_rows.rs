//! Held rows: rows locked by a concurrent transaction for longer than a batch waits (`dialect::LOCK_WAIT`).
//!
//! Naively, a batch waits for all locks, and so does every command in the same batch and in the queue. So after
//! a lock timeout the writer asks which rows of the batch are held (`SKIP LOCKED`). Commands that need a held row are
//! parked, now and before later attempts. The rest is tried again at once.
//!
//! After a conflict the writer does not ask. Rows are often locked by the commit of a peer, and free within
//! milliseconds. A claim that avoided the row would take a later candidate although the first candidate has room.
//!
//! Happy path: the rows are probed again after [`FIRST_PROBE`], at longer and longer intervals. The commands that name
//! a free row join the next batch.
//!
//! Unhappy paths:
//! - A row stays held, and the caller of a parked command searches for places: the command is returned
//!   (`WhenHeld::PlanAgain`), and the caller's next search avoids the provider.
//! - A command's deadline passes while the command is parked: 503.
//! - The probe cannot see the lock, such as the lock of a gap between rows. The batch is tried without waiting, and
//!   halved until the commands that need the lock are alone. These blind commands are tried again each
//!   [`BLIND_RETRY_INTERVAL`], at first together.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::batch::{Batch, Decision, RowNames};
use super::held_rows_log::{self, HeldRowsLog};
use super::job::Job;
use super::jobs::refuse_expired;
use super::session::WriteSession;
use super::waiting::MAX_BATCH;
use crate::error::Error;
use crate::fair_queue::surplus;

/// The first interval between two probes, longer than most commits of peers.
const FIRST_PROBE: Duration = Duration::from_millis(5);
/// The longest interval between two probes.
const LONGEST_PROBE: Duration = Duration::from_millis(100);
/// The interval at which blind commands are tried again.
const BLIND_RETRY_INTERVAL: Duration = Duration::from_millis(250);

/// The commands that wait for held rows.
pub(super) struct Parked<B: Batch> {
    /// The most jobs that wait.
    max: usize,
    jobs: Vec<Job<B>>,
    /// The rows that the last probe found held, and held rows that batches have found since.
    rows: RowNames,
    log: HeldRowsLog,
    probe_at: Instant,
    interval: Duration,
    /// Commands with a lock that a probe cannot see.
    blind: VecDeque<Job<B>>,
    retry_blind_at: Instant,
}

impl<B: Batch> Parked<B> {
    pub fn new(max: usize) -> Parked<B> {
        let now = Instant::now();
        Parked {
            max,
            jobs: Vec::new(),
            rows: RowNames::default(),
            log: HeldRowsLog::default(),
            probe_at: now,
            interval: FIRST_PROBE,
            blind: VecDeque::new(),
            retry_blind_at: now,
        }
    }

    /// How many commands wait.
    pub fn count(&self) -> usize {
        self.jobs.len() + self.blind.len()
    }

    /// When held rows or parked commands need the writer; `None` without held rows and parked commands.
    pub fn due_at(&self) -> Option<Instant> {
        let probe_at = self.needs_probes().then_some(self.probe_at);
        let retry_at = (!self.blind.is_empty()).then_some(self.retry_blind_at);
        probe_at.into_iter().chain(retry_at).min()
    }

    /// Whether the held rows are to be probed now.
    pub fn is_probe_due(&self) -> bool {
        self.needs_probes() && self.probe_at <= Instant::now()
    }

    /// Commands avoid held rows, so rows are probed whether or not a command waits for them.
    fn needs_probes(&self) -> bool {
        !self.rows.is_empty() || !self.jobs.is_empty()
    }

    /// The rows known to be held.
    pub fn rows(&self) -> &RowNames {
        &self.rows
    }

    /// Adds held rows. Returns how many are new.
    pub fn add_rows(&mut self, rows: RowNames) -> usize {
        let now = Instant::now();
        self.log.note(&rows, now);
        if self.rows.is_empty() {
            self.probe_at = now + FIRST_PROBE;
        }
        let new = self.rows.extend(rows);
        if new > 0 {
            // Never later: a row that is found again and again must not delay the probe of the rest.
            self.probe_at = self.probe_at.min(now + FIRST_PROBE);
            self.interval = FIRST_PROBE;
        }
        new
    }

    /// Parks the jobs that need a held row, and returns the rest.
    pub fn park(&mut self, jobs: Vec<Job<B>>, batch: &B) -> Vec<Job<B>> {
        if self.rows.is_empty() {
            return jobs;
        }
        let (waiting, free): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| batch.needs(&job.command, &self.rows));
        self.push(waiting);
        free
    }

    /// Parks jobs.
    pub fn push(&mut self, mut jobs: Vec<Job<B>>) {
        jobs.iter_mut().for_each(Job::stop_counting);
        self.jobs.extend(jobs);
        self.refuse_surplus();
    }

    /// Parks jobs with a lock that a probe cannot see.
    pub fn push_blind(&mut self, mut jobs: Vec<Job<B>>) {
        if self.blind.is_empty() {
            self.retry_blind_at = Instant::now() + BLIND_RETRY_INTERVAL;
        }
        jobs.iter_mut().for_each(Job::stop_counting);
        self.blind.extend(jobs);
        self.refuse_surplus();
    }

    /// Refuses the jobs that are too many to wait: each time the newest one of the caller with the most.
    fn refuse_surplus(&mut self) {
        let callers = self.jobs.iter().chain(&self.blind).map(|job| &job.caller);
        for at in surplus(callers, self.max) {
            if let Some(job) = self.remove(at) {
                job.answer(Decision::Refused(too_many()));
            }
        }
    }

    /// Removes a job by its place among all jobs, the blind ones last.
    fn remove(&mut self, at: usize) -> Option<Job<B>> {
        match at.checked_sub(self.jobs.len()) {
            None => Some(self.jobs.remove(at)),
            Some(at) => self.blind.remove(at),
        }
    }

    /// Probes the held rows. Returns the jobs that name a freed row, and the rest.
    pub fn probe(&mut self, session: &mut WriteSession<B>) -> (Vec<Job<B>>, Vec<Job<B>>) {
        let jobs = std::mem::take(&mut self.jobs);
        let jobs = self.refuse_expired(jobs, &session.batch);
        let rows = session.find_held(&self.rows);
        self.log
            .report(rows.as_ref(), jobs.len() + self.blind.len(), &session.batch);
        let before = self.probed(rows.unwrap_or_default());
        session.batch.note_held(&self.rows);
        let freed = before.without(&self.rows);
        jobs.into_iter().partition(|job| names_any(&session.batch, job, &freed))
    }

    /// Takes over the rows that a probe found. Returns the rows held before.
    pub fn probed(&mut self, rows: RowNames) -> RowNames {
        self.interval = (2 * self.interval).min(LONGEST_PROBE);
        self.probe_at = Instant::now() + self.interval;
        std::mem::replace(&mut self.rows, rows)
    }

    /// After a probe: returns a job to its caller if a plan around the held rows may help, and parks the rest.
    pub fn keep(&mut self, waiting: Vec<Job<B>>, batch: &B) {
        for job in waiting {
            if names_any(batch, &job, &job.when_held.avoidable(&self.rows)) {
                job.answer(Decision::Held);
            } else {
                self.jobs.push(job);
            }
        }
    }

    /// Takes the blind jobs in batches, if their retry is due. A large job is a batch of its own, as before.
    pub fn take_blind(&mut self, batch: &B) -> Option<Vec<Vec<Job<B>>>> {
        let now = Instant::now();
        if self.blind.is_empty() || self.retry_blind_at > now {
            return None;
        }
        let blind = std::mem::take(&mut self.blind);
        let jobs = self.refuse_expired(blind.into(), batch).into_iter();
        self.retry_blind_at = now + BLIND_RETRY_INTERVAL;
        let (large, mut small): (Vec<_>, Vec<_>) = jobs.partition(Job::is_large);
        let mut batches = Vec::new();
        while !small.is_empty() {
            let rest = small.split_off(small.len().min(MAX_BATCH));
            batches.push(std::mem::replace(&mut small, rest));
        }
        batches.extend(large.into_iter().map(|job| vec![job]));
        Some(batches)
    }

    /// Parks the jobs that a retry did not reach, before the failed jobs: the next retry begins with the untried jobs.
    pub fn put_back_blind(&mut self, mut untried: Vec<Job<B>>) {
        untried.extend(std::mem::take(&mut self.blind));
        self.push_blind(untried);
    }

    /// Refuses the jobs whose deadline has passed, with the rows for which each job waited. Returns the rest.
    fn refuse_expired(&self, jobs: Vec<Job<B>>, batch: &B) -> Vec<Job<B>> {
        refuse_expired(jobs, |job| {
            let named = batch.named_rows(&[&job.command]);
            held_rows_log::refusal(&named.common(&self.rows), batch)
        })
    }
}

fn too_many() -> Error {
    Error::Busy {
        detail: "As many writes wait for rows that another transaction has locked as [placet] queue_size allows, and \
                 this caller has most of them; send fewer at once."
            .to_owned(),
    }
}

fn names_any<B: Batch>(batch: &B, job: &Job<B>, rows: &RowNames) -> bool {
    !rows.is_empty() && batch.named_rows(&[&job.command]).intersects(rows)
}
