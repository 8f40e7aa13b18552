//! The writer's connection to the database, which the next attempt opens again after a loss.
//!
//! The commit thread borrows the connection for a batch (`commit_thread.rs`). A large command's transaction comes on a
//! second connection, and takes the place of the first until COMMIT (`large.rs`).

use std::time::Duration;

use super::batch::Batch;
use super::failure::{BatchFailure, BatchResult, catch_panic};
use super::identity::Identity;
use crate::db::engines::dialect::{self, Capabilities};
use crate::db::wal_checkpointer::{WalCheckpointer, WalLimits};
use crate::db::{Database, DbConnection, SetupError};

pub(super) struct WriterConnection {
    database: Database,
    /// `None` while the commit thread uses the connection, and from a loss until the next attempt.
    pub conn: Option<DbConnection>,
    /// The abilities of the server, by which plans are written.
    pub capabilities: Capabilities,
    /// `None` on engines that checkpoint by themselves.
    checkpointer: Option<WalCheckpointer>,
    /// How long a statement waits for a lock.
    pub lock_wait: Duration,
    /// How often the connection was opened after a loss.
    pub reopened: u64,
}

impl WriterConnection {
    /// Opens the connection, registers the writer, and runs `build`.
    pub fn open<T>(
        database: Database,
        wal: WalLimits,
        build: impl FnOnce(&mut DbConnection) -> Result<T, SetupError>,
    ) -> Result<(WriterConnection, Identity, T), SetupError> {
        let checkpointer = WalCheckpointer::start(&database, wal)?;
        let (mut conn, capabilities) = connect(&database, checkpointer.as_ref())?;
        let identity = Identity::register(&mut conn)?;
        database.guard().begin(&database, identity.id())?;
        let lock_wait = dialect::LOCK_WAIT.min(database.lock_timeout());
        dialect::set_lock_timeout(&mut conn, lock_wait)?;
        let built = build(&mut conn)?;
        let connection = WriterConnection {
            database,
            conn: Some(conn),
            capabilities,
            checkpointer,
            lock_wait,
            reopened: 0,
        };
        Ok((connection, identity, built))
    }

    /// Opens the connection again after a loss. After a failover or a restore, the database may lack commits of the
    /// snapshot.
    pub fn reopen<B: Batch>(&mut self, batch: &mut B) -> BatchResult<()> {
        if self.conn.is_none() {
            let (mut conn, capabilities) = connect(&self.database, self.checkpointer.as_ref())?;
            dialect::set_lock_timeout(&mut conn, self.lock_wait)?;
            catch_panic(|| batch.reconnected(&mut conn))??;
            self.capabilities = capabilities;
            self.conn = Some(conn);
            self.reopened += 1;
        }
        Ok(())
    }

    /// The connection, which [`Self::reopen`] opened at the beginning of the attempt.
    pub fn require(&mut self) -> BatchResult<&mut DbConnection> {
        self.conn.as_mut().ok_or(BatchFailure::Conflict)
    }

    /// Sets how long statements wait for a lock, on this connection and on later connections. Returns the former time.
    pub fn set_lock_wait(&mut self, lock_wait: Duration) -> Duration {
        drop(
            self.conn
                .take_if(|conn| dialect::set_lock_timeout(conn, lock_wait).is_err()),
        );
        std::mem::replace(&mut self.lock_wait, lock_wait)
    }

    /// Rolls the transaction back, or closes the connection.
    pub fn roll_back(&mut self) {
        drop(self.conn.take_if(|conn| dialect::rollback(conn).is_err()));
    }

    /// Whether a second connection reaches the same server for sure, and gains time.
    pub fn may_be_two(&self) -> bool {
        self.capabilities.compound_writes && !self.database.target().names_several_hosts()
    }

    /// Opens a second connection, on any thread.
    pub fn second(&self) -> impl FnOnce() -> BatchResult<DbConnection> + Send + use<> {
        let (database, lock_wait, expected) = (self.database.clone(), self.lock_wait, self.capabilities);
        move || {
            let (mut conn, capabilities) = connect(&database, None)?;
            if capabilities != expected {
                return Err(BatchFailure::Conflict);
            }
            dialect::set_lock_timeout(&mut conn, lock_wait)?;
            Ok(conn)
        }
    }

    /// Checks that batches may be written. After a full disk, makes room first.
    pub fn before_batch(&mut self) -> BatchResult<()> {
        self.database.guard().check_writable()?;
        if let (Some(checkpointer), Some(conn)) = (&mut self.checkpointer, &mut self.conn) {
            checkpointer.before_batch(conn)?;
        }
        Ok(())
    }

    /// Reports the commit to the checkpointer, and finishes its checkpoint on request. The callers of the batch do not
    /// wait, because their answers were sent.
    pub fn after_batch(&mut self) {
        if let Some(checkpointer) = &self.checkpointer {
            drop(
                self.conn
                    .take_if(|conn| !checkpointer.after_batch(conn, self.lock_wait)),
            );
        }
    }

    /// Checks that the database's file was not removed or replaced.
    pub fn check_path(&self) -> Result<(), SetupError> {
        self.database.guard().check_path()
    }

    /// Closes a lost connection. After a full disk, the next batch makes room.
    pub fn note_failure(&mut self, failure: &BatchFailure) {
        if failure.is_connection_lost() {
            self.conn = None;
        }
        if let Some(checkpointer) = &mut self.checkpointer
            && failure.is_disk_full()
        {
            checkpointer.note_full_disk();
        }
    }

    /// Whether a disk has room again. An embedded database's disk is asked for its free room; a server gets a large
    /// row, which is rolled back.
    pub fn has_room(&mut self, identity: &Identity) -> BatchResult<bool> {
        let conn = self.conn.as_mut().ok_or(BatchFailure::Conflict)?;
        let Some(checkpointer) = &mut self.checkpointer else {
            identity.try_room(conn)?;
            return Ok(true);
        };
        checkpointer.before_batch(conn)?;
        Ok(checkpointer.has_room())
    }
}

/// Opens a connection, and asks the server for its abilities in one round trip.
fn connect(
    database: &Database,
    checkpointer: Option<&WalCheckpointer>,
) -> Result<(DbConnection, Capabilities), SetupError> {
    let mut conn = database.connect()?;
    if let Some(checkpointer) = checkpointer {
        checkpointer.defer_auto_checkpoint(&mut conn)?;
    }
    let capabilities = dialect::capabilities(&mut conn)?;
    Ok((conn, capabilities))
}
