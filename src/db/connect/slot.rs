//! The slots of the pool. A slot decides whether its connection is used again or closed.
//!
//! r2d2 opens connections by itself: for each waiting read it repeats a failed attempt until the attempt succeeds. So
//! placet gives r2d2 slots, and a new slot is empty. The read that gets an empty slot opens the connection, when
//! [`super::attempts`] allows an attempt. r2d2 hands out the slot that was used last. Unused slots become idle, and
//! their connections are closed.

use std::fmt;
use std::time::Instant;

use diesel::r2d2::R2D2Connection;

use super::opener::Opener;
use crate::db::engines::dialect::{self, OpenMode};
use crate::db::live_count::Counted;
use crate::db::{DbConnection, SetupError};
use crate::error::Error;

/// A slot of the pool: empty, or with a connection.
#[derive(Default)]
pub(super) struct PoolSlot(Option<TrackedConnection>);

/// A connection of the pool, with what decides whether it is handed out again.
pub(super) struct TrackedConnection {
    conn: DbConnection,
    opened: Instant,
    /// The time of the last answer without an error. `None` if the next use needs a ping.
    answered: Option<Instant>,
    /// Whether the last statement failed in the database. The connection is then closed, because the database may never
    /// answer its prepared statements again (docs/internals/engines.md).
    failed: bool,
    /// Whether the pool handed the connection out without a ping, because the last answer was recent.
    pub skipped_ping: bool,
    _counted: Counted,
}

impl PoolSlot {
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The connection. An empty slot opens a connection as soon as an attempt is allowed.
    pub fn connection(&mut self, opener: &Opener) -> Result<&mut TrackedConnection, SetupError> {
        match &mut self.0 {
            Some(tracked) => Ok(tracked),
            empty => Ok(empty.insert(TrackedConnection {
                conn: opener.open(OpenMode::Read)?,
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
    type Connection = PoolSlot;
    /// r2d2 discards the error, and opens a further slot.
    type Error = fmt::Error;

    /// Adds an empty slot.
    fn connect(&self) -> Result<PoolSlot, fmt::Error> {
        Ok(PoolSlot::default())
    }

    /// Refuses a slot whose connection is too old or lost. r2d2 calls the check before it hands a slot out, and removes
    /// a refused slot.
    fn is_valid(&self, slot: &mut PoolSlot) -> Result<(), fmt::Error> {
        let Some(tracked) = &mut slot.0 else {
            return Ok(());
        };
        tracked.skipped_ping = tracked.answered.is_some_and(|moment| self.trusts(moment));
        let is_usable = tracked.opened.elapsed() <= self.recycle_time
            && (tracked.skipped_ping || dialect::is_alive(&mut tracked.conn));
        is_usable.then_some(()).ok_or(fmt::Error)
    }

    fn has_broken(&self, slot: &mut PoolSlot) -> bool {
        let is_usable = |tracked: &mut TrackedConnection| !tracked.failed && !tracked.conn.is_broken();
        std::thread::panicking() || !slot.0.as_mut().is_some_and(is_usable)
    }
}
