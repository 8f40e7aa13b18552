//! Decides when a connection to the database may be opened: for readers, the writer, the follower and probes alike.
//!
//! Naively each read that finds no free connection opens a connection, and repeats a failed attempt. When the database
//! comes back, all attempts arrive at the same time, and an idle process may take every connection of the server.
//!
//! - While attempts succeed, at most four run side by side. Further attempts wait.
//! - After a failure a single attempt runs at a time, after a pause (exponential backoff with jitter). All callers wait
//!   for the next attempt, and get its error if the attempt fails. The error of an attempt before the call would be
//!   wrong once the database is back.

#[cfg(test)]
mod tests;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::db::SetupError;
use crate::error::Detail;

/// How many attempts run side by side while attempts succeed.
const MAX_PARALLEL: usize = 4;
/// The pause after the first failure. Each further failure doubles the pause.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The attempts to open a connection to one database. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct ConnectAttempts(Arc<SharedAttempts>);

#[derive(Debug, Default)]
struct SharedAttempts {
    state: Mutex<AttemptsState>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct AttemptsState {
    running: usize,
    failures: u64,
    /// The time and the error of the last failed attempt.
    last_failure: Option<(Instant, Detail)>,
    /// `Some` from a failure of the connection until a success.
    backoff: Option<Backoff>,
}

#[derive(Debug)]
struct Backoff {
    /// Before jitter.
    pause: Duration,
    /// When the last attempt failed.
    failed: Instant,
    until: Instant,
    /// The fields of the last [`SetupError::Connect`].
    place: String,
    detail: String,
}

impl Backoff {
    fn error(&self) -> SetupError {
        SetupError::Connect {
            place: self.place.clone(),
            detail: self.detail.clone(),
        }
    }
}

impl ConnectAttempts {
    /// Opens a connection as soon as an attempt is allowed.
    ///
    /// # Errors
    /// The error of `open`, or of another attempt that failed since the call.
    pub fn run<T>(&self, open: impl FnOnce() -> Result<T, SetupError>) -> Result<T, SetupError> {
        let in_backoff = self.begin()?;
        let _running = RunningAttempt(&self.0);
        let opened = open();
        self.record(opened.as_ref().err(), in_backoff);
        opened
    }

    /// Waits until an attempt is allowed. Returns whether the attempt follows a failure.
    fn begin(&self) -> Result<bool, SetupError> {
        let called = Instant::now();
        let mut state = self.0.lock();
        loop {
            let now = Instant::now();
            let pause = match &state.backoff {
                None if state.running < MAX_PARALLEL => break,
                None => LONGEST_PAUSE,
                Some(backoff) if backoff.failed >= called => return Err(backoff.error()),
                Some(backoff) if state.running == 0 && backoff.until <= now => break,
                // The end of a running attempt is notified.
                Some(_) if state.running > 0 => LONGEST_PAUSE,
                Some(backoff) => backoff.until - now,
            };
            let waited = self.0.ended.wait_timeout(state, pause);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.running += 1;
        Ok(state.backoff.is_some())
    }

    /// Whether a caller would have to wait, because an attempt failed.
    pub fn is_paused(&self) -> bool {
        let state = self.0.lock();
        let is_paused = |backoff: &Backoff| state.running > 0 || Instant::now() < backoff.until;
        state.backoff.as_ref().is_some_and(is_paused)
    }

    /// Only an error of the connection begins a backoff. A missing file, for example, is found without the database.
    fn record(&self, error: Option<&SetupError>, in_backoff: bool) {
        let mut state = self.0.lock();
        let Some(error) = error else {
            state.backoff = None;
            return;
        };
        let now = Instant::now();
        state.failures += 1;
        state.last_failure = Some((now, error.detail()));
        if let SetupError::Connect { place, detail } = error {
            let pause = match &state.backoff {
                None => FIRST_PAUSE,
                // The attempt ran beside the attempt whose failure began the pause.
                Some(_) if !in_backoff => return,
                Some(backoff) => (backoff.pause * 2).min(LONGEST_PAUSE),
            };
            // With jitter, so that the processes of a cloud do not try in step.
            let until = now + pause.mul_f64(rand::random_range(0.5..=1.0));
            let (place, detail) = (place.clone(), detail.clone());
            state.backoff = Some(Backoff {
                pause,
                failed: now,
                until,
                place,
                detail,
            });
        }
    }

    /// The error of the last failed attempt, if the attempt failed at this moment or later.
    pub fn failed_since(&self, moment: Instant) -> Option<Detail> {
        let state = self.0.lock();
        let (_, detail) = state.last_failure.as_ref().filter(|(at, _)| *at >= moment)?;
        Some(detail.clone())
    }

    /// How often an attempt failed.
    pub fn failures(&self) -> u64 {
        self.0.lock().failures
    }
}

impl SharedAttempts {
    fn lock(&self) -> MutexGuard<'_, AttemptsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running attempt. The drop ends the attempt, even after a panic.
struct RunningAttempt<'a>(&'a SharedAttempts);

impl Drop for RunningAttempt<'_> {
    fn drop(&mut self) {
        self.0.lock().running -= 1;
        self.0.ended.notify_all();
    }
}
