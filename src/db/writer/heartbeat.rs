//! The heartbeat of the writer's row, and a new registration if the row is not as the writer left it.
//!
//! While the database refuses writes, the heartbeat comes more often, and tries whether the database accepts them
//! again: a process without requests finds the end of the refusal, too. A heartbeat is a small write. After a full disk
//! it proves nothing, because it fits into room that a file has already. Then an embedded database's disk is asked for
//! its free room, and a server gets a larger row, which is rolled back.

use std::time::Duration;

use super::failure::BatchFailure;
use super::identity::Identity;
use super::write_state::WriteRefusal;
use super::{Batch, BatchResult, HEARTBEAT_INTERVAL, TRIAL_INTERVAL, Writer, require_conn};
use crate::mutants::{self, Mutant};

impl<B: Batch> Writer<B> {
    /// The time between two heartbeats.
    pub(super) fn heartbeat_interval(&self) -> Duration {
        match self.statistics.writes.refusal() {
            None => HEARTBEAT_INTERVAL,
            Some(_) => TRIAL_INTERVAL,
        }
    }

    /// Shows peers that this writer is alive, and prunes old rows. Runs between two batches on the writer's thread. A
    /// single failure does no harm, because peers prune a writer only after many missed heartbeats.
    pub(super) fn heartbeat(&mut self) {
        let refusal = self.statistics.writes.refusal();
        match self.try_heartbeat(refusal) {
            Ok(true) => self.statistics.writes.accepted(),
            Ok(false) => self.register_new_identity(),
            Err(failure) => {
                self.note_refusal(&failure);
                let level = refusal.map_or(log::Level::Warn, |_| log::Level::Debug);
                log::log!(
                    level,
                    "The heartbeat of this process failed, and is repeated in {} s: {failure}",
                    self.heartbeat_interval().as_secs()
                );
                if failure.is_connection_lost() {
                    self.conn = None;
                }
            }
        }
    }

    /// False if the row is not as this writer left it.
    fn try_heartbeat(&mut self, refusal: Option<WriteRefusal>) -> BatchResult<bool> {
        self.connected()?;
        if refusal == Some(WriteRefusal::DiskFull) {
            self.try_room()?;
        }
        Ok(self.identity.clone().heartbeat(require_conn(&mut self.conn)?)?)
    }

    /// After a full disk: finds out whether there is room again.
    fn try_room(&mut self) -> BatchResult<()> {
        let conn = require_conn(&mut self.conn)?;
        let has_room = match &self.checkpointer {
            Some(checkpointer) => {
                checkpointer.before_batch(conn)?;
                checkpointer.has_room()
            }
            None => {
                self.identity.try_room(conn)?;
                true
            }
        };
        if has_room {
            self.statistics.writes.found_room();
        }
        Ok(())
    }

    /// Notes that the database refuses writes, if that is why a write failed.
    pub(super) fn note_refusal(&self, failure: &BatchFailure) {
        if let Some(refusal) = failure.write_refusal() {
            self.statistics.writes.refused(refusal);
        }
    }

    /// Registers a new writer, and invalidates the snapshot. Called if the writer's row is not as this writer left it:
    /// the database was restored, or a peer pruned the row.
    pub(super) fn register_new_identity(&mut self) {
        log::warn!(
            "The row of this process in placet_writers was changed or removed (restored backup?): registering again \
             and reloading the snapshot"
        );
        self.batch.invalidate();
        if let Some(conn) = self.conn.as_mut().filter(|_| !mutants::is(Mutant::KeepIdentity)) {
            match Identity::register(conn) {
                Ok(identity) => self.identity = identity,
                Err(error) => {
                    log::warn!("Registering in placet_writers failed, and is retried with the next batch: {error}")
                }
            }
        }
    }
}
