//! The follower: a thread that reads the change feed for all requests that wait at the same time (coalescing).
//!
//! A request is answered from a query that was sent after the request came, never from one in flight: that one may have
//! been sent before another process acknowledged a write.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::store::SnapshotStore;
use crate::db::{Database, DbConnection, Fault, SetupError, change_feed, fault, thread};
use crate::error::{Error, Result};
use crate::mutants::{self, Mutant};
use crate::search::Snapshot;

/// The pause before the thread tries again to reload an invalid snapshot for which no request waits.
const PAUSE: Duration = Duration::from_millis(20);

type Reply = oneshot::Sender<Result<Arc<Snapshot>>>;

/// A handle of the thread. It ends when the last clone is dropped.
#[derive(Clone)]
pub struct Follower {
    /// `None` only wakes it.
    queue: Sender<Option<Reply>>,
    timeout: Duration,
    /// When the last answered query was sent.
    asked: Arc<Mutex<Instant>>,
}

impl Follower {
    /// Starts the thread. `timeout`: how long a request waits for the database at most.
    pub fn start(
        database: Database,
        live: Arc<SnapshotStore>,
        timeout: Duration,
    ) -> std::result::Result<Follower, SetupError> {
        let (queue, wishes) = channel();
        let asked = Arc::new(Mutex::new(Instant::now()));
        let mut follower = Thread {
            database,
            live,
            conn: None,
            asked: asked.clone(),
        };
        thread::spawn("placet-follower", move || follower.work(&wishes))?;
        Ok(Follower { queue, timeout, asked })
    }

    /// A snapshot that shows everything that was committed before this is called.
    pub async fn fresh(&self) -> Result<Arc<Snapshot>> {
        let (reply, answer) = oneshot::channel();
        let stopped = || Error::Unavailable {
            detail: "it is shutting down".to_owned(),
        };
        self.queue.send(Some(reply)).map_err(|_| stopped())?;
        match tokio::time::timeout(self.timeout, answer).await {
            Ok(answer) => answer.unwrap_or_else(|_| Err(stopped())),
            Err(_) => Err(Error::Unavailable {
                detail: "it did not say in time what others changed".to_owned(),
            }),
        }
    }

    /// How long ago the snapshot was known to show everything.
    pub fn age(&self) -> Duration {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Starts a reload of an invalid snapshot, and does not wait for it.
    pub fn wake(&self) {
        if self.queue.send(None).is_err() {
            log::debug!("The follower has ended: the snapshot is not reloaded");
        }
    }
}

/// Requests that came after the query was sent. A mutant answers them from it too.
fn come_in_flight(wishes: &Receiver<Option<Reply>>) -> impl Iterator<Item = Reply> {
    std::thread::sleep(5 * PAUSE);
    wishes.try_iter().flatten()
}

struct Thread {
    database: Database,
    live: Arc<SnapshotStore>,
    /// `None` until it is needed, and after it failed.
    conn: Option<DbConnection>,
    asked: Arc<Mutex<Instant>>,
}

impl Thread {
    fn work(&mut self, wishes: &Receiver<Option<Reply>>) {
        loop {
            let first = match wishes.recv_timeout(if self.live.is_invalid() { PAUSE } else { Duration::MAX }) {
                Ok(wish) => wish,
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let waiting: Vec<Reply> = std::iter::once(first).chain(wishes.try_iter()).flatten().collect();
            if waiting.is_empty() && !self.live.is_invalid() {
                continue;
            }
            let found = self.follow();
            let late = mutants::is(Mutant::ShareInFlight).then(|| come_in_flight(wishes));
            for reply in waiting.into_iter().chain(late.into_iter().flatten()) {
                if reply.send(found.clone()).is_err() {
                    log::debug!("The client was gone before the answer was ready");
                }
            }
        }
    }

    /// Reads the feed, and catches a panic: it must not end the thread.
    fn follow(&mut self) -> Result<Arc<Snapshot>> {
        let sent = Instant::now();
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.try_to_follow()));
        let found = found.unwrap_or_else(|_| {
            Err(Error::Internal {
                detail: "Following other processes met a defect of placet.".into(),
            })
        });
        match &found {
            Ok(_) => *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = sent,
            Err(error) => {
                log::debug!("The change feed could not be read: {error}");
                self.conn = None;
            }
        }
        found
    }

    /// Tries once more if a connection broke since it was last used: the database may have come back since.
    fn try_to_follow(&mut self) -> Result<Arc<Snapshot>> {
        if let Some(conn) = self.conn.as_mut() {
            match self.live.follow(conn) {
                Err(error) if fault::classify(&error) == Fault::ConnectionLost => {
                    log::debug!("The change feed is read again on a new connection: {error}");
                }
                found => return Ok(found?),
            }
        }
        let conn = self.conn.insert(change_feed::connect(&self.database)?);
        Ok(self.live.follow(conn)?)
    }
}
