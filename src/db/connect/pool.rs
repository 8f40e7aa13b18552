//! The configured database, and how its connections are had: readers from a pool, each writer its own.

#[cfg(test)]
mod tests;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use diesel::Connection;
use diesel::connection::InstrumentationEvent;
use diesel::r2d2::R2D2Connection;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::url::{self, Target};
use crate::db::engines::dialect::{self, Purpose};
use crate::db::{DbConnection, SetupError};
use crate::error::Error;

/// How long the pool waits at most before it tries again to make a connection, and a read that waits for one before it
/// looks whether any can be made.
const RETRY: Duration = Duration::from_millis(500);

/// How long a connection that answered is taken to be alive. Where it is not, whoever reads asks once more, on another one.
const TRUSTED: Duration = Duration::from_secs(1);

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
    /// As many as there may be readers.
    turns: Arc<Semaphore>,
    pool_timeout: Duration,
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
            failed: Arc::default(),
            lost: Arc::default(),
            recycle_time: settings.recycle_time,
        };
        let readers = r2d2::Pool::builder()
            .max_size(settings.max_pool_size.max(1))
            .min_idle(Some(0))
            .connection_timeout(RETRY)
            .max_lifetime(None)
            .error_handler(Box::new(r2d2::NopErrorHandler))
            .build_unchecked(opener.clone());
        let turns = usize::try_from(readers.max_size()).unwrap_or(usize::MAX);
        Ok(Database {
            opener,
            readers,
            turns: Arc::new(Semaphore::new(turns.min(Semaphore::MAX_PERMITS))),
            pool_timeout: settings.pool_timeout,
            max_retries: settings.max_retries,
            retry_interval: settings.retry_interval,
        })
    }

    /// Waits until the server answers, as long as it is worth waiting: for whoever starts when it does.
    pub fn reach(&self) -> Result<(), SetupError> {
        let mut tried = 1;
        loop {
            match self.connect_to(Purpose::Read) {
                Err(error) if error.is_transient() && (self.max_retries < 0 || tried < self.max_retries) => {
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

    /// Waits, without a thread, until there is a connection for whoever asks, in the order in which they ask; for no
    /// longer than `pool_timeout`.
    pub async fn read_permit(&self) -> Result<ReadPermit, Error> {
        let began = Instant::now();
        let mut permit = pin!(self.turns.clone().acquire_owned());
        loop {
            let left = self.left(began);
            if let Ok(Ok(permit)) = timeout(left.min(RETRY), &mut permit).await {
                return Ok(ReadPermit {
                    database: self.clone(),
                    began,
                    _permit: permit,
                });
            }
            self.is_worth_waiting(began, left, "others keep every connection busy")?;
        }
    }

    /// How many may read at once.
    pub fn readers(&self) -> usize {
        usize::try_from(self.readers.max_size()).unwrap_or(usize::MAX)
    }

    /// Reads in one moment of the database, on a connection of the pool, which the calling thread waits for. Where many
    /// may wait, each takes its [`ReadPermit`] first.
    pub fn read<T>(&self, read: impl Fn(&mut DbConnection) -> Result<T, Error>) -> Result<T, Error> {
        self.ask(|conn| dialect::read_transaction(conn, &read))
    }

    /// The same by one statement at most, which is one moment by itself.
    pub fn ask<T>(&self, ask: impl Fn(&mut DbConnection) -> Result<T, Error>) -> Result<T, Error> {
        self.ask_since(Instant::now(), ask)
    }

    /// A connection that answered a moment ago is not asked whether it still does. Where it went since, and the database did
    /// not, nobody is to notice.
    fn ask_since<T>(&self, began: Instant, ask: impl Fn(&mut DbConnection) -> Result<T, Error>) -> Result<T, Error> {
        let mut reader = self.reader(began)?;
        let answered = reader.ask(&ask);
        match answered {
            Err(Error::Unavailable { .. }) if reader.is_trusted_only => {
                drop(reader);
                self.opener.trust_nothing_older();
                self.reader(began)?.ask(&ask)
            }
            answered => answered,
        }
    }

    /// A connection of the pool. Where all are busy one is waited for; where there is none, and none can be made, whoever
    /// asks is told so at once.
    fn reader(&self, began: Instant) -> Result<r2d2::PooledConnection<Opener>, Error> {
        loop {
            let left = self.left(began);
            match self.readers.get_timeout(left.min(RETRY)) {
                Ok(conn) => return Ok(conn),
                Err(error) => self.is_worth_waiting(began, left, &error.to_string())?,
            }
        }
    }

    fn left(&self, began: Instant) -> Duration {
        self.pool_timeout.saturating_sub(began.elapsed())
    }

    /// Refuses whoever began to wait at that moment, if nothing is `left` of the time or no connection can be had.
    fn is_worth_waiting(&self, began: Instant, left: Duration, why: &str) -> Result<(), Error> {
        let failure = self.opener.failed_since(began);
        if left.is_zero() || self.readers.state().connections == 0 && failure.is_some() {
            let detail = failure.unwrap_or_else(|| why.to_owned());
            return Err(Error::Unavailable { detail });
        }
        Ok(())
    }

    /// A connection of one's own, which may write.
    pub fn connect(&self) -> Result<DbConnection, SetupError> {
        self.opener.open(Purpose::Write)
    }

    /// As `connect`, but for another purpose.
    pub(in crate::db) fn connect_to(&self, purpose: Purpose) -> Result<DbConnection, SetupError> {
        self.opener.open(purpose)
    }

    /// How long a statement waits for the lock of another connection.
    pub(in crate::db) fn lock_timeout(&self) -> Duration {
        self.opener.lock_timeout
    }

    /// Where it is.
    pub(in crate::db) fn target(&self) -> &Target {
        &self.opener.target
    }

    /// How many statements were sent so far, by all connections together.
    pub fn statements(&self) -> u64 {
        self.opener.statements.load(Ordering::Relaxed)
    }
}

/// The right to have one of the pool's connections, for as long as it is kept. Whoever takes it before a thread that may
/// wait keeps no more threads waiting than there are connections, however long the database stands still.
pub struct ReadPermit {
    database: Database,
    began: Instant,
    _permit: OwnedSemaphorePermit,
}

impl ReadPermit {
    /// Reads in one moment of the database.
    pub fn read<T>(&self, read: impl Fn(&mut DbConnection) -> Result<T, Error>) -> Result<T, Error> {
        self.ask(|conn| dialect::read_transaction(conn, &read))
    }

    /// Reads by one statement at most, which is one moment by itself: the way to the server is taken once.
    pub fn ask<T>(&self, ask: impl Fn(&mut DbConnection) -> Result<T, Error>) -> Result<T, Error> {
        self.database.ask_since(self.began, ask)
    }
}

/// Opens connections, for the pool and beside it.
#[derive(Debug, Clone)]
struct Opener {
    target: Target,
    lock_timeout: Duration,
    recycle_time: Duration,
    statements: Arc<AtomicU64>,
    /// When the pool last failed to make a connection, and why.
    failed: Arc<Mutex<Option<(Instant, String)>>>,
    /// When a connection was last found to have gone: what others answered before says nothing.
    lost: Arc<Mutex<Option<Instant>>>,
}

/// A connection of the pool.
struct Reader {
    conn: DbConnection,
    born: Instant,
    /// Whether it was handed out before: one that was not is new, whatever the clock says.
    used: bool,
    /// When it last answered well; `None` where it is to be asked first whether it does.
    answered: Option<Instant>,
    /// Whether the database failed: what was prepared before may never be answered again (docs/internals/engines.md).
    failed: bool,
    /// Whether nobody asked it now.
    is_trusted_only: bool,
}

impl Reader {
    fn ask<T>(&mut self, ask: impl Fn(&mut DbConnection) -> Result<T, Error>) -> Result<T, Error> {
        self.answered = None;
        let answered = ask(&mut self.conn);
        self.answered = answered.is_ok().then(Instant::now);
        self.failed = matches!(answered, Err(Error::Unavailable { .. } | Error::Internal { .. }));
        answered
    }
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

    fn trust_nothing_older(&self) {
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether a connection that answered at that moment is taken to be alive.
    fn trusts(&self, answered: Instant) -> bool {
        let lost = *self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        answered.elapsed() < TRUSTED && lost.is_none_or(|lost| lost < answered)
    }

    fn failed_since(&self, moment: Instant) -> Option<String> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed
            .as_ref()
            .filter(|(when, _)| *when >= moment)
            .map(|(_, why)| why.clone())
    }
}

impl r2d2::ManageConnection for Opener {
    type Connection = Reader;
    type Error = SetupError;

    fn connect(&self) -> Result<Reader, SetupError> {
        let opened = self.open(Purpose::Read).inspect_err(|error| {
            log::debug!("A reader's connection could not be made: {error}");
            let failed = Some((Instant::now(), error.to_string()));
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = failed;
        });
        Ok(Reader {
            conn: opened?,
            born: Instant::now(),
            used: false,
            answered: None,
            failed: false,
            is_trusted_only: false,
        })
    }

    /// The pool asks this whenever it hands one out, so that none is used that is older than it may be, or gone.
    fn is_valid(&self, reader: &mut Reader) -> Result<(), SetupError> {
        let gone = |detail: &str| {
            Err(SetupError::Connect {
                place: "the pool".to_string(),
                detail: detail.to_string(),
            })
        };
        if std::mem::replace(&mut reader.used, true) && reader.born.elapsed() > self.recycle_time {
            return gone("connection too old");
        }
        reader.is_trusted_only = reader.answered.is_some_and(|moment| self.trusts(moment));
        match reader.is_trusted_only || dialect::is_alive(&mut reader.conn) {
            true => Ok(()),
            false => gone("connection lost"),
        }
    }

    fn has_broken(&self, reader: &mut Reader) -> bool {
        std::thread::panicking() || reader.failed || reader.conn.is_broken()
    }
}
