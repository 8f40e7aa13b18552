//! Reads the rows of an answer from the database, or from a lagging replica, within a timeout.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::blocking::{on_blocking_thread, spawn_blocking_on, within_timeout};
use crate::db::{Database, DbConnection, ReadPermit, ReadReplica};
use crate::error::Result;
use crate::pools::PageReadThreads;

/// Reads the rows of an answer.
#[derive(Clone)]
pub struct Reader {
    pub(in crate::model) database: Database,
    pub(in crate::model) replica: Option<ReadReplica>,
    /// A read takes at most this time.
    pub(in crate::model) timeout: Duration,
}

impl Reader {
    /// Reads in one transaction. `read` runs again if a connection breaks, or on the database if the replica fails.
    pub(in crate::model) async fn read<T: Send + 'static>(
        self,
        read: impl Fn(&mut DbConnection) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        self.run(move |permit| permit.read(&read)).await
    }

    /// Reads with a single statement, which needs no transaction.
    pub(in crate::model) async fn ask<T: Send + 'static>(
        self,
        ask: impl Fn(&mut DbConnection) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        self.run(move |permit| permit.ask(&ask)).await
    }

    /// As [`Self::read`], for a page of a whole cloud. The read is on a thread of low priority, so a client that reads
    /// all pages delays short requests less.
    pub(in crate::model) async fn read_page<T: Send + 'static>(
        self,
        threads: &PageReadThreads,
        read: impl Fn(&mut DbConnection) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let runtime = threads.runtime().clone();
        self.run_on(runtime, move |permit| permit.read(&read)).await
    }

    async fn run<T: Send + 'static>(
        self,
        read: impl Fn(&ReadPermit) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        self.run_on(Handle::current(), read).await
    }

    /// Reads on a blocking thread of the runtime.
    async fn run_on<T: Send + 'static>(
        self,
        runtime: Handle,
        read: impl Fn(&ReadPermit) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let Reader {
            database,
            replica,
            timeout,
        } = self;
        let read = Arc::new(read);
        within_timeout(timeout, async move {
            if let Some(replica) = replica
                && let Some(permit) = replica.read_permit().await
            {
                let (primary, read) = (database.clone(), Arc::clone(&read));
                let lagging = move || Ok(replica.read(&permit, &primary, |permit| read(permit)));
                if let Some(answer) = spawn_blocking_on(&runtime, lagging).await? {
                    return answer;
                }
            }
            on_blocking_thread(runtime, &database, move |permit| read(permit)).await
        })
        .await
    }
}
