//! Where the rows of an answer are read: in the database, or in a copy of it that may lag.

use std::time::Duration;

use super::service::{Model, blocking};
use crate::db::{Database, DbConnection, Replica};
use crate::error::Result;

/// What one request reads with.
pub struct Reader {
    database: Database,
    replica: Option<Replica>,
    patience: Duration,
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
        Reader {
            database: self.database.clone(),
            replica: self.replica.clone().filter(|_| may_lag),
            patience: self.patience,
        }
    }
}

impl Reader {
    /// Reads in one moment; more than once where the copy fails in the middle of it.
    pub async fn read<T: Send + 'static>(
        self,
        read: impl Fn(&mut DbConnection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        blocking(self.patience, move || match self.replica {
            Some(replica) => replica.read(&self.database, read),
            None => self.database.read(read),
        })
        .await
    }
}
