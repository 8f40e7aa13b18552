//! The writer's own row between two batches: that it lives, and what it does where the row is no longer what it left.

use super::{Batch, Writer};
use crate::db::identity::Identity;
use crate::mutants::{self, Mutant};

impl<B: Batch> Writer<B> {
    /// The row is written by this thread, so a heartbeat cannot stand in the way of a commit. A failure is no
    /// harm: the next time does it, long before anybody takes this writer for silent.
    pub(super) fn keep_house(&mut self) {
        let identity = self.identity.clone();
        match self.connected().and_then(|conn| Ok(identity.keep_house(conn)?)) {
            Ok(true) => {}
            Ok(false) => self.take_new_identity(),
            Err(failure) => {
                log::warn!("This writer could not say that it lives: {failure}");
                if failure.lost_connection() {
                    self.conn = None;
                }
            }
        }
    }

    /// The database went back, or somebody cleared its rows: nothing that is known of it can be trusted.
    pub(super) fn take_new_identity(&mut self) {
        log::warn!("This writer's row is not as it left it, as after a restored backup: everything is read again");
        self.batch.doubt();
        if let Some(conn) = self.conn.as_mut().filter(|_| !mutants::is(Mutant::KeepIdentity)) {
            match Identity::register(conn) {
                Ok(identity) => self.identity = identity,
                Err(error) => log::warn!("A new identity could not be written yet: {error}"),
            }
        }
    }
}
