//! Held rows: rows that another transaction has locked for longer than a batch waits. It may be the transaction of a
//! person, of another program, or of a peer that was paused.
//!
//! Naively, a batch waits for all of its locks. Then one row that is held for half a minute delays all commands that
//! share a batch with one that needs it, and all that wait in the queue behind that batch.
//!
//! So a batch waits for `dialect::LOCK_WAIT` only. After a lock timeout the writer asks which rows of the batch are
//! held (`SKIP LOCKED`), and tells the batch. The commands that need one are parked, and the others are tried again at
//! once. Later commands that need a held row are parked before they are tried.
//!
//! After a conflict the writer does not ask. Rows are often locked then, by the commit of a peer, and free within
//! milliseconds. A claim that avoids such a row takes a later candidate of its list although the first one has room.
//! So the next attempt locks its rows, and waits.
//!
//! A claim with several candidates needs a held provider only if each candidate names one. Otherwise the candidates
//! with a held provider count as if they were not in the list. If no other candidate fits, the refusal is verified on
//! rows, where the lock does not count. If the rows would grant the claim, it is parked until the row is free.
//!
//! Happy path: the rows are probed again after [`FIRST_PROBE`], then in longer and longer intervals. When a row is
//! free, the commands that name it join the next batch.
//!
//! Unhappy paths:
//! - A probe finds that a row stays held, and the caller of a parked command searches for places: the command is
//!   returned (`WhenHeld::PlanAgain`), and the caller's next search avoids the provider.
//! - A command's deadline passes while it is parked: 503.
//! - The probe cannot see what a batch waits for, such as an uncommitted row of the same name, or a lock on a gap
//!   between rows, or on a table. Then the batch is tried without waiting, and halved until the commands that need the
//!   lock are alone. Those are tried again each [`BLIND_RETRY_INTERVAL`], first all of them together.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::batch::{Decision, RowNames};
use super::held_rows_log::HeldRowsLog;
use super::waiting::MAX_BATCH;
use super::{Batch, BatchResult, Job, Writer, commands, refuse, require_conn};
use crate::db::engines::dialect;
use crate::error::Error;
use crate::mutants::{self, Mutant};

/// The first interval between two probes. A peer that committed at the same time has ended by then.
const FIRST_PROBE: Duration = Duration::from_millis(5);
/// The longest interval between two probes.
const LONGEST_PROBE: Duration = Duration::from_millis(100);
/// The interval at which commands are tried again whose lock a probe cannot see.
const BLIND_RETRY_INTERVAL: Duration = Duration::from_millis(250);
/// The most batches that fail in one such retry.
pub(super) const FAILED_BATCHES_MAX: usize = 16;
/// How long a statement waits for a lock that may be one which a probe cannot see. PostgreSQL takes 0 for no limit.
pub(super) const NO_WAIT: Duration = Duration::from_millis(1);

/// The commands that wait for held rows.
pub(super) struct Parked<B: Batch> {
    /// The most jobs that wait. Further ones are refused.
    max: usize,
    jobs: Vec<Job<B>>,
    /// The rows that the last probe found held, and those that batches have found since.
    pub(super) rows: RowNames,
    pub(super) log: HeldRowsLog,
    probe_at: Instant,
    interval: Duration,
    /// Commands whose lock a probe cannot see.
    blind: VecDeque<Job<B>>,
    retry_blind_at: Instant,
}

impl<B: Batch> Parked<B> {
    /// How many commands wait.
    pub fn count(&self) -> usize {
        self.jobs.len() + self.blind.len()
    }

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

    /// When held rows or parked commands need the writer; `None` if there are none.
    pub fn due_at(&self) -> Option<Instant> {
        let probe_at = self.needs_probes().then_some(self.probe_at);
        let retry_at = (!self.blind.is_empty()).then_some(self.retry_blind_at);
        probe_at.into_iter().chain(retry_at).min()
    }

    /// Commands avoid held rows, so rows are probed whether or not a command waits for them.
    fn needs_probes(&self) -> bool {
        !self.rows.is_empty() || !self.jobs.is_empty()
    }

    /// Adds held rows. Returns how many of them are new.
    pub fn add_rows(&mut self, rows: RowNames) -> usize {
        let now = Instant::now();
        self.log.note(&rows, now);
        if self.rows.is_empty() {
            self.probe_at = now + FIRST_PROBE;
        }
        let new = self.rows.extend(rows);
        if new > 0 {
            // Never later: rows that are found again and again must not keep the others from being probed.
            self.probe_at = self.probe_at.min(now + FIRST_PROBE);
            self.interval = FIRST_PROBE;
        }
        new
    }

    /// Parks jobs.
    pub fn push(&mut self, jobs: Vec<Job<B>>) {
        let jobs = self.admit(jobs);
        self.jobs.extend(jobs);
    }

    fn push_blind(&mut self, jobs: Vec<Job<B>>) {
        if self.blind.is_empty() {
            self.retry_blind_at = Instant::now() + BLIND_RETRY_INTERVAL;
        }
        let jobs = self.admit(jobs);
        self.blind.extend(jobs);
    }

    /// Refuses the jobs that are too many to wait, and returns the others.
    fn admit(&self, mut jobs: Vec<Job<B>>) -> Vec<Job<B>> {
        let room = self.max.saturating_sub(self.jobs.len() + self.blind.len());
        for job in jobs.split_off(jobs.len().min(room)) {
            job.answer(Decision::Refused(Error::Busy {
                detail: "Too many writes wait for rows that another transaction has locked.".to_owned(),
            }));
        }
        jobs.iter_mut().for_each(Job::stop_counting);
        jobs
    }

    /// Takes over the rows that a probe found.
    pub fn probed(&mut self, rows: RowNames) {
        let now = Instant::now();
        self.interval = (2 * self.interval).min(LONGEST_PROBE);
        self.probe_at = now + self.interval;
        self.rows = rows;
    }
}

impl<B: Batch> Writer<B> {
    /// Parks those of the jobs that need a held row, and returns the others. Sets those aside that wait for a large
    /// job.
    pub(super) fn park(&mut self, jobs: Vec<Job<B>>) -> Vec<Job<B>> {
        let jobs = self.set_aside(jobs);
        if self.parked.rows.is_empty() {
            return jobs;
        }
        let (waiting, free): (Vec<_>, Vec<_>) = jobs
            .into_iter()
            .partition(|job| self.batch.needs(&job.command, &self.parked.rows));
        self.parked.push(waiting);
        free
    }

    /// After a lock timeout: finds which rows of the jobs are held, and parks the jobs that need them. Returns whether
    /// the next attempt is another one: jobs were parked, or the rest now avoids rows that were not known to be held.
    pub(super) fn park_held(&mut self, jobs: &mut Vec<Job<B>>) -> bool {
        if mutants::is(Mutant::WaitTogether) {
            return false;
        }
        let rows = self
            .find_held(&self.batch.named_rows(&commands(jobs)))
            .unwrap_or_default();
        if rows.is_empty() {
            return false;
        }
        let new = self.parked.add_rows(rows);
        self.statistics.held_rows.add(new as u64);
        self.batch.note_held(&self.parked.rows);
        let count = jobs.len();
        *jobs = self.park(std::mem::take(jobs));
        jobs.len() < count || new > 0
    }

    /// Whether another transaction has locked this writer's own row. Then no batch can be committed, whatever its
    /// commands need. True if that cannot be found out.
    pub(super) fn is_own_row_held(&mut self) -> bool {
        self.probe(|writer| Ok(writer.identity.is_row_held(require_conn(&mut writer.conn)?)?))
            .unwrap_or(true)
    }

    /// Those of the rows that other transactions have locked. `None` if that cannot be found out: then the batch is
    /// tried again, and says what is wrong.
    fn find_held(&mut self, rows: &RowNames) -> Option<RowNames> {
        self.probe(|writer| Ok(writer.batch.find_held(require_conn(&mut writer.conn)?, rows)?))
    }

    /// The result of a probe; `None` if it failed.
    fn probe<T>(&mut self, probe: impl FnOnce(&mut Self) -> BatchResult<T>) -> Option<T> {
        let result = match self.connected() {
            Ok(_) => probe(self),
            Err(failure) => Err(failure),
        };
        result
            .inspect_err(|failure| {
                log::debug!("The locked rows could not be probed: {failure}");
                if failure.is_connection_lost() {
                    self.conn = None;
                }
            })
            .ok()
    }

    /// Probes the held rows, and tries jobs again whose lock cannot be seen, if it is time.
    pub(super) fn retry_parked(&mut self) {
        let now = Instant::now();
        if self.parked.needs_probes() && self.parked.probe_at <= now {
            self.probe_rows();
        }
        if !self.parked.blind.is_empty() && self.parked.retry_blind_at <= now {
            let blind = std::mem::take(&mut self.parked.blind);
            let mut jobs = self.refuse_expired_parked(blind.into());
            self.parked.retry_blind_at = now + BLIND_RETRY_INTERVAL;
            let mut batches = Vec::new();
            while !jobs.is_empty() {
                let rest = jobs.split_off(jobs.len().min(MAX_BATCH));
                batches.push(std::mem::replace(&mut jobs, rest));
            }
            self.commit_without_waiting(batches);
        }
    }

    /// Probes the held rows. Jobs that name a row which is free now join the next batch. Of the others, those are
    /// returned to their callers that another plan may help.
    fn probe_rows(&mut self) {
        let jobs = std::mem::take(&mut self.parked.jobs);
        let jobs = self.refuse_expired_parked(jobs);
        let before = self.parked.rows.clone();
        let rows = self.find_held(&before);
        self.log_held(rows.as_ref(), jobs.len() + self.parked.blind.len());
        self.parked.probed(rows.unwrap_or_default());
        self.batch.note_held(&self.parked.rows);
        let freed = before.without(&self.parked.rows);
        let (woken, waiting): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| self.names_any(job, &freed));
        let free = self.park(woken);
        self.waiting.defer(free);
        for job in waiting {
            if self.names_any(&job, &job.when_held.avoidable(&self.parked.rows)) {
                job.answer(Decision::Held);
            } else {
                self.parked.jobs.push(job);
            }
        }
    }

    fn names_any(&self, job: &Job<B>, rows: &RowNames) -> bool {
        !rows.is_empty() && self.batch.named_rows(&[&job.command]).intersects(rows)
    }

    /// Commits the batches without waiting for locks. A batch that needs a lock is halved, until the jobs that need it
    /// are alone. These are tried again later.
    ///
    /// After [`FAILED_BATCHES_MAX`] failures the rest is left for the next time, when it comes first. So a lock that
    /// many jobs need does not stop the writer.
    pub(super) fn commit_without_waiting(&mut self, mut batches: Vec<Vec<Job<B>>>) {
        let lock_wait = self.lock_wait;
        self.set_lock_wait(NO_WAIT);
        batches.reverse();
        let mut failures = 0;
        while failures < FAILED_BATCHES_MAX
            && let Some(mut jobs) = batches.pop()
        {
            match self.try_until_timeout(&mut jobs) {
                Ok(decisions) => self.answer(jobs, decisions),
                Err(failure) if failure.is_lock_timeout() => {
                    failures += 1;
                    if jobs.len() == 1 {
                        self.parked.push_blind(jobs);
                    } else {
                        let second_half = jobs.split_off(jobs.len() / 2);
                        batches.extend([second_half, jobs]);
                    }
                }
                Err(failure) if jobs.len() > 1 && failure.may_be_caused_by_one_command() => {
                    let second_half = jobs.split_off(jobs.len() / 2);
                    batches.extend([second_half, jobs]);
                }
                Err(failure) => refuse(jobs, &failure.into_error()),
            }
        }
        let mut untried: Vec<Job<B>> = batches.into_iter().rev().flatten().collect();
        untried.extend(std::mem::take(&mut self.parked.blind));
        self.parked.push_blind(untried);
        self.set_lock_wait(lock_wait);
    }

    /// Sets how long statements wait for a lock, on this connection and on later ones.
    fn set_lock_wait(&mut self, lock_wait: Duration) {
        self.lock_wait = lock_wait;
        let is_set = |conn| dialect::set_lock_timeout(conn, lock_wait).is_ok();
        if !self.conn.as_mut().is_some_and(is_set) {
            self.conn = None;
        }
    }
}
