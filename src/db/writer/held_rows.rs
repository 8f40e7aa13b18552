//! Held rows: rows that another transaction has locked for longer than a batch waits. It may be the transaction of a
//! person, of another program, or of a peer that was paused.
//!
//! Naively, a batch waits for all of its locks. Then one row that is held for half a minute delays all commands that
//! share a batch with one that needs it, and all that wait in the queue behind that batch.
//!
//! So a batch waits for `dialect::LOCK_WAIT` only. After a lock timeout, and after each conflict, the writer asks
//! which rows of the batch are held (`SKIP LOCKED`). The commands that need one are parked, and the others are tried
//! again at once. Later commands that need a held row are parked before they are tried.
//!
//! Happy path: the rows are probed again after [`FIRST_PROBE`], then in longer and longer intervals. When a row is
//! free, its commands join the next batch.
//!
//! Unhappy paths:
//! - A command's deadline passes while it is parked: 503.
//! - The probe cannot see what a batch waits for, such as an uncommitted row of the same name, or a lock on a gap
//!   between rows. Then each command is tried alone, without waiting. Those that need the lock are tried again each
//!   [`BLIND_RETRY_INTERVAL`].

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::batch::HeldRows;
use super::{Batch, BatchResult, Job, Writer, answer, commands, lock_wait, refuse, refuse_expired, require_conn};
use crate::db::engines::dialect;
use crate::mutants::{self, Mutant};

/// The first interval between two probes. A peer that committed at the same time has ended by then.
const FIRST_PROBE: Duration = Duration::from_millis(5);
/// The longest interval between two probes.
const LONGEST_PROBE: Duration = Duration::from_millis(100);
/// The interval at which commands are tried again whose lock a probe cannot see, and how many of them.
const BLIND_RETRY_INTERVAL: Duration = Duration::from_millis(250);
const BLIND_RETRIES_MAX: usize = 16;
/// How long a command that is tried alone waits for a lock. PostgreSQL takes 0 for no limit.
const NO_WAIT: Duration = Duration::from_millis(1);
/// How long rows are held before the log says so.
const LOGGED_AFTER: Duration = Duration::from_secs(1);

/// The commands that wait for held rows.
pub(super) struct Parked<B: Batch> {
    jobs: Vec<Job<B>>,
    /// The rows that the last probe found held.
    rows: HeldRows,
    /// Since when some rows have been held.
    since: Instant,
    probe_at: Instant,
    interval: Duration,
    was_logged: bool,
    /// Commands whose lock a probe cannot see.
    blind: VecDeque<Job<B>>,
    retry_blind_at: Instant,
}

impl<B: Batch> Parked<B> {
    pub fn new() -> Parked<B> {
        let now = Instant::now();
        Parked {
            jobs: Vec::new(),
            rows: HeldRows::default(),
            since: now,
            probe_at: now,
            interval: FIRST_PROBE,
            was_logged: false,
            blind: VecDeque::new(),
            retry_blind_at: now,
        }
    }

    /// When parked commands need the writer; `None` if there are none.
    pub fn due_at(&self) -> Option<Instant> {
        let probe_at = (!self.jobs.is_empty()).then_some(self.probe_at);
        let retry_at = (!self.blind.is_empty()).then_some(self.retry_blind_at);
        probe_at.into_iter().chain(retry_at).min()
    }

    /// Adds held rows.
    fn add_rows(&mut self, rows: HeldRows) {
        let now = Instant::now();
        if self.rows.is_empty() {
            (self.since, self.interval, self.was_logged) = (now, FIRST_PROBE, false);
        }
        self.rows.extend(rows);
        self.probe_at = self.probe_at.max(now + self.interval);
        self.probe_at = self.probe_at.min(now + LONGEST_PROBE);
    }

    fn push_blind(&mut self, job: Job<B>) {
        if self.blind.is_empty() {
            self.retry_blind_at = Instant::now() + BLIND_RETRY_INTERVAL;
        }
        self.blind.push_back(job);
    }

    /// Takes over the rows that a probe found, and says in the log what an operator can act on.
    fn probed(&mut self, rows: HeldRows) {
        let now = Instant::now();
        self.interval = (2 * self.interval).min(LONGEST_PROBE);
        self.probe_at = now + self.interval;
        self.rows = rows;
        if self.rows.is_empty() {
            if std::mem::take(&mut self.was_logged) {
                log::info!("The locked rows are free again, after {:?}", now - self.since);
            }
        } else if !self.was_logged && now - self.since >= LOGGED_AFTER {
            self.was_logged = true;
            log::warn!(
                "Another transaction has locked rows for {:?}: {}; {} requests wait for it. Find it among the \
                 sessions of the database server, and end it if it hangs",
                now - self.since,
                self.rows,
                self.jobs.len()
            );
        }
    }
}

impl<B: Batch> Writer<B> {
    /// Parks those of the jobs that need a held row, and returns the others.
    pub(super) fn park(&mut self, jobs: Vec<Job<B>>) -> Vec<Job<B>> {
        if self.parked.rows.is_empty() {
            return jobs;
        }
        let (waiting, free): (Vec<_>, Vec<_>) = jobs
            .into_iter()
            .partition(|job| self.batch.needs(&job.command, &self.parked.rows));
        self.parked.jobs.extend(waiting);
        free
    }

    /// After a lock timeout or a conflict: finds which rows of the jobs are held, and parks the jobs that need them.
    /// Returns whether there are any such jobs.
    pub(super) fn park_held(&mut self, jobs: &mut Vec<Job<B>>) -> BatchResult<bool> {
        if mutants::is(Mutant::WaitTogether) {
            return Ok(false);
        }
        let rows = self.find_held(&commands(jobs))?;
        if rows.is_empty() {
            return Ok(false);
        }
        self.parked.add_rows(rows);
        let count = jobs.len();
        *jobs = self.park(std::mem::take(jobs));
        Ok(jobs.len() < count)
    }

    /// Whether another transaction has locked this writer's own row. Then no batch can be committed, whatever its
    /// commands need.
    pub(super) fn is_own_row_held(&mut self) -> BatchResult<bool> {
        self.connected()?;
        Ok(self.identity.is_row_held(require_conn(&mut self.conn)?)?)
    }

    fn find_held(&mut self, commands: &[&B::Command]) -> BatchResult<HeldRows> {
        self.connected()?;
        let conn = require_conn(&mut self.conn)?;
        Ok(self.batch.held_rows(conn, commands)?)
    }

    /// Probes the held rows if it is time. Jobs whose rows are free join the next batch. A job whose lock cannot be
    /// seen is tried alone.
    pub(super) fn retry_parked(&mut self) {
        let now = Instant::now();
        if !self.parked.jobs.is_empty() && self.parked.probe_at <= now {
            self.probe();
        }
        if !self.parked.blind.is_empty() && self.parked.retry_blind_at <= now {
            let mut blind = refuse_expired(std::mem::take(&mut self.parked.blind).into());
            self.parked.blind = blind.split_off(blind.len().min(BLIND_RETRIES_MAX)).into();
            self.parked.retry_blind_at = now + BLIND_RETRY_INTERVAL;
            self.commit_each(blind);
        }
    }

    /// Tries each job alone, without waiting for locks. Parks those that need a lock which a probe cannot see.
    pub(super) fn commit_each(&mut self, jobs: Vec<Job<B>>) {
        self.set_lock_wait(NO_WAIT);
        for job in jobs {
            let mut alone = vec![job];
            match self.try_until_timeout(&mut alone) {
                Ok(decisions) => answer(alone, decisions),
                Err(failure) if failure.is_lock_timeout() => {
                    alone.into_iter().for_each(|job| self.parked.push_blind(job));
                }
                Err(failure) => refuse(alone, &failure.into_error()),
            }
        }
        self.set_lock_wait(lock_wait(&self.database));
    }

    /// Sets how long statements wait for a lock. A new connection has the default again.
    fn set_lock_wait(&mut self, lock_wait: Duration) {
        let is_set = |conn| dialect::set_lock_timeout(conn, lock_wait).is_ok();
        if !self.conn.as_mut().is_some_and(is_set) {
            self.conn = None;
        }
    }

    fn probe(&mut self) {
        let jobs = refuse_expired(std::mem::take(&mut self.parked.jobs));
        let rows = match self.find_held(&commands(&jobs)) {
            Ok(rows) => rows,
            Err(failure) => {
                log::debug!("The locked rows could not be probed: {failure}");
                if failure.is_connection_lost() {
                    self.conn = None;
                }
                HeldRows::default()
            }
        };
        self.parked.probed(rows);
        let free = self.park(jobs);
        self.waiting.defer(free);
    }
}
