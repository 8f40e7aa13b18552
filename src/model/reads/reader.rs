//! Reads the rows of an answer from the database, or from a lagging replica, within a timeout.

use std::sync::Arc;
use std::time::Duration;

use super::blocking::{on_blocking_thread, spawn_blocking, within_timeout};
use crate::db::{Database, DbConnection, ReadPermit, ReadReplica};
use crate::error::Result;

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

    async fn run<T: Send + 'static>(
        self,
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
                if let Some(answer) = spawn_blocking(lagging).await? {
                    return answer;
                }
            }
            on_blocking_thread(&database, move |permit| read(permit)).await
        })
        .await
    }
}
