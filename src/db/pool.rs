//! The configured database, and how its connections are had: readers from a pool, each writer its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use diesel::Connection;
use diesel::connection::InstrumentationEvent;
use diesel::r2d2::R2D2Connection;

use super::dialect::{self, Purpose};
use super::url::{self, Target};
use super::{DbConnection, SetupError};
use crate::error::Error;

/// How to reach the database.
#[derive(Debug, Clone)]
pub struct Settings {
    /// As SQLAlchemy spells it.
    pub url: String,
    /// The most readers at once.
    pub max_pool_size: u32,
    /// How long a request waits for a reader.
    pub pool_timeout: Duration,
    /// How long a statement waits for the lock of another connection.
    pub lock_timeout: Duration,
    /// How old a reader's connection gets before it is made anew.
    pub recycle_time: Duration,
    /// How often a server that does not answer is tried when placet starts; -1: for ever.
    pub max_retries: i64,
    /// How long it waits between two tries.
    pub retry_interval: Duration,
}

impl Settings {
    /// The database at `url`, with everything else as it is by default.
    pub fn new(url: impl Into<String>) -> Self {
        Settings {
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

/// The database that the configuration names. Clones share one pool.
#[derive(Clone)]
pub struct Database {
    opener: Opener,
    readers: r2d2::Pool<Opener>,
    max_retries: i64,
    retry_interval: Duration,
}

impl Database {
    /// Reads the URL. Nothing is connected yet, and nothing is made.
    pub fn open(settings: &Settings) -> Result<Database, SetupError> {
        let opener = Opener {
            target: url::parse(&settings.url)?,
            lock_timeout: settings.lock_timeout,
            statements: Arc::default(),
        };
        let readers = r2d2::Pool::builder()
            .max_size(settings.max_pool_size.max(1))
            .min_idle(Some(0))
            .connection_timeout(settings.pool_timeout)
            .max_lifetime(Some(settings.recycle_time))
            .build_unchecked(opener.clone());
        Ok(Database {
            opener,
            readers,
            max_retries: settings.max_retries,
            retry_interval: settings.retry_interval,
        })
    }

    /// Waits until the server answers, as long as it is worth waiting: for whoever starts when it does.
    pub fn reach(&self) -> Result<(), SetupError> {
        let mut tried = 1;
        loop {
            match self.connect_to(Purpose::Read) {
                Err(error) if error.may_pass() && (self.max_retries < 0 || tried < self.max_retries) => {
                    log::warn!("{error}; it is tried again in {:?}", self.retry_interval);
                    std::thread::sleep(self.retry_interval);
                    tried += 1;
                }
                // A file that is not there is made, or refused, by whoever needs it.
                Ok(_) | Err(SetupError::Missing { .. }) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads in one moment of the database, on a connection of the pool.
    pub fn read<T>(&self, read: impl FnOnce(&mut DbConnection) -> Result<T, Error>) -> Result<T, Error> {
        let mut conn = self.readers.get().map_err(|error| Error::Unavailable {
            detail: error.to_string(),
        })?;
        dialect::read_transaction(&mut conn, read)
    }

    /// A connection of one's own, which may write.
    pub fn connect(&self) -> Result<DbConnection, SetupError> {
        self.opener.open(Purpose::Write)
    }

    /// As `connect`, but for another purpose.
    pub(super) fn connect_to(&self, purpose: Purpose) -> Result<DbConnection, SetupError> {
        self.opener.open(purpose)
    }

    /// How long a statement waits for the lock of another connection.
    pub(super) fn lock_timeout(&self) -> Duration {
        self.opener.lock_timeout
    }

    /// Where it is.
    pub(super) fn target(&self) -> &Target {
        &self.opener.target
    }

    /// How many statements were sent so far, by all connections together.
    pub fn statements(&self) -> u64 {
        self.opener.statements.load(Ordering::Relaxed)
    }
}

/// Opens connections, for the pool and beside it.
#[derive(Debug, Clone)]
struct Opener {
    target: Target,
    lock_timeout: Duration,
    statements: Arc<AtomicU64>,
}

impl Opener {
    fn open(&self, purpose: Purpose) -> Result<DbConnection, SetupError> {
        let mut conn = dialect::connect(&self.target, purpose, self.lock_timeout)?;
        let statements = self.statements.clone();
        conn.set_instrumentation(move |event: InstrumentationEvent<'_>| {
            if let InstrumentationEvent::StartQuery { query, .. } = event {
                statements.fetch_add(1, Ordering::Relaxed);
                log::trace!("{query}");
            }
        });
        Ok(conn)
    }
}

impl r2d2::ManageConnection for Opener {
    type Connection = DbConnection;
    type Error = SetupError;

    fn connect(&self) -> Result<DbConnection, SetupError> {
        self.open(Purpose::Read)
    }

    fn is_valid(&self, conn: &mut DbConnection) -> Result<(), SetupError> {
        match dialect::is_alive(conn) {
            true => Ok(()),
            false => Err(SetupError::Connect {
                place: "the pool".to_string(),
                detail: "connection lost".to_string(),
            }),
        }
    }

    fn has_broken(&self, conn: &mut DbConnection) -> bool {
        std::thread::panicking() || conn.is_broken()
    }
}
