//! Reads the rows of an answer from the database, or from a lagging replica, within a timeout.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use super::blocking::{spawn_blocking, within_timeout};
use crate::caller::CallerKey;
use crate::db::{Database, DbConnection, ReadPermit, ReadReplica};
use crate::error::Result;
use crate::pools::Pool;

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

    /// As [`Self::read`], for a page of a whole cloud. The read is on a thread of the pool.
    ///
    /// The threads of a pool have a low priority, so a client that reads all pages delays short requests less. Callers
    /// share the threads fairly.
    pub(in crate::model) async fn read_in<T: Send + 'static>(
        self,
        pool: &Pool,
        caller: &CallerKey,
        read: impl Fn(&mut DbConnection) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        let runtime = Handle::current();
        let read = move |permit: &ReadPermit| permit.read(&read);
        let work = move || runtime.block_on(self.run_on(ReadThread::Current, read));
        pool.start(caller, work).await
    }

    async fn run<T: Send + 'static>(
        self,
        read: impl Fn(&ReadPermit) -> Result<T> + Send + Sync + 'static,
    ) -> Result<T> {
        self.run_on(ReadThread::Blocking, read).await
    }

    async fn run_on<T: Send + 'static>(
        self,
        thread: ReadThread,
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
                if let Some(answer) = thread.run(lagging).await? {
                    return answer;
                }
            }
            let permit = database.read_permit().await?;
            // If the request is dropped, the thread keeps the permit until the database answers.
            thread.run(move || read(&permit)).await
        })
        .await
    }
}

/// The thread on which a read waits for the database.
#[derive(Clone, Copy)]
enum ReadThread {
    /// A blocking thread.
    Blocking,
    /// The thread that polls the future. No further future is polled by the thread.
    Current,
}

impl ReadThread {
    async fn run<T: Send + 'static>(self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        match self {
            ReadThread::Blocking => spawn_blocking(work).await,
            ReadThread::Current => work(),
        }
    }
}
