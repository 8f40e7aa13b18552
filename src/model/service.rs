//! The interface of the model for the layers above: reads, snapshots for searches, and commands.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::batch::command::{Answer, Command, Write};
use super::batch::decide::Rules;
use super::batch::decider::Decider;
use super::reads::provider_reads::ProviderReads;
use super::reads::reader::{in_time, on_a_thread};
use super::reads::unknown_names::Search;
use super::snapshot::comparison::{self, Compared};
use super::snapshot::follower::Follower;
use super::snapshot::store::SnapshotStore;
use super::standard;
use crate::db::engines::dialect::{self, Precision};
use crate::db::writer::queue::WriterHandle;
use crate::db::writer::{self, WriterSettings};
use crate::db::{Database, DbConnection, Replica, ServingLock, SetupError, change_feed};
use crate::error::{Error, Result};
use crate::search::Snapshot;

/// The model of one process. Clones share it.
#[derive(Clone)]
pub struct Model {
    pub(super) database: Database,
    pub(super) replica: Option<Replica>,
    live: Arc<SnapshotStore>,
    follower: Follower,
    writer: WriterHandle<Decider>,
    exclusive: bool,
    /// Whether the database compares names as the snapshot does, byte by byte.
    compares_exactly: bool,
    /// `None` on SQLite: a local read is cheaper than handing it to another thread.
    pub(super) provider_reads: Option<Arc<ProviderReads>>,
    /// How long a read waits for the database.
    pub(super) timeout: Duration,
}

/// A search, with names as the tables spell them, and a snapshot to answer it from.
pub struct Shown<S> {
    pub search: S,
    pub snapshot: Arc<Snapshot>,
    /// Its age, while the database is unreachable.
    pub stale: Option<Duration>,
}

/// Whether other processes may serve the same database.
pub enum Serving {
    /// No other process, for as long as the lock on the file is held: no change feed is read.
    Exclusive { _lock: ServingLock },
    /// Any number of processes: the change feed is read before anything is answered from the snapshot.
    Shared,
}

impl From<Option<ServingLock>> for Serving {
    fn from(lock: Option<ServingLock>) -> Serving {
        lock.map_or(Serving::Shared, |lock| Serving::Exclusive { _lock: lock })
    }
}

/// The writer's thread, to join when the service ends.
pub struct Running {
    thread: JoinHandle<()>,
    /// Held until the service ends.
    _serving: Serving,
}

impl Running {
    /// Waits until the writer has executed its queue. Every `Model` must be dropped before, or this never returns.
    pub fn finish(self) {
        if self.thread.join().is_err() {
            log::error!("The writer ended in a panic; what it had acknowledged is committed");
        }
    }
}

impl Model {
    /// Makes the standard classes and traits, loads the snapshot, and starts the writer and the follower.
    pub fn start(
        database: Database,
        settings: &WriterSettings,
        rules: Rules,
        serving: Serving,
    ) -> std::result::Result<(Model, Running), SetupError> {
        standard::sync(&mut database.connect()?)?;
        let exclusive = matches!(serving, Serving::Exclusive { .. });
        let (read, timeout) = (database.clone(), settings.commit_timeout);
        let (writer, (live, follower, compares_exactly), thread) =
            writer::start(database.clone(), settings, move |conn| {
                let compares_exactly = dialect::compares_exactly(conn);
                let live = Arc::new(SnapshotStore::load(conn)?);
                let follower = Follower::start(read, live.clone(), timeout)?;
                let decider = Decider::new(live.clone(), follower.clone(), exclusive, rules, Precision::of(conn));
                Ok((decider, (live, follower, compares_exactly)))
            })?;
        let provider_reads = if exclusive {
            None
        } else {
            Some(Arc::new(ProviderReads::start(&database, live.clone())?))
        };
        let model = Model {
            database,
            replica: None,
            live,
            follower,
            writer,
            exclusive,
            compares_exactly,
            provider_reads,
            timeout,
        };
        let running = Running {
            thread,
            _serving: serving,
        };
        Ok((model, running))
    }

    /// As `submit`, of any command.
    pub(super) async fn send(&self, command: Command) -> Result<Answer> {
        self.writer.submit(command).await
    }

    /// Executes a command: returns when it is committed or refused.
    pub async fn submit<C: Write>(&self, command: C) -> Result<C::Answer> {
        let answer = self.send(command.into_command()).await?;
        C::typed(answer).ok_or_else(|| Error::Internal {
            detail: "the writer answered another command than it was given".into(),
        })
    }

    /// Reads with a single statement.
    pub async fn ask<T: Send + 'static>(
        &self,
        ask: impl Fn(&mut DbConnection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        in_time(
            self.timeout,
            on_a_thread(&self.database, move |permit| permit.ask(&ask)),
        )
        .await
    }

    /// A snapshot that shows every change acknowledged before the call, by any process.
    pub async fn snapshot(&self) -> Result<Arc<Snapshot>> {
        if self.exclusive && !self.live.is_invalid() {
            return Ok(self.live.newest());
        }
        self.follower.fresh().await
    }

    /// As `snapshot`, for a search with names: those that the snapshot does not have are looked up in the tables. While the
    /// database is unreachable, a snapshot of at most the age `stale` is used.
    pub async fn shown<S: Search>(&self, mut search: S, stale: Duration) -> Result<Shown<S>> {
        let (snapshot, stale) = self.fresh_or_stale(stale).await?;
        let unknown = search.names().unknown_to(&snapshot, self.compares_exactly);
        if unknown.is_empty() {
            return Ok(Shown {
                search,
                snapshot,
                stale,
            });
        }
        if stale.is_some() {
            return Err(Error::Unavailable {
                detail: "names that are not known cannot be looked up".to_owned(),
            });
        }
        let (database, live) = (self.database.clone(), self.live.clone());
        let look_up = on_a_thread(&self.database, move |permit| {
            let stored = permit.read(|conn| Ok(unknown.look_up(conn, snapshot.catalog())?))?;
            if stored.any_is_foreign {
                live.check(&mut change_feed::connect(&database)?, &BTreeSet::new(), true)?;
            }
            search.respell(&stored);
            Ok(Shown {
                search,
                snapshot: live.newest(),
                stale: None,
            })
        });
        in_time(self.timeout, look_up).await
    }

    /// A fresh snapshot, or one of at most the age `stale`, with that age.
    async fn fresh_or_stale(&self, stale: Duration) -> Result<(Arc<Snapshot>, Option<Duration>)> {
        let error = match self.snapshot().await {
            Ok(snapshot) => return Ok((snapshot, None)),
            Err(error) => error,
        };
        let age = self.follower.age();
        // An invalid snapshot may lack what was acknowledged long ago.
        if !matches!(error, Error::Unavailable { .. }) || age > stale || self.live.is_invalid() {
            return Err(error);
        }
        Ok((self.live.newest(), Some(age)))
    }

    /// Compares up to `many` providers with ids above `after` with the tables, and corrects the snapshot. Blocks until done.
    pub fn compare(&self, after: i32, many: usize) -> Result<Compared> {
        let mut conn = change_feed::connect(&self.database)?;
        Ok(comparison::compare(&self.live, &mut conn, after, many)?)
    }

    /// How many providers the snapshot shows.
    pub fn providers(&self) -> usize {
        self.live.newest().len()
    }

    /// The maximum number of threads that wait for the database or its replica, for requests.
    pub fn waiting_threads(&self) -> usize {
        let copy = self.replica.as_ref().map_or(0, Replica::readers);
        self.database.readers().saturating_add(copy)
    }

    /// How many SQL statements this process has sent.
    #[cfg(test)]
    pub fn statements(&self) -> u64 {
        self.database.statements()
    }
}
