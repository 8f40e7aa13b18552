//! The heartbeat of the writer's row, and what the writer does if the row is not as it left it.

use super::identity::Identity;
use super::{Batch, Writer};
use crate::mutants::{self, Mutant};

impl<B: Batch> Writer<B> {
    /// Shows peers that this writer lives, and prunes old rows. Runs between batches on the writer's thread, so it
    /// never blocks a commit. A failure does no harm: there are many heartbeats before peers take this writer for
    /// dead.
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

    /// Another database took the place of the one that was known, as after a restore, or a peer pruned this writer's
    /// row. So nothing in memory is valid.
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
