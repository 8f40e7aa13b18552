//! The places of the pool: which connection is used again, and which is closed.
//!
//! r2d2 opens connections by itself. For each read that waits, it repeats a failed attempt until one succeeds. So r2d2
//! keeps places, and a new place is empty: the read that gets the place opens its connection, when [`super::attempts`]
//! allows an attempt. r2d2 hands out the place that was used last, so that the others become idle and are closed.

use std::time::Instant;

use diesel::r2d2::R2D2Connection;

use super::open_connections::OpenConnection;
use super::opener::Opener;
use crate::db::engines::dialect::{self, Purpose};
use crate::db::{DbConnection, SetupError};
use crate::error::Error;

/// A place of the pool. Only an empty one has no connection.
#[derive(Default)]
pub(super) struct Slot(Option<TrackedConnection>);

/// A connection of the pool, with what decides whether it is handed out again.
pub(super) struct TrackedConnection {
    conn: DbConnection,
    opened: Instant,
    /// When it last answered without an error. `None` if it must be pinged before it is used.
    answered: Option<Instant>,
    /// Whether its last statement failed in the database. It is then closed, because statements that it prepared may
    /// never be answered again (docs/internals/engines.md).
    failed: bool,
    /// Whether it was handed out without a ping, because it had just answered.
    pub skipped_ping: bool,
    _counted: OpenConnection,
}

impl Slot {
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The connection. That of an empty place is opened if an attempt is allowed now.
    pub fn connection(&mut self, opener: &Opener) -> Result<&mut TrackedConnection, SetupError> {
        match &mut self.0 {
            Some(tracked) => Ok(tracked),
            empty => Ok(empty.insert(TrackedConnection {
                conn: opener.open(Purpose::Read)?,
                opened: Instant::now(),
                answered: None,
                failed: false,
                skipped_ping: false,
                _counted: opener.pooled.add(),
            })),
        }
    }
}

impl TrackedConnection {
    pub fn ask<T>(&mut self, ask: impl Fn(&mut DbConnection) -> Result<T, Error>) -> Result<T, Error> {
        self.answered = None;
        let result = ask(&mut self.conn);
        self.answered = result.is_ok().then(Instant::now);
        self.failed = matches!(result, Err(Error::Unavailable { .. } | Error::Internal { .. }));
        result
    }
}

impl r2d2::ManageConnection for Opener {
    type Connection = Slot;
    type Error = SetupError;

    /// Adds an empty place.
    fn connect(&self) -> Result<Slot, SetupError> {
        Ok(Slot::default())
    }

    /// The pool calls this before it hands a place out. Refuses a connection that is too old or lost. The pool then
    /// removes the place, and hands out the next one.
    fn is_valid(&self, slot: &mut Slot) -> Result<(), SetupError> {
        let Some(tracked) = &mut slot.0 else {
            return Ok(());
        };
        let refuse = |detail: &str| {
            Err(SetupError::Connect {
                place: "the pool".to_string(),
                detail: detail.to_string(),
            })
        };
        if tracked.opened.elapsed() > self.recycle_time {
            return refuse("connection too old");
        }
        tracked.skipped_ping = tracked.answered.is_some_and(|moment| self.trusts(moment));
        if tracked.skipped_ping || dialect::is_alive(&mut tracked.conn) {
            Ok(())
        } else {
            refuse("connection lost")
        }
    }

    fn has_broken(&self, slot: &mut Slot) -> bool {
        let is_usable = |tracked: &mut TrackedConnection| !tracked.failed && !tracked.conn.is_broken();
        std::thread::panicking() || !slot.0.as_mut().is_some_and(is_usable)
    }
}
