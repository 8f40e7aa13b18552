//! The replica: a copy of the database, which may lag, for the routes in `[placet] slave_routes`.
//!
//! If the replica fails, is no copy of the database or has a different schema, the database answers instead. A line of
//! the log reports the reason.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::db::{Database, ReadPermit, change_feed};
use crate::error::Error;

/// A replica of the database. Clones share one pool.
#[derive(Clone)]
pub struct ReadReplica {
    database: Database,
    /// How long the replica is unused after a failure.
    pause: Duration,
    state: Arc<Mutex<ReplicaState>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplicaState {
    /// Never probed.
    Unknown,
    Usable,
    /// Not used until this moment, and probed before the next use.
    PausedUntil(Instant),
}

impl ReadReplica {
    /// Opens no connection yet, so that placet starts without its replica.
    pub fn new(database: Database, pause: Duration) -> ReadReplica {
        let state = Arc::new(Mutex::new(ReplicaState::Unknown));
        ReadReplica { database, pause, state }
    }

    /// Waits for a permit to read from the replica. `None` if the replica is not to be used now.
    pub async fn read_permit(&self) -> Option<ReadPermit> {
        if matches!(self.state(), ReplicaState::PausedUntil(moment) if Instant::now() < moment) {
            return None;
        }
        self.database.read_permit().await.map_err(|error| self.fail(error)).ok()
    }

    /// Reads from the replica. `None` if the replica cannot answer; the caller then reads from `main`.
    pub fn read<T>(
        &self,
        permit: &ReadPermit,
        main: &Database,
        read: impl FnOnce(&ReadPermit) -> Result<T, Error>,
    ) -> Option<Result<T, Error>> {
        if !self.is_usable(main) {
            return None;
        }
        match read(permit) {
            Err(error @ (Error::Unavailable { .. } | Error::Internal { .. })) => {
                self.fail(error);
                None
            }
            result => Some(result),
        }
    }

    /// The maximum number of concurrent reads.
    pub fn readers(&self) -> usize {
        self.database.readers()
    }

    /// Pauses the replica. If many reads fail at once, only the first failure is logged.
    fn fail(&self, error: Error) {
        if self.set(self.paused()) == ReplicaState::Usable {
            self.warn(error);
        }
    }

    /// After the pause a single request probes the replica. All others use the primary and do not wait for the probe.
    fn is_usable(&self, main: &Database) -> bool {
        match self.state() {
            ReplicaState::Usable => return true,
            ReplicaState::PausedUntil(moment) if Instant::now() < moment => return false,
            ReplicaState::PausedUntil(_) | ReplicaState::Unknown => {
                self.set(self.paused());
            }
        }
        match self.probe(main) {
            Ok(()) => {
                log::info!("slave_connection answers: the routes in [placet] slave_routes are read from it");
                self.set(ReplicaState::Usable);
                true
            }
            Err(error) => {
                self.set(self.paused());
                self.warn(error);
                false
            }
        }
    }

    /// Checks that the replica has the schema of this placet and is a copy of `main`. Epochs and writers have random
    /// names, so an unrelated database has neither the same epoch nor a writer in common.
    fn probe(&self, main: &Database) -> Result<(), Error> {
        self.database.check()?;
        self.database.fit_pool()?;
        let copied = self.database.read(|conn| Ok(change_feed::revisions(conn)?))?;
        let own = main.read(|conn| Ok(change_feed::revisions(conn)?))?;
        let in_common = copied.writers.keys().any(|writer| own.writers.contains_key(writer));
        if copied.epoch == own.epoch && in_common {
            return Ok(());
        }
        Err(Error::Unavailable {
            detail: "it is no copy of the database, or one that lags far behind".into(),
        })
    }

    fn warn(&self, error: Error) {
        let detail = match error {
            Error::Unavailable { detail } => detail.hidden().map_or_else(|| detail.to_string(), str::to_owned),
            Error::Internal { detail } => detail,
            other => other.to_string(),
        };
        log::warn!("slave_connection is not read from for {:?}: {detail}", self.pause);
    }

    fn paused(&self) -> ReplicaState {
        ReplicaState::PausedUntil(Instant::now() + self.pause)
    }

    fn state(&self) -> ReplicaState {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the previous state.
    fn set(&self, state: ReplicaState) -> ReplicaState {
        let mut current = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut current, state)
    }
}
