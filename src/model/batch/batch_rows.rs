//! Locks and reads the rows that a batch needs, in its own transaction: its consumers always, its providers if the
//! snapshot is not enough.
//!
//! Naively, each command locks and reads its rows in its own order. Then the number of statements grows with the
//! batch, and two writers that lock the same rows in different orders deadlock.
//!
//! So the rows of all commands are collected first (`footprint`). If other writers exist, locks are taken in one order:
//! consumers by uuid, then providers by id. The rows are read afterwards, so that the locks guard what was read.
//! The number of statements does not depend on the number of commands. On SQLite BEGIN locks the whole file, and no
//! row is locked.

mod answers;
mod claim_rows;
mod consumers;
mod descriptions;
mod held;
mod limits;
mod providers;
mod standing;
mod users;
mod workloads;

use chrono::NaiveDateTime;

pub use answers::answers;
pub use claim_rows::{claim_rows, is_read_by_one_statement};
#[cfg(feature = "mutants")]
pub(super) use consumers::AllocationColumns;
pub use consumers::{UUID_CHARS_MAX, consumers};
pub use descriptions::descriptions;
pub use held::held_rows;
pub use limits::limits;
pub use providers::{lock_providers, providers};
pub use standing::standing;
pub use users::{class_users, trait_times, trait_users};
pub use workloads::workloads;

/// How rows are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowAccess {
    /// They are locked first. Rows that are inserted to lock a consumer get the time `now`.
    Locked { now: NaiveDateTime },
    /// They are only read, in a transaction that is one consistent read.
    Consistent,
}

/// The maximum number of attempts to lock rows, if another writer inserts some in between. A row that is still not
/// locked then fails a guard or a constraint when it is written, and the batch is decided again.
const LOCK_ATTEMPTS: usize = 10;
