//! Where the rows of an answer are read: in the database, or in a copy of it that may lag; and who waits for that, for how
//! long.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::of_provider::Together;
use super::service::Model;
use crate::db::{Database, DbConnection, Replica, Turn};
use crate::error::{Error, Result};

/// What one request reads with.
pub struct Reader {
    database: Database,
    replica: Option<Replica>,
    pub(super) patience: Duration,
    /// What requests that wait at the same time read together; nobody does in a copy.
    pub(super) together: Option<Arc<Together>>,
}

impl Model {
    /// Lets what may lag be read in a copy of the database.
    #[must_use]
    pub fn with_replica(mut self, replica: Option<Replica>) -> Model {
        self.replica = replica;
        self
    }

    /// Reads for an answer. One that `may_lag` is read in the copy, if there is one and it answers.
    pub fn reader(&self, may_lag: bool) -> Reader {
        let replica = self.replica.clone().filter(|_| may_lag);
        Reader {
            database: self.database.clone(),
            patience: self.patience,
            together: self.together.clone().filter(|_| replica.is_none()),
            replica,
        }
    }
}

impl Reader {
    /// Reads in one moment; more than once where the copy, or a connection, fails in the middle of it.
    pub async fn read<T: Send + 'static>(
        self,
        read: impl Fn(&mut DbConnection) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        self.work(move |turn| turn.read(&read)).await
    }

    /// The same, of what one statement finds.
    pub async fn ask<T: Send + 'static>(
        self,
        ask: impl Fn(&mut DbConnection) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        self.work(move |turn| turn.ask(&ask)).await
    }

    async fn work<T: Send + 'static>(self, read: impl Fn(&Turn) -> Result<T> + Send + Sync + 'static) -> Result<T> {
        let Some(replica) = self.replica else {
            return in_time(self.patience, on_a_thread(&self.database, read)).await;
        };
        let read = Arc::new(read);
        in_time(self.patience, async {
            if let Some(found) = copied(replica, self.database.clone(), read.clone()).await? {
                return found;
            }
            on_a_thread(&self.database, move |turn| read(turn)).await
        })
        .await
    }
}

/// `None` where the copy does not answer.
async fn copied<T: Send + 'static>(
    replica: Replica,
    main: Database,
    read: Arc<impl Fn(&Turn) -> Result<T> + Send + Sync + 'static>,
) -> Result<Option<Result<T>>> {
    let Some(turn) = replica.turn().await else {
        return Ok(None);
    };
    joined(move || Ok(replica.read(&turn, &main, |turn| read(turn)))).await
}

/// Does what waits for the database on a thread that may wait. So many of them wait at once as there are connections;
/// everybody else waits for a turn without a thread, for there is not one for each request.
pub(super) async fn on_a_thread<T: Send + 'static>(
    database: &Database,
    work: impl FnOnce(&Turn) -> Result<T> + Send + 'static,
) -> Result<T> {
    let turn = database.turn().await?;
    // The turn is the thread's: whoever does not wait for it any more leaves it there until the database answers.
    joined(move || work(&turn)).await
}

async fn joined<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    // What no thread has begun when nobody waits for it any more is not begun: a set that is dropped sees to that.
    let mut thread = JoinSet::new();
    thread.spawn_blocking(work);
    match thread.join_next().await {
        Some(Ok(done)) => done,
        _ => Err(Error::Internal {
            detail: "a read ended in a panic".to_owned(),
        }),
    }
}

/// Waits no longer than `patience`: a server that stands still, or a Galera node that waits for others, closes no
/// connection, and the client library of MariaDB is told no time of its own.
pub(super) async fn in_time<T>(patience: Duration, done: impl Future<Output = Result<T>>) -> Result<T> {
    let late = || Error::Unavailable {
        detail: "it did not answer in time".to_owned(),
    };
    tokio::time::timeout(patience, done)
        .await
        .unwrap_or_else(|_| Err(late()))
}
