//! Opens the connections of a database, in the pool and outside of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use diesel::Connection;
use diesel::connection::InstrumentationEvent;

use super::attempts::ConnectAttempts;
use super::last_answer::LastAnswer;
use super::url::DbTarget;
use crate::db::engines::dialect::{self, OpenMode};
use crate::db::file::guard::FileGuard;
use crate::db::live_count::LiveCount;
use crate::db::{DbConnection, SetupError};

/// How long after the last answer a connection is used without a ping. If the connection broke since, the read is
/// repeated once, on a second connection.
const TRUSTED_AFTER_ANSWER: Duration = Duration::from_secs(1);

/// The log target of each sent statement, at trace level: `RUST_LOG=info,placet::statements=trace`.
const STATEMENT_LOG: &str = "placet::statements";

/// Opens connections, in the pool and outside of it.
#[derive(Clone)]
pub(super) struct Opener {
    pub target: DbTarget,
    pub lock_timeout: Duration,
    pub recycle_time: Duration,
    pub statements: Arc<AtomicU64>,
    pub attempts: ConnectAttempts,
    /// When a connection was last found broken. Connections with an earlier last answer are pinged before use.
    pub lost: Arc<Mutex<Option<Instant>>>,
    pub last_answer: LastAnswer,
    /// Open connections, in the pool and outside of it.
    pub open: LiveCount,
    /// Open connections of the pool.
    pub pooled: LiveCount,
    pub guard: FileGuard,
}

impl Opener {
    /// Opens a connection as soon as an attempt is allowed.
    pub fn open(&self, mode: OpenMode) -> Result<DbConnection, SetupError> {
        let mut conn = self.attempts.run(|| self.open_uncounted(mode))?;
        // The connection drops its instrumentation last, so the connection counts as open until closed.
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

    /// Opens a connection at once, whose statements are not counted. The file is compared before and after, so no
    /// connection to a wrong file is used.
    pub fn open_uncounted(&self, mode: OpenMode) -> Result<DbConnection, SetupError> {
        self.guard.check_path()?;
        let conn = dialect::connect(&self.target, mode, self.lock_timeout).inspect_err(|error| {
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

    /// Whether a connection needs no ping, after a last answer at this moment.
    pub fn trusts(&self, answered: Instant) -> bool {
        let lost = *self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        answered.elapsed() < TRUSTED_AFTER_ANSWER && lost.is_none_or(|lost| lost < answered)
    }
}
