//! Whether the database accepts writes, by the writes of this process.
//!
//! A refused write begins the refusal. Naively, the next write that succeeds ends the refusal. But on a full disk small
//! writes succeed, because they fit into room of an existing file: the state would change with the size of the writes.
//! So only a trial that finds room ends a refusal for lack of room ([`super::heartbeat`]).

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use crate::db::engines::dialect::WriteRefusal;

/// Why the database refuses writes, if the database does.
#[derive(Debug, Default)]
pub struct WriteState(Mutex<Option<WriteRefusal>>);

impl WriteState {
    /// Why the database refuses writes; `None` if writes are accepted.
    pub fn refusal(&self) -> Option<WriteRefusal> {
        *self.lock()
    }

    /// The database refused a write for this reason.
    pub(super) fn refused(&self, refusal: WriteRefusal) {
        let before = self.lock().replace(refusal);
        if before != Some(refusal) {
            log::error!(
                "The database answers, and refuses writes: {refusal}. Searches go on, and /health/ready says degraded \
                 until the database accepts a write again"
            );
        }
    }

    /// The database committed a write.
    pub(super) fn accepted(&self) {
        self.end(|refusal| refusal != WriteRefusal::DiskFull);
    }

    /// A trial found room on the database's disk.
    pub(super) fn found_room(&self) {
        self.end(|refusal| refusal == WriteRefusal::DiskFull);
    }

    fn end(&self, is_over: impl FnOnce(WriteRefusal) -> bool) {
        if self.lock().take_if(|refusal| is_over(*refusal)).is_some() {
            log::info!("The database accepts writes again");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<WriteRefusal>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_n2_a_refusal_lasts_until_a_write_succeeds() {
        let state = WriteState::default();
        assert_eq!(state.refusal(), None);
        for refusal in [WriteRefusal::ReadOnly, WriteRefusal::DiskFailed] {
            state.refused(refusal);
            state.found_room();
            assert_eq!(state.refusal(), Some(refusal));
            state.accepted();
            assert_eq!(state.refusal(), None);
        }
    }

    #[test]
    fn found_n2_a_write_that_fits_does_not_show_that_a_disk_has_room() {
        let state = WriteState::default();
        state.refused(WriteRefusal::DiskFull);
        state.accepted();
        assert_eq!(state.refusal(), Some(WriteRefusal::DiskFull));
        state.found_room();
        assert_eq!(state.refusal(), None);
    }
}
