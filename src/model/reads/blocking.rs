//! Runs work with the database on blocking threads, and within a timeout.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::db::{Database, ReadPermit};
use crate::error::{Error, Result};
use crate::log_context;

/// Runs work with the database on a blocking thread of the runtime. The request waits for a permit first, without a
/// thread: there are as many permits as connections.
pub async fn on_blocking_thread<T: Send + 'static>(
    runtime: Handle,
    database: &Database,
    work: impl FnOnce(&ReadPermit) -> Result<T> + Send + 'static,
) -> Result<T> {
    let permit = database.read_permit().await?;
    // If the request is dropped, the thread keeps the permit until the database answers.
    spawn_blocking_on(&runtime, move || work(&permit)).await
}

/// Runs work on a blocking thread of the runtime, and waits for the end of the work.
pub async fn spawn_blocking_on<T: Send + 'static>(
    runtime: &Handle,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    // If the request is dropped, the set aborts work that has not started.
    let mut tasks = JoinSet::new();
    tasks.spawn_blocking_on(log_context::carried(work), runtime);
    match tasks.join_next().await {
        Some(Ok(result)) => result,
        _ => Err(Error::Internal {
            detail: "a read ended in a panic".to_owned(),
        }),
    }
}

/// Waits for `work`, at most as long as the timeout. A hanging server, or a Galera node waiting for its cluster, closes
/// no connection. MariaDB's client library has no timeout here.
pub async fn within_timeout<T>(timeout: Duration, work: impl Future<Output = Result<T>>) -> Result<T> {
    let timed_out = |_| Error::Unavailable {
        detail: "it did not answer in time".into(),
    };
    tokio::time::timeout(timeout, work).await.map_err(timed_out)?
}
