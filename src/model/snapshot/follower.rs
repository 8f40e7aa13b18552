//! The follower: a thread that reads the change feed for all requests that wait at the same time (coalescing). The
//! thread also reloads an invalid snapshot while no request waits.
//!
//! A request is answered from a query that was sent after the request arrived. A query in flight is too old: a process
//! may have acknowledged a write after the query was sent.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::store::SnapshotStore;
use crate::db::boot_instant::BootInstant;
use crate::db::{Database, DbConnection, Fault, SetupError, change_feed, fault, thread};
use crate::error::{Error, Result};
use crate::mutants::{self, Mutant};
use crate::search::Snapshot;

/// The time between attempts to reload an invalid snapshot while no request waits for the reload.
const RELOAD_RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The time after which the change feed is read without a request. Changes are kept for far longer
/// (`db::change_feed::pruning`), so a process without requests lacks none.
const IDLE_FOLLOW_INTERVAL: Duration = Duration::from_secs(60);

/// The pause after a reload because of foreign commits, as a multiple of the reload's duration. So a foreign writer
/// with many commits does not keep the thread busy.
const FOREIGN_RELOAD_PAUSE_FACTOR: u32 = 9;

type SnapshotReply = oneshot::Sender<Result<Arc<Snapshot>>>;

/// A handle of the thread, which ends when the last clone is dropped.
#[derive(Clone)]
pub struct Follower {
    /// `None` wakes the thread without a request.
    queue: Sender<Option<SnapshotReply>>,
    timeout: Duration,
    /// When the last successful query was sent. Before the first query: when the thread was started.
    last_query: Arc<Mutex<BootInstant>>,
}

impl Follower {
    /// Starts the thread. `exclusive`: no other process writes, so there is nothing to follow without a request.
    /// `timeout`: the longest time for which a request waits for the database.
    pub fn start(
        database: Database,
        store: Arc<SnapshotStore>,
        exclusive: bool,
        timeout: Duration,
    ) -> std::result::Result<Follower, SetupError> {
        let (queue, requests) = channel();
        let last_query = Arc::new(Mutex::new(BootInstant::now()));
        let mut thread = FollowerThread {
            database,
            store,
            exclusive,
            conn: None,
            was_connected: false,
            foreign_reload_due: Instant::now(),
            last_query: last_query.clone(),
        };
        thread::spawn("placet-follower", move || thread.work(&requests))?;
        Ok(Follower {
            queue,
            timeout,
            last_query,
        })
    }

    /// A snapshot that shows everything committed before the call.
    pub async fn fresh(&self) -> Result<Arc<Snapshot>> {
        let (reply, answer) = oneshot::channel();
        self.queue.send(Some(reply)).map_err(|_| stopped())?;
        match tokio::time::timeout(self.timeout, answer).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(stopped())),
            Err(_) => Err(Error::Unavailable {
                detail: "it did not say in time what other processes changed".into(),
            }),
        }
    }

    /// As [`Self::fresh`], for a thread that may block, without a limit.
    pub fn fresh_blocking(&self) -> Result<Arc<Snapshot>> {
        let (reply, answer) = oneshot::channel();
        self.queue.send(Some(reply)).map_err(|_| stopped())?;
        answer.blocking_recv().unwrap_or_else(|_| Err(stopped()))
    }

    /// The largest possible age of the snapshot: the time since the last successful query was sent. The writer may have
    /// published newer commits of its own.
    pub fn age(&self) -> Duration {
        self.last_query.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Starts a reload of an invalid snapshot, and does not wait for the end of the reload.
    pub fn wake(&self) {
        if self.queue.send(None).is_err() {
            log::debug!("Shutting down: the snapshot is not reloaded");
        }
    }
}

fn stopped() -> Error {
    Error::Unavailable {
        detail: "placet is shutting down".into(),
    }
}

/// For a mutant, which answers later requests from an earlier query. Waits for a while after the query, and returns the
/// requests that arrived since the query was sent.
fn arrived_in_flight(requests: &Receiver<Option<SnapshotReply>>) -> impl Iterator<Item = SnapshotReply> {
    const MUTANT_DELAY: Duration = Duration::from_millis(100);
    std::thread::sleep(MUTANT_DELAY);
    requests.try_iter().flatten()
}

struct FollowerThread {
    database: Database,
    store: Arc<SnapshotStore>,
    exclusive: bool,
    /// `None` before the first query, and after an error.
    conn: Option<DbConnection>,
    /// Whether there was a connection before.
    was_connected: bool,
    /// When everything may be read again because of foreign commits.
    foreign_reload_due: Instant,
    /// When the last successful query was sent.
    last_query: Arc<Mutex<BootInstant>>,
}

impl FollowerThread {
    fn work(&mut self, requests: &Receiver<Option<SnapshotReply>>) {
        loop {
            let (first, is_due) = match requests.recv_timeout(self.idle_time()) {
                Ok(request) => (request, false),
                Err(RecvTimeoutError::Timeout) => (None, true),
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let waiting: Vec<SnapshotReply> = std::iter::once(first).chain(requests.try_iter()).flatten().collect();
            if waiting.is_empty() && !is_due && !self.store.is_invalid() {
                continue;
            }
            let result = self.follow();
            let in_flight = mutants::is(Mutant::ShareInFlight).then(|| arrived_in_flight(requests));
            for reply in waiting.into_iter().chain(in_flight.into_iter().flatten()) {
                if reply.send(result.clone()).is_err() {
                    log::debug!("The client was gone before the answer was ready");
                }
            }
            if self.store.has_foreign_commits() && self.foreign_reload_due <= Instant::now() {
                self.reload_foreign_commits();
            }
        }
    }

    /// Reads everything while the snapshot stays in use.
    fn reload_foreign_commits(&mut self) {
        let began = Instant::now();
        let reloaded = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match self.conn.as_mut() {
            Some(conn) => self.store.reload_everything(conn),
            // The change feed could not be read either.
            None => Ok(()),
        }));
        if !matches!(reloaded, Ok(Ok(()))) {
            log::debug!("The snapshot could not be reloaded after a foreign commit; this is tried again");
            self.conn = None;
        }
        let pause = began.elapsed().max(RELOAD_RETRY_INTERVAL) * FOREIGN_RELOAD_PAUSE_FACTOR;
        self.foreign_reload_due = Instant::now() + pause;
    }

    /// How long to wait for a request before the feed is read without a request.
    fn idle_time(&self) -> Duration {
        if self.store.is_invalid() {
            RELOAD_RETRY_INTERVAL
        } else if self.store.has_foreign_commits() {
            self.foreign_reload_due.saturating_duration_since(Instant::now())
        } else if self.exclusive {
            Duration::MAX
        } else {
            IDLE_FOLLOW_INTERVAL
        }
    }

    /// Reads the feed, and catches a panic, which must not end the thread.
    fn follow(&mut self) -> Result<Arc<Snapshot>> {
        let sent = BootInstant::now();
        let began = Instant::now();
        let followed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.follow_or_reconnect()));
        let result = followed.unwrap_or_else(|_| {
            Err(Error::Internal {
                detail: "Following other processes met a defect of placet.".into(),
            })
        });
        match &result {
            Ok(_) => {
                self.store.statistics().refreshes.record_time(began.elapsed());
                *self.last_query.lock().unwrap_or_else(PoisonError::into_inner) = sent
            }
            Err(error) => {
                log::debug!("The change feed could not be read: {}", error.for_log());
                self.conn = None;
            }
        }
        result
    }

    /// Reads the feed. If the connection broke, reads once more on a new connection: the database may have come back
    /// since.
    fn follow_or_reconnect(&mut self) -> Result<Arc<Snapshot>> {
        if let Some(conn) = self.conn.as_mut() {
            match self.store.follow(conn) {
                Err(error) if fault::classify(&error) == Fault::ConnectionLost => {
                    log::debug!("The change feed is read again on a new connection: {error}");
                }
                result => return Ok(result?),
            }
        }
        let conn = self.conn.insert(change_feed::connect(&self.database)?);
        if std::mem::replace(&mut self.was_connected, true) {
            self.store.revalidate(conn)?;
        }
        Ok(self.store.follow(conn)?)
    }
}
