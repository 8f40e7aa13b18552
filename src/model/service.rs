//! What the rooms above see: one value to read from, to search in, and to send commands to.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::batch::Decider;
use super::command::{Answer, Command, Write};
use super::comparison::{self, Compared};
use super::decide::Rules;
use super::follower::Follower;
use super::live::Live;
use super::naming::Names;
use super::of_provider::Together;
use super::reader::{in_time, on_a_thread};
use super::standard;
use crate::db::dialect::Precision;
use crate::db::queue::WriterHandle;
use crate::db::writer::{self, WriterSettings};
use crate::db::{Database, DbConnection, Replica, ServingLock, SetupError, followed};
use crate::error::{Error, Result};
use crate::search::Snapshot;

/// The model of one process. Clones share it.
#[derive(Clone)]
pub struct Model {
    pub(super) database: Database,
    pub(super) replica: Option<Replica>,
    live: Arc<Live>,
    follower: Follower,
    writer: WriterHandle<Decider>,
    alone: bool,
    /// Not where this process is alone: an embedded database answers each request in less time than one thread tells another.
    pub(super) together: Option<Arc<Together>>,
    /// How long a read waits for the database.
    pub(super) patience: Duration,
}

/// A snapshot to answer from.
pub struct Shown {
    pub snapshot: Arc<Snapshot>,
    /// While the database is away: how old it is.
    pub stale: Option<Duration>,
}

/// Who else may serve the same database.
pub enum Serving {
    /// Nobody, for as long as this is held: there is nobody to be followed.
    Alone(ServingLock),
    /// Any number of processes: each is asked for what it committed before anything is answered from the snapshot.
    Together,
}

impl From<Option<ServingLock>> for Serving {
    fn from(lock: Option<ServingLock>) -> Serving {
        lock.map_or(Serving::Together, Serving::Alone)
    }
}

/// The writer's thread, to be waited for when the service ends.
pub struct Running {
    thread: JoinHandle<()>,
    /// Held to the end.
    _serving: Serving,
}

impl Running {
    /// Waits until the writer has carried out what it was given. Every `Model` must be gone, or it never ends.
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
        let alone = matches!(serving, Serving::Alone(_));
        let (read, patience) = (database.clone(), settings.commit_timeout);
        let (writer, (live, follower), thread) = writer::start(database.clone(), settings, move |conn| {
            let live = Arc::new(Live::load(conn)?);
            let follower = Follower::start(read, live.clone(), patience)?;
            let decider = Decider::new(live.clone(), follower.clone(), alone, rules, Precision::of(conn));
            Ok((decider, (live, follower)))
        })?;
        let together = match alone {
            true => None,
            false => Some(Arc::new(Together::start(&database, live.clone())?)),
        };
        let model = Model {
            database,
            replica: None,
            live,
            follower,
            writer,
            alone,
            together,
            patience,
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

    /// Carries out a command: answered when it is committed, or refused.
    pub async fn submit<C: Write>(&self, command: C) -> Result<C::Answer> {
        let answer = self.send(command.into_command()).await?;
        C::typed(answer).ok_or_else(|| Error::Internal {
            detail: "the writer answered another command than it was given".into(),
        })
    }

    /// Reads what one statement finds.
    pub async fn ask<T: Send + 'static>(
        &self,
        ask: impl Fn(&mut DbConnection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        in_time(self.patience, on_a_thread(&self.database, move |turn| turn.ask(&ask))).await
    }

    /// A snapshot that shows every change acknowledged before the call, by any process.
    pub async fn snapshot(&self) -> Result<Arc<Snapshot>> {
        if self.alone && !self.live.is_doubtful() {
            return Ok(self.live.newest());
        }
        self.follower.fresh().await
    }

    /// As `snapshot`, for a search that rests on names: unknown ones are looked up before it is said that there are none.
    /// While the database is away, what was known up to `stale` ago will do.
    pub async fn shown(&self, names: impl Into<Names>, stale: Duration) -> Result<Shown> {
        let shown = self.fresh_or_stale(stale).await?;
        let unknown = names.into().unknown_to(shown.snapshot.catalog());
        if unknown.is_empty() {
            return Ok(shown);
        }
        if shown.stale.is_some() {
            return Err(Error::Unavailable {
                detail: "names that are not known cannot be looked up".to_owned(),
            });
        }
        let (database, live) = (self.database.clone(), self.live.clone());
        let look = on_a_thread(&self.database, move |turn| {
            if turn.read(|conn| Ok(unknown.any_is_there(conn)?))? {
                live.check(&mut followed::connect(&database)?, &BTreeSet::new(), true)?;
            }
            let (snapshot, stale) = (live.newest(), None);
            Ok(Shown { snapshot, stale })
        });
        in_time(self.patience, look).await
    }

    async fn fresh_or_stale(&self, stale: Duration) -> Result<Shown> {
        let error = match self.snapshot().await {
            Ok(snapshot) => return Ok(Shown { snapshot, stale: None }),
            Err(error) => error,
        };
        let age = self.follower.age();
        // A snapshot in doubt may lack what was acknowledged long ago.
        if !matches!(error, Error::Unavailable { .. }) || age > stale || self.live.is_doubtful() {
            return Err(error);
        }
        Ok(Shown {
            snapshot: self.live.newest(),
            stale: Some(age),
        })
    }

    /// Compares up to `many` providers with ids above `after` with the tables, and mends what the snapshot shows of them.
    /// Blocks until it is done.
    pub fn compare(&self, after: i32, many: usize) -> Result<Compared> {
        let mut conn = followed::connect(&self.database)?;
        Ok(comparison::compare(&self.live, &mut conn, after, many)?)
    }

    /// How many providers the snapshot shows.
    pub fn providers(&self) -> usize {
        self.live.newest().len()
    }

    /// How many threads at most wait for the database, or for a copy of it, to answer requests.
    pub fn waiting_threads(&self) -> usize {
        let copy = self.replica.as_ref().map_or(0, Replica::readers);
        self.database.readers().saturating_add(copy)
    }

    /// How many SQL statements this process has sent.
    pub fn statements(&self) -> u64 {
        self.database.statements()
    }
}
