//! The heartbeat of the writer's row, and a new registration if the row is not as the writer left it.

use super::identity::Identity;
use super::{Batch, Writer};
use crate::mutants::{self, Mutant};

impl<B: Batch> Writer<B> {
    /// Shows peers that this writer is alive, and prunes old rows. Runs between two batches on the writer's thread. A
    /// single failure does no harm, because peers prune a writer only after many missed heartbeats.
    pub(super) fn heartbeat(&mut self) {
        let identity = self.identity.clone();
        match self.connected().and_then(|conn| Ok(identity.heartbeat(conn)?)) {
            Ok(true) => {}
            Ok(false) => self.register_new_identity(),
            Err(failure) => {
                log::warn!(
                    "The heartbeat of this process failed, and is repeated in {} s: {failure}",
                    super::HEARTBEAT_INTERVAL.as_secs()
                );
                if failure.is_connection_lost() {
                    self.conn = None;
                }
            }
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
