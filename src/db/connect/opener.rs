//! Opens the connections of a database, in the pool and outside of it, and decides which of them the pool hands out
//! again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use diesel::Connection;
use diesel::connection::InstrumentationEvent;
use diesel::r2d2::R2D2Connection;

use super::last_answer::LastAnswer;
use super::open_connections::OpenConnections;
use super::url::Target;
use crate::db::engines::dialect::{self, Purpose};
use crate::db::file::guard::FileGuard;
use crate::db::{DbConnection, SetupError};
use crate::error::Error;
use crate::statistics::Counter;

/// How long after its last answer a connection is used without a ping. If it broke since, the read is repeated once, on
/// another connection.
const TRUSTED_AFTER_ANSWER: Duration = Duration::from_secs(1);

/// The log target of each statement that is sent, at trace level: `RUST_LOG=info,placet::statements=trace`.
const STATEMENT_LOG: &str = "placet::statements";

/// Opens connections, in the pool and outside of it.
#[derive(Debug, Clone)]
pub(super) struct Opener {
    pub target: Target,
    pub lock_timeout: Duration,
    pub recycle_time: Duration,
    pub statements: Arc<AtomicU64>,
    /// The last failure of the pool to open a connection.
    pub failed: Arc<Mutex<Option<ConnectFailure>>>,
    /// How often the pool failed to open a connection.
    pub failures: Arc<Counter>,
    /// When a connection was last found broken. Connections that answered before then are pinged before they are used.
    pub lost: Arc<Mutex<Option<Instant>>>,
    pub last_answer: LastAnswer,
    pub open: OpenConnections,
    pub guard: FileGuard,
}

#[derive(Debug)]
pub(super) struct ConnectFailure {
    at: Instant,
    detail: String,
}

/// A connection of the pool, with what decides whether it is handed out again.
pub(super) struct TrackedConnection {
    conn: DbConnection,
    opened: Instant,
    /// Whether it was handed out before. A connection that was not is never too old, even if `recycle_time` is 0.
    used: bool,
    /// When it last answered without an error. `None` if it must be pinged before it is used.
    answered: Option<Instant>,
    /// Whether its last statement failed in the database. It is then closed, because statements that it prepared may
    /// never be answered again (docs/internals/engines.md).
    failed: bool,
    /// Whether it was handed out without a ping, because it had just answered.
    pub skipped_ping: bool,
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

impl Opener {
    pub fn open(&self, purpose: Purpose) -> Result<DbConnection, SetupError> {
        let mut conn = self.open_uncounted(purpose)?;
        // The connection drops its instrumentation last, so it counts as open until it is closed.
        let (statements, open) = (self.statements.clone(), self.open.add());
        let (guard, last_answer) = (self.guard.clone(), self.last_answer.clone());
        last_answer.note();
        conn.set_instrumentation(move |event: InstrumentationEvent<'_>| {
            let _counted = &open;
            match event {
                InstrumentationEvent::StartQuery { query, .. } => {
                    statements.fetch_add(1, Ordering::Relaxed);
                    log::trace!(target: STATEMENT_LOG, "{query}");
                }
                InstrumentationEvent::FinishQuery { error: Some(error), .. } => guard.note_error(&error.to_string()),
                InstrumentationEvent::FinishQuery { error: None, .. } => last_answer.note(),
                _ => {}
            }
        });
        Ok(conn)
    }

    /// Opens a connection whose statements are not counted. The file is compared before and after, so that no
    /// connection to another file is used.
    pub fn open_uncounted(&self, purpose: Purpose) -> Result<DbConnection, SetupError> {
        self.guard.check_path()?;
        let conn = dialect::connect(&self.target, purpose, self.lock_timeout).inspect_err(|error| {
            if let SetupError::Connect { detail, .. } = error {
                self.guard.note_error(detail);
            }
        })?;
        self.guard.check_path()?;
        Ok(conn)
    }

    pub fn distrust_earlier_answers(&self) {
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether a connection that last answered at that moment needs no ping.
    fn trusts(&self, answered: Instant) -> bool {
        let lost = *self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        answered.elapsed() < TRUSTED_AFTER_ANSWER && lost.is_none_or(|lost| lost < answered)
    }

    pub fn failed_since(&self, moment: Instant) -> Option<String> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed
            .as_ref()
            .filter(|failure| failure.at >= moment)
            .map(|failure| failure.detail.clone())
    }
}

impl r2d2::ManageConnection for Opener {
    type Connection = TrackedConnection;
    type Error = SetupError;

    fn connect(&self) -> Result<TrackedConnection, SetupError> {
        let conn = self.open(Purpose::Read).inspect_err(|error| {
            self.failures.increment();
            log::debug!("The pool could not open a connection: {error}");
            let failure = ConnectFailure {
                at: Instant::now(),
                detail: error.to_string(),
            };
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        })?;
        Ok(TrackedConnection {
            conn,
            opened: Instant::now(),
            used: false,
            answered: None,
            failed: false,
            skipped_ping: false,
        })
    }

    /// The pool calls this before it hands a connection out. Refuses one that is too old or lost; the pool then opens
    /// another one.
    fn is_valid(&self, tracked: &mut TrackedConnection) -> Result<(), SetupError> {
        let refuse = |detail: &str| {
            Err(SetupError::Connect {
                place: "the pool".to_string(),
                detail: detail.to_string(),
            })
        };
        if std::mem::replace(&mut tracked.used, true) && tracked.opened.elapsed() > self.recycle_time {
            return refuse("connection too old");
        }
        tracked.skipped_ping = tracked.answered.is_some_and(|moment| self.trusts(moment));
        if tracked.skipped_ping || dialect::is_alive(&mut tracked.conn) {
            Ok(())
        } else {
            refuse("connection lost")
        }
    }

    fn has_broken(&self, tracked: &mut TrackedConnection) -> bool {
        std::thread::panicking() || tracked.failed || tracked.conn.is_broken()
    }
}
