//! A copy of the database that may lag behind it, for what a configuration lets be read there.
//!
//! It is a convenience: whatever is wrong with it, the database itself answers, and a line of the log says so.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::db::{Database, ReadPermit, change_feed};
use crate::error::Error;

/// See the module. Clones share one pool.
#[derive(Clone)]
pub struct Replica {
    inner: Arc<Inner>,
}

struct Inner {
    copy: Database,
    /// How long it is left alone after it failed.
    rest: Duration,
    state: Mutex<State>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is to be looked at before it is asked: at first, and after it failed.
    Unknown,
    Good,
    LeftUntil(Instant),
}

impl Replica {
    /// Nothing is connected yet, so that placet starts without it too.
    pub fn new(copy: Database, rest: Duration) -> Replica {
        let state = Mutex::new(State::Unknown);
        Replica {
            inner: Arc::new(Inner { copy, rest, state }),
        }
    }

    /// Waits until a connection to the copy may be had; `None` where it is not to be asked now.
    pub async fn read_permit(&self) -> Option<ReadPermit> {
        if matches!(self.state(), State::LeftUntil(moment) if Instant::now() < moment) {
            return None;
        }
        self.inner
            .copy
            .read_permit()
            .await
            .map_err(|error| self.failed(error))
            .ok()
    }

    /// Reads in the copy; `None` where it cannot answer, and `main` is to be asked.
    pub fn read<T>(
        &self,
        permit: &ReadPermit,
        main: &Database,
        read: impl FnOnce(&ReadPermit) -> Result<T, Error>,
    ) -> Option<Result<T, Error>> {
        if !self.may_be_asked(main) {
            return None;
        }
        match read(permit) {
            Err(error @ (Error::Unavailable { .. } | Error::Internal { .. })) => {
                self.failed(error);
                None
            }
            answered => Some(answered),
        }
    }

    /// How many may read it at once.
    pub fn readers(&self) -> usize {
        self.inner.copy.readers()
    }

    /// Of many that fail at once the first one tells.
    fn failed(&self, error: Error) {
        if self.set(self.left()) == State::Good {
            self.tell(error);
        }
    }

    /// Whoever finds that it was left alone for long enough looks at it; everybody else does not wait for that.
    fn may_be_asked(&self, main: &Database) -> bool {
        match self.state() {
            State::Good => return true,
            State::LeftUntil(moment) if Instant::now() < moment => return false,
            State::LeftUntil(_) | State::Unknown => {
                self.set(self.left());
            }
        }
        match self.look(main) {
            Ok(()) => {
                log::info!("slave_connection answers: what [placet] slave_routes names is read there");
                self.set(State::Good);
                true
            }
            Err(error) => {
                self.set(self.left());
                self.tell(error);
                false
            }
        }
    }

    /// Whether it has the tables that this placet knows, and is a copy of `main`: epoch and writers have random names, so
    /// that another database has neither the same epoch nor a writer in common.
    fn look(&self, main: &Database) -> Result<(), Error> {
        self.inner.copy.check()?;
        let copied = self.inner.copy.read(|conn| Ok(change_feed::revisions(conn)?))?;
        let own = main.read(|conn| Ok(change_feed::revisions(conn)?))?;
        let in_common = copied.writers.keys().any(|writer| own.writers.contains_key(writer));
        if copied.epoch == own.epoch && in_common {
            return Ok(());
        }
        Err(Error::Unavailable {
            detail: "it is no copy of the database, or one that lags far behind".to_owned(),
        })
    }

    fn tell(&self, error: Error) {
        let rest = self.inner.rest;
        let detail = match error {
            Error::Unavailable { detail } | Error::Internal { detail } => detail,
            other => other.to_string(),
        };
        log::warn!("slave_connection is not read from for {rest:?}: {detail}");
    }

    fn left(&self) -> State {
        State::LeftUntil(Instant::now() + self.inner.rest)
    }

    fn state(&self) -> State {
        *self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what it was.
    fn set(&self, state: State) -> State {
        let mut held = self.inner.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut held, state)
    }
}
