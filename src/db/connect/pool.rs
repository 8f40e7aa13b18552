//! The configured database and its connections: reads share a pool, and each writer has a connection of its own.

#[cfg(test)]
mod tests;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::attempts::ConnectAttempts;
use super::last_answer::LastAnswer;
use super::opener::Opener;
use super::url::{self, DbTarget};
use crate::db::engines::dialect::{self, OpenMode};
use crate::db::file::guard::FileGuard;
use crate::db::live_count::LiveCount;
use crate::db::{DbConnection, SetupError};
use crate::error::Error;

/// The interval at which a waiting read checks whether connections can be opened at all.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// The pause of a read that can open no connection. After the pause the read looks for a returned connection.
const RETURN_PAUSE: Duration = Duration::from_millis(20);
/// How long a connection of the pool may be unused before it is closed. The pool looks every 30 s, so a connection is
/// closed at most a minute after its last use.
const IDLE_TIME: Duration = Duration::from_secs(30);

/// How to reach the database.
#[derive(Debug, Clone)]
pub struct DatabaseSettings {
    /// The URL as SQLAlchemy spells URLs.
    pub url: String,
    /// The maximum number of connections in the pool.
    pub max_pool_size: u32,
    /// How long a read waits for a connection of the pool.
    pub pool_timeout: Duration,
    /// How long a statement waits for the lock of a second connection.
    pub lock_timeout: Duration,
    /// The age at which a connection of the pool is replaced before the next use.
    pub recycle_time: Duration,
    /// The number of attempts to reach a server at start. -1 means no limit.
    pub max_retries: i64,
    /// The time between two attempts.
    pub retry_interval: Duration,
}

impl DatabaseSettings {
    /// Settings for the database at `url`, with the defaults for all further fields.
    pub fn new(url: impl Into<String>) -> Self {
        DatabaseSettings {
            url: url.into(),
            max_pool_size: 16,
            pool_timeout: Duration::from_secs(30),
            lock_timeout: Duration::from_secs(5),
            recycle_time: Duration::from_secs(3600),
            max_retries: 10,
            retry_interval: Duration::from_secs(10),
        }
    }
}

/// The configured database. Clones share one pool.
#[derive(Clone)]
pub struct Database {
    pub(super) opener: Opener,
    pub(super) readers: r2d2::Pool<Opener>,
    /// A permit for each connection that the pool may have.
    pub(super) read_permits: Arc<Semaphore>,
    /// The number of permits in all.
    pub(super) max_readers: Arc<AtomicUsize>,
    pool_timeout: Duration,
    max_retries: i64,
    retry_interval: Duration,
}

impl Database {
    /// Parses the URL, and reads the files in the URL. Opens no connection yet, and creates no database.
    pub fn open(settings: &DatabaseSettings) -> Result<Database, SetupError> {
        let target = url::parse(&settings.url)?;
        target.check_files()?;
        let opener = Opener {
            target,
            lock_timeout: settings.lock_timeout,
            statements: Arc::default(),
            attempts: ConnectAttempts::default(),
            lost: Arc::default(),
            last_answer: LastAnswer::new(),
            open: LiveCount::default(),
            pooled: LiveCount::default(),
            guard: FileGuard::default(),
            recycle_time: settings.recycle_time,
        };
        let readers = r2d2::Pool::builder()
            .max_size(settings.max_pool_size.max(1))
            .min_idle(Some(0))
            .connection_timeout(RETRY_INTERVAL)
            .max_lifetime(None)
            .idle_timeout(Some(IDLE_TIME))
            .error_handler(Box::new(r2d2::NopErrorHandler))
            .build_unchecked(opener.clone());
        let permits = usize::try_from(readers.max_size())
            .unwrap_or(usize::MAX)
            .min(Semaphore::MAX_PERMITS);
        Ok(Database {
            opener,
            readers,
            read_permits: Arc::new(Semaphore::new(permits)),
            max_readers: Arc::new(AtomicUsize::new(permits)),
            pool_timeout: settings.pool_timeout,
            max_retries: settings.max_retries,
            retry_interval: settings.retry_interval,
        })
    }

    /// The absolute path of the file, or the server without its user and password: for messages.
    pub fn place(&self) -> String {
        self.opener.target.to_string()
    }

    /// Whether the file of an embedded database exists.
    ///
    /// # Errors
    /// [`SetupError::Missing`].
    pub fn check_exists(&self) -> Result<(), SetupError> {
        match self.opener.target.file() {
            Some(path) if !path.exists() => Err(SetupError::Missing { place: self.place() }),
            _ => Ok(()),
        }
    }

    /// Waits until the server answers, for at most `max_retries` attempts. Lets placet start before its database.
    ///
    /// # Errors
    /// The error of the last attempt, or the first error that a retry cannot mend.
    pub fn wait_until_reachable(&self) -> Result<(), SetupError> {
        let mut attempts = 1;
        loop {
            match self.connect_uncounted(OpenMode::Read) {
                Err(error) if error.is_transient() && (self.max_retries < 0 || attempts < self.max_retries) => {
                    let of = match self.max_retries {
                        ..0 => String::new(),
                        max => format!(" of {max}"),
                    };
                    log::warn!("attempt {attempts}{of}: {error}; retrying in {:?}", self.retry_interval);
                    std::thread::sleep(self.retry_interval);
                    attempts += 1;
                }
                // A missing file is no reason to wait: a sync creates it, and every further command refuses it.
                Ok(_) | Err(SetupError::Missing { .. }) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for a permit to use a connection of the pool, for at most `pool_timeout`. Blocks no thread. Permits are
    /// given in the order of the calls.
    pub async fn read_permit(&self) -> Result<ReadPermit, Error> {
        let began = Instant::now();
        let mut permit = pin!(self.read_permits.clone().acquire_owned());
        loop {
            let left = self.left(began);
            if let Ok(Ok(permit)) = timeout(left.min(RETRY_INTERVAL), &mut permit).await {
                return Ok(ReadPermit {
                    database: self.clone(),
                    began,
                    _permit: permit,
                });
            }
            self.check_wait(began, left)?;
        }
    }

    /// The maximum number of concurrent reads.
    pub fn readers(&self) -> usize {
        self.max_readers.load(Ordering::Relaxed)
    }

    /// A consistent read of the database, on a connection of the pool. Blocks the calling thread until a connection is
    /// free; callers that may be many take a `ReadPermit` first.
    pub fn read<T>(&self, read: impl Fn(&mut DbConnection) -> Result<T, Error>) -> Result<T, Error> {
        self.ask(|conn| dialect::read_transaction(conn, &read))
    }

    /// As [`Database::read`], but without a transaction. A single statement is a consistent read by itself; for several
    /// statements, `ask` begins a transaction.
    pub fn ask<T>(&self, ask: impl Fn(&mut DbConnection) -> Result<T, Error>) -> Result<T, Error> {
        self.ask_since(Instant::now(), ask)
    }

    /// Reads once more if the connection was lost without an earlier ping. So an idle connection that broke fails no
    /// request.
    fn ask_since<T>(&self, began: Instant, ask: impl Fn(&mut DbConnection) -> Result<T, Error>) -> Result<T, Error> {
        let mut reader = self.reader(began)?;
        let connection = reader.connection(&self.opener)?;
        let (result, skipped_ping) = (connection.ask(&ask), connection.skipped_ping);
        match result {
            Err(Error::Unavailable { .. }) if skipped_ping => {
                drop(reader);
                self.opener.distrust_earlier_answers();
                self.reader(began)?.connection(&self.opener)?.ask(&ask)
            }
            result => result,
        }
    }

    /// Waits for a connection of the pool while all connections are busy. Fails at once if the pool is empty and no
    /// connection can be opened.
    fn reader(&self, began: Instant) -> Result<r2d2::PooledConnection<Opener>, Error> {
        self.opener.guard.check_readable()?;
        loop {
            let left = self.left(began);
            let Ok(mut slot) = self.readers.get_timeout(left.min(RETRY_INTERVAL)) else {
                self.check_wait(began, left)?;
                continue;
            };
            if slot.is_empty()
                && let Some(returned) = self.readers.try_get().filter(|slot| !slot.is_empty())
            {
                return Ok(returned);
            }
            // The server may have no free connection, and a busy read of this process may return its connection.
            if slot.is_empty() && self.opener.pooled.value() > 0 && self.opener.attempts.is_paused() && !left.is_zero()
            {
                drop(slot);
                std::thread::sleep(RETURN_PAUSE);
                continue;
            }
            match slot.connection(&self.opener).map(drop) {
                Ok(()) => return Ok(slot),
                Err(_) if self.opener.pooled.value() > 0 && !left.is_zero() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn left(&self, began: Instant) -> Duration {
        self.pool_timeout.saturating_sub(began.elapsed())
    }

    /// Ends a wait that began at `began`, if no time is `left` or if no connection can be opened.
    fn check_wait(&self, began: Instant, left: Duration) -> Result<(), Error> {
        let failure = self.opener.attempts.failed_since(began);
        if left.is_zero() || self.opener.pooled.value() == 0 && failure.is_some() {
            let detail = failure.unwrap_or_else(|| "every connection of the pool is busy".into());
            return Err(Error::Unavailable { detail });
        }
        Ok(())
    }

    /// Opens a connection outside of the pool, which may write.
    pub fn connect(&self) -> Result<DbConnection, SetupError> {
        self.opener.open(OpenMode::Write)
    }

    /// Opens a connection outside of the pool with the given mode.
    pub(in crate::db) fn connect_to(&self, mode: OpenMode) -> Result<DbConnection, SetupError> {
        self.opener.open(mode)
    }

    /// As [`Database::connect_to`], for a connection whose statements do not count as requests' statements.
    pub(in crate::db) fn connect_uncounted(&self, mode: OpenMode) -> Result<DbConnection, SetupError> {
        self.opener.open_uncounted(mode)
    }

    /// The time since the database last answered a statement of this process, while the process ran.
    pub fn silence(&self) -> Duration {
        self.opener.last_answer.silence()
    }

    /// Shows that this process runs. Returns how long the process stood still, which is no silence of the database.
    pub fn beat(&self) -> Option<Duration> {
        self.opener.last_answer.beat()
    }

    /// Has the database answer a statement on a connection of the pool. Returns after the answer, or when the file may
    /// not be written, or when there is no connection.
    pub fn probe(&self) -> Result<(), Error> {
        self.opener.guard.check_writable()?;
        self.ask(|conn| Ok(dialect::probe(conn)?))
    }

    /// How long a statement waits for the lock of a second connection.
    pub(in crate::db) fn lock_timeout(&self) -> Duration {
        self.opener.lock_timeout
    }

    /// A test whether no connection is open, and no read is about to open a connection. The test outlives the pool.
    pub(in crate::db) fn is_unused(&self) -> impl Fn() -> bool + use<> {
        let (open, permits, max) = (
            self.opener.open.clone(),
            self.read_permits.clone(),
            self.max_readers.clone(),
        );
        move || open.value() == 0 && permits.available_permits() >= max.load(Ordering::Relaxed)
    }

    /// The guard of the embedded database's file that this process serves.
    pub(in crate::db) fn guard(&self) -> &FileGuard {
        &self.opener.guard
    }

    pub(in crate::db) fn target(&self) -> &DbTarget {
        &self.opener.target
    }

    /// The number of statements that all connections together have sent so far.
    pub fn statements(&self) -> u64 {
        self.opener.statements.load(Ordering::Relaxed)
    }
}

/// A permit to use a connection of the pool, until dropped. A request takes the permit before occupying a thread. So a
/// hanging database blocks at most one thread for each connection.
pub struct ReadPermit {
    database: Database,
    began: Instant,
    _permit: OwnedSemaphorePermit,
}

impl ReadPermit {
    /// A consistent read of the database.
    pub fn read<T>(&self, read: impl Fn(&mut DbConnection) -> Result<T, Error>) -> Result<T, Error> {
        self.ask(|conn| dialect::read_transaction(conn, &read))
    }

    /// As [`ReadPermit::read`], but without a transaction, so a single statement is one round trip. A single statement
    /// is a consistent read by itself; for several statements, `ask` begins a transaction.
    pub fn ask<T>(&self, ask: impl Fn(&mut DbConnection) -> Result<T, Error>) -> Result<T, Error> {
        self.database.ask_since(self.began, ask)
    }
}
