//! The gate of a command: a command is either cancelled or committed, never both.
//!
//! If the database is down, the writer gets an error and answers in time. If the database hangs, the writer hangs too.
//! So the caller may cancel its command after a second, longer timeout. The gate makes the cancellation safe.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Whether a command may still be cancelled. Clones share the state: the caller's and the writer's.
#[derive(Clone)]
pub(in crate::db) struct CommitGate(Arc<Mutex<CommitState>>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum CommitState {
    /// Nothing of the command can be in the database.
    Open,
    /// COMMIT is about to be sent, or was sent: only the database knows.
    Committing,
    /// The caller has been answered that nothing was done.
    Cancelled,
}

impl CommitGate {
    pub fn open() -> CommitGate {
        CommitGate(Arc::new(Mutex::new(CommitState::Open)))
    }

    /// Called before COMMIT is sent. False if the command was cancelled; true ends the chance to cancel.
    pub fn begin_commit(&self) -> bool {
        self.change(CommitState::Open, CommitState::Committing)
    }

    /// Called before a retry: the command was not committed.
    pub fn reopen(&self) {
        self.change(CommitState::Committing, CommitState::Open);
    }

    /// Cancels the command. False if COMMIT is about to be sent, or was sent.
    pub fn cancel(&self) -> bool {
        self.change(CommitState::Open, CommitState::Cancelled)
    }

    pub fn is_cancelled(&self) -> bool {
        *self.state() == CommitState::Cancelled
    }

    /// Changes the state from `from` to `to`. False if the state is not `from`.
    fn change(&self, from: CommitState, to: CommitState) -> bool {
        let mut state = self.state();
        let matches = *state == from;
        if matches {
            *state = to;
        }
        matches
    }

    fn state(&self) -> MutexGuard<'_, CommitState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
