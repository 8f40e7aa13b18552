//! Reads the rows of an answer, from the database or from a replica that may lag, with a timeout.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::provider_reads::ProviderReads;
use crate::db::{Database, DbConnection, ReadPermit, Replica};
use crate::error::{Error, Result};
use crate::model::service::Model;

/// Reads for one request.
pub struct Reader {
    database: Database,
    replica: Option<Replica>,
    pub(in crate::model) timeout: Duration,
    /// Coalesced reads; `None` on a replica.
    pub(in crate::model) provider_reads: Option<Arc<ProviderReads>>,
}

impl Model {
    /// The replica, for routes that may lag.
    #[must_use]
    pub fn with_replica(mut self, replica: Option<Replica>) -> Model {
        self.replica = replica;
        self
    }

    /// A reader for one answer. If the answer `may_lag`, it is read from the replica, if there is one and it answers.
    pub fn reader(&self, may_lag: bool) -> Reader {
        let replica = self.replica.clone().filter(|_| may_lag);
        Reader {
            database: self.database.clone(),
            timeout: self.timeout,
            provider_reads: self.provider_reads.clone().filter(|_| replica.is_none()),
            replica,
        }
    }
}

impl Reader {
    /// Reads in one transaction; again if the replica, or a connection, fails in the middle.
    pub async fn read<T: Send + 'static>(
        self,
        read: impl Fn(&mut DbConnection) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        self.work(move |permit| permit.read(&read)).await
    }

    /// As `read`, for a single statement, which needs no transaction.
    pub async fn ask<T: Send + 'static>(
        self,
        ask: impl Fn(&mut DbConnection) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        self.work(move |permit| permit.ask(&ask)).await
    }

    async fn work<T: Send + 'static>(
        self,
        read: impl Fn(&ReadPermit) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let Some(replica) = self.replica else {
            return in_time(self.timeout, on_a_thread(&self.database, read)).await;
        };
        let read = Arc::new(read);
        in_time(self.timeout, async {
            if let Some(found) = copied(replica, self.database.clone(), read.clone()).await? {
                return found;
            }
            on_a_thread(&self.database, move |permit| read(permit)).await
        })
        .await
    }
}

/// `None` if the replica does not answer.
async fn copied<T: Send + 'static>(
    replica: Replica,
    main: Database,
    read: Arc<impl Fn(&ReadPermit) -> Result<T> + Send + Sync + 'static>,
) -> Result<Option<Result<T>>> {
    let Some(permit) = replica.read_permit().await else {
        return Ok(None);
    };
    joined(move || Ok(replica.read(&permit, &main, |permit| read(permit)))).await
}

/// Runs work that waits for the database on a blocking thread. There are as many permits as connections; a request without
/// a permit waits for one without a thread, because there is not a thread for each request.
pub(in crate::model) async fn on_a_thread<T: Send + 'static>(
    database: &Database,
    work: impl FnOnce(&ReadPermit) -> Result<T> + Send + 'static,
) -> Result<T> {
    let permit = database.read_permit().await?;
    // The permit belongs to the thread: if the request is dropped, the thread keeps it until the database answers.
    joined(move || work(&permit)).await
}

async fn joined<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    // Work that has not started is cancelled when the request is dropped: the set aborts it.
    let mut thread = JoinSet::new();
    thread.spawn_blocking(work);
    match thread.join_next().await {
        Some(Ok(done)) => done,
        _ => Err(Error::Internal {
            detail: "a read ended in a panic".to_owned(),
        }),
    }
}

/// Waits no longer than the timeout. A server that hangs, or a Galera node that waits for others, closes no connection, and
/// the client library of MariaDB has no timeout of its own here.
pub(in crate::model) async fn in_time<T>(timeout: Duration, done: impl Future<Output = Result<T>>) -> Result<T> {
    let late = || Error::Unavailable {
        detail: "it did not answer in time".to_owned(),
    };
    tokio::time::timeout(timeout, done)
        .await
        .unwrap_or_else(|_| Err(late()))
}
