//! Reads the rows of an answer from the database, or from a replica that may lag, within a timeout.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::provider_reads::ProviderReads;
use crate::db::{Database, DbConnection, ReadPermit, Replica};
use crate::error::{Error, Result};
use crate::log_context;
use crate::model::service::Model;

/// Reads the rows of one answer.
pub struct Reader {
    database: Database,
    replica: Option<Replica>,
    pub(in crate::model) timeout: Duration,
    /// Coalesced reads; `None` on a replica.
    pub(in crate::model) provider_reads: Option<Arc<ProviderReads>>,
}

impl Model {
    /// Sets the replica, which serves the answers that may lag.
    #[must_use]
    pub fn with_replica(mut self, replica: Option<Replica>) -> Model {
        self.replica = replica;
        self
    }

    /// A reader for one answer. An answer that `may_lag` is read from the replica, if there is one and it can answer.
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
    /// Reads in one transaction. `read` runs again if a connection breaks, or on the database if the replica fails.
    pub async fn read<T: Send + 'static>(
        self,
        read: impl Fn(&mut DbConnection) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        self.run(move |permit| permit.read(&read)).await
    }

    /// Reads with a single statement, which needs no transaction.
    pub async fn ask<T: Send + 'static>(
        self,
        ask: impl Fn(&mut DbConnection) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        self.run(move |permit| permit.ask(&ask)).await
    }

    async fn run<T: Send + 'static>(
        self,
        read: impl Fn(&ReadPermit) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let Some(replica) = self.replica else {
            return within_timeout(self.timeout, on_blocking_thread(&self.database, read)).await;
        };
        let read = Arc::new(read);
        within_timeout(self.timeout, async {
            if let Some(answer) = read_replica(replica, self.database.clone(), read.clone()).await? {
                return answer;
            }
            on_blocking_thread(&self.database, move |permit| read(permit)).await
        })
        .await
    }
}

/// Reads from the replica; `None` if it cannot answer.
async fn read_replica<T: Send + 'static>(
    replica: Replica,
    primary: Database,
    read: Arc<impl Fn(&ReadPermit) -> Result<T> + Send + Sync + 'static>,
) -> Result<Option<Result<T>>> {
    let Some(permit) = replica.read_permit().await else {
        return Ok(None);
    };
    spawn_blocking(move || Ok(replica.read(&permit, &primary, |permit| read(permit)))).await
}

/// Runs work that waits for the database on a blocking thread. It waits for a permit first, without a thread: there are
/// as many permits as connections, and not a thread for each request.
pub(in crate::model) async fn on_blocking_thread<T: Send + 'static>(
    database: &Database,
    work: impl FnOnce(&ReadPermit) -> Result<T> + Send + 'static,
) -> Result<T> {
    let permit = database.read_permit().await?;
    // The permit belongs to the thread: if the request is dropped, the thread keeps it until the database answers.
    spawn_blocking(move || work(&permit)).await
}

/// Runs work on a blocking thread, and waits for it.
async fn spawn_blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    // If the request is dropped, the set aborts work that has not started.
    let mut tasks = JoinSet::new();
    tasks.spawn_blocking(log_context::carried(work));
    match tasks.join_next().await {
        Some(Ok(result)) => result,
        _ => Err(Error::Internal {
            detail: "a read ended in a panic".to_owned(),
        }),
    }
}

/// Waits for `work`, at most as long as the timeout. A server that hangs, or a Galera node that waits for its cluster,
/// closes no connection, and the client library of MariaDB has no timeout of its own here.
pub(in crate::model) async fn within_timeout<T>(timeout: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    let timed_out = || Error::Unavailable {
        detail: "it did not answer in time".into(),
    };
    tokio::time::timeout(timeout, work)
        .await
        .unwrap_or_else(|_| Err(timed_out()))
}
