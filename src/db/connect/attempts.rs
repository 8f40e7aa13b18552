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

use crate::backoff::{Backoff, Pause};
use crate::db::SetupError;
use crate::error::Detail;

/// How many attempts run side by side while attempts succeed.
const MAX_PARALLEL: usize = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
const BACKOFF: Backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);

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
    pause: Option<Pause<ConnectFailure>>,
}

/// The fields of a [`SetupError::Connect`].
#[derive(Debug, Clone)]
struct ConnectFailure {
    place: String,
    detail: String,
}

impl From<ConnectFailure> for SetupError {
    fn from(ConnectFailure { place, detail }: ConnectFailure) -> SetupError {
        SetupError::Connect { place, detail }
    }
}

impl ConnectAttempts {
    /// Opens a connection as soon as an attempt is allowed.
    ///
    /// # Errors
    /// The error of `open`, or of another attempt that failed since the call.
    pub fn run<T>(&self, open: impl FnOnce() -> Result<T, SetupError>) -> Result<T, SetupError> {
        let follows_failure = self.begin()?;
        let _running = RunningAttempt(&self.0);
        let opened = open();
        self.record(opened.as_ref().err(), follows_failure);
        opened
    }

    /// Waits until an attempt is allowed. Returns whether the attempt follows a failure.
    fn begin(&self) -> Result<bool, SetupError> {
        let called = Instant::now();
        let mut state = self.0.lock();
        loop {
            if let Some(failure) = state.pause.as_ref().and_then(|pause| pause.failed_since(called)) {
                return Err(failure.clone().into());
            }
            let wait = match &state.pause {
                None if state.running < MAX_PARALLEL => break,
                // The end of a running attempt is notified.
                None => LONGEST_PAUSE,
                Some(_) if state.running > 0 => LONGEST_PAUSE,
                Some(pause) if pause.left().is_zero() => break,
                Some(pause) => pause.left(),
            };
            let waited = self.0.ended.wait_timeout(state, wait);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.running += 1;
        Ok(state.pause.is_some())
    }

    /// Whether a caller would have to wait, because an attempt failed.
    pub fn is_paused(&self) -> bool {
        let state = self.0.lock();
        let pause = state.pause.as_ref();
        pause.is_some_and(|pause| state.running > 0 || !pause.left().is_zero())
    }

    /// Only an error of the connection begins a pause. A missing file, for example, is found without the database.
    fn record(&self, error: Option<&SetupError>, follows_failure: bool) {
        let mut state = self.0.lock();
        let Some(error) = error else {
            state.pause = None;
            return;
        };
        state.failures += 1;
        state.last_failure = Some((Instant::now(), error.detail()));
        if let SetupError::Connect { place, detail } = error {
            // The attempt ran beside the attempt whose failure began the pause.
            if state.pause.is_some() && !follows_failure {
                return;
            }
            let (place, detail) = (place.clone(), detail.clone());
            let previous = state.pause.take();
            state.pause = Some(Pause::begin(previous, &BACKOFF, ConnectFailure { place, detail }));
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
