//! The thread that asks the database what other processes committed, for all requests that wait together.
//!
//! A request is answered by a query that was sent after it came, never by one in flight: that one may have been sent
//! before somebody's write was acknowledged.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::live::Live;
use crate::db::{Database, DbConnection, Fault, SetupError, fault, followed, thread};
use crate::error::{Error, Result};
use crate::mutants::{self, Mutant};
use crate::search::Snapshot;

/// How long the thread waits before it tries again to mend a snapshot that nobody asked for meanwhile.
const PAUSE: Duration = Duration::from_millis(20);

type Reply = oneshot::Sender<Result<Arc<Snapshot>>>;

/// The way to the thread. Clones share it; when the last one is gone the thread ends.
#[derive(Clone)]
pub struct Follower {
    /// `None` only wakes it.
    queue: Sender<Option<Reply>>,
    patience: Duration,
    /// When the last query that was answered was sent.
    asked: Arc<Mutex<Instant>>,
}

impl Follower {
    /// Starts the thread. `patience`: how long a request waits for the database at most.
    pub fn start(database: Database, live: Arc<Live>, patience: Duration) -> std::result::Result<Follower, SetupError> {
        let (queue, wishes) = channel();
        let asked = Arc::new(Mutex::new(Instant::now()));
        let mut follower = Thread {
            database,
            live,
            conn: None,
            asked: asked.clone(),
        };
        thread::spawn("placet-follower", move || follower.work(&wishes))?;
        Ok(Follower { queue, patience, asked })
    }

    /// A snapshot that shows everything that was committed before this is called.
    pub async fn fresh(&self) -> Result<Arc<Snapshot>> {
        let (reply, answer) = oneshot::channel();
        let stopped = || Error::Unavailable {
            detail: "it is shutting down".to_owned(),
        };
        self.queue.send(Some(reply)).map_err(|_| stopped())?;
        match tokio::time::timeout(self.patience, answer).await {
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

    /// Has a doubtful snapshot mended, without waiting for it.
    pub fn wake(&self) {
        if self.queue.send(None).is_err() {
            log::debug!("Nobody is left to read the snapshot again");
        }
    }
}

/// Requests that came after the query was sent, as they do with a slow database: a mutant answers them by it too.
fn come_in_flight(wishes: &Receiver<Option<Reply>>) -> impl Iterator<Item = Reply> {
    std::thread::sleep(5 * PAUSE);
    wishes.try_iter().flatten()
}

struct Thread {
    database: Database,
    live: Arc<Live>,
    /// `None` until it is needed, and after it failed.
    conn: Option<DbConnection>,
    asked: Arc<Mutex<Instant>>,
}

impl Thread {
    fn work(&mut self, wishes: &Receiver<Option<Reply>>) {
        loop {
            let first = match wishes.recv_timeout(if self.live.is_doubtful() { PAUSE } else { Duration::MAX }) {
                Ok(wish) => wish,
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let waiting: Vec<Reply> = std::iter::once(first).chain(wishes.try_iter()).flatten().collect();
            if waiting.is_empty() && !self.live.is_doubtful() {
                continue;
            }
            let found = self.follow();
            let late = mutants::is(Mutant::ShareInFlight).then(|| come_in_flight(wishes));
            for reply in waiting.into_iter().chain(late.into_iter().flatten()) {
                if reply.send(found.clone()).is_err() {
                    log::debug!("A client went away before it was answered");
                }
            }
        }
    }

    /// Follows, and contains what a defect does: a panic must not end the thread.
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
                log::debug!("What others changed could not be read: {error}");
                self.conn = None;
            }
        }
        found
    }

    /// Tries once more where a connection broke since it was last used: the database may be there again long since.
    fn try_to_follow(&mut self) -> Result<Arc<Snapshot>> {
        if let Some(conn) = self.conn.as_mut() {
            match self.live.follow(conn) {
                Err(error) if fault::classify(&error) == Fault::Lost => {
                    log::debug!("What others changed is asked again, on a new connection: {error}");
                }
                found => return Ok(found?),
            }
        }
        let conn = self.conn.insert(followed::connect(&self.database)?);
        Ok(self.live.follow(conn)?)
    }
}
