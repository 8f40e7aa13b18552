//! Locks and reads the rows that a batch needs, in the batch's transaction: consumers always, providers if the snapshot
//! is not enough.
//!
//! Naively, each command locks and reads its rows in its own order. The number of statements would grow with the batch,
//! and two writers that lock the same rows in different orders would deadlock.
//!
//! So the rows of all commands are collected first (`footprint`). If other writers exist, locks are taken in a fixed
//! order: consumers by uuid, afterwards providers by id. Rows are read after the locks, so the locks guard the rows
//! that were read. The number of statements does not depend on the number of commands. On SQLite BEGIN locks the whole
//! file, and no row is locked.

mod claim_rows;
mod consumers;
mod held;
mod providers;
mod users;

use chrono::NaiveDateTime;

pub use claim_rows::claim_rows;
#[cfg(feature = "mutants")]
pub(super) use consumers::AllocationColumns;
pub use consumers::{UUID_CHARS_MAX, consumers};
pub use held::{held_rows, needs};
pub use providers::{lock_providers, providers};
pub use users::{class_users, trait_times, trait_users};

/// How rows are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowAccess {
    /// Rows are locked first. Lock rows of new consumers get the time `now`.
    Locked { now: NaiveDateTime },
    /// Rows are only read, in a transaction that is a consistent read.
    Consistent,
}

/// The maximum number of attempts to lock rows, if another writer inserts rows in between. A row without a lock fails a
/// guard or a constraint when the row is written, and the batch is decided again.
const LOCK_ATTEMPTS: usize = 10;
