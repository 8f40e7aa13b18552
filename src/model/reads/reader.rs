//! Reads the rows of an answer from the database, or from a replica that may lag, within a timeout.

use std::sync::Arc;
use std::time::Duration;

use super::blocking::{on_blocking_thread, spawn_blocking, within_timeout};
use crate::db::{Database, DbConnection, ReadPermit, Replica};
use crate::error::Result;

/// Reads the rows of one answer.
pub struct Reader {
    database: Database,
    replica: Option<Replica>,
    timeout: Duration,
}

impl Reader {
    /// A read takes at most `timeout`.
    pub(in crate::model) fn new(database: Database, replica: Option<Replica>, timeout: Duration) -> Reader {
        Reader {
            database,
            replica,
            timeout,
        }
    }

    pub(in crate::model) fn has_replica(&self) -> bool {
        self.replica.is_some()
    }

    pub(in crate::model) fn timeout(&self) -> Duration {
        self.timeout
    }

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
