//! Searches that end early: for lack of steps, because the client has left, or because the time is up. What they found
//! by then is never an answer.

use std::future::Future;

use crate::db::boot_instant::BootInstant;
use crate::error::{Error, Result};
use crate::interrupt::OPERATIONS_A_STEP;
use crate::search::{Interrupt, Snapshot};

/// What is worked out for each replica outside of the search, as steps of an [`Interrupt`]: its row, its consumer, its
/// allocations and its place in the answer.
pub const STEPS_A_REPLICA: u64 = 4;

/// Runs a search that looks at all providers of a snapshot: they count as steps of `interrupt` before the first is
/// looked at.
///
/// # Errors
/// [`Error::Busy`] if `interrupt` ended it, whatever was found by then. Errors of the search.
pub fn whole<T>(snapshot: &Snapshot, interrupt: &Interrupt, search: impl FnOnce() -> Result<T>) -> Result<T> {
    interrupt.spend(snapshot.len() as u64 / OPERATIONS_A_STEP);
    let found = if interrupt.is_set() { Err(too_long()) } else { search() };
    if interrupt.is_set() { Err(too_long()) } else { found }
}

/// Waits for a search until the deadline; then it is dropped.
pub async fn until<T>(deadline: BootInstant, search: impl Future<Output = Result<T>>) -> Result<T> {
    let left = deadline.saturating_duration_since(BootInstant::now());
    tokio::time::timeout(left, search).await.map_err(|_| too_long())?
}

/// After this many steps a search that no request waits for looks at the clock. They take less than a millisecond.
const STEPS_A_LOOK: u64 = 256;

/// An interrupt for a search that no request waits for: it ends the search when `stop` is set, or at the deadline.
pub fn ended_by(stop: &Interrupt, deadline: BootInstant) -> Interrupt {
    let stop = stop.clone();
    let more = move || {
        if stop.has_ended() || BootInstant::now() >= deadline {
            0
        } else {
            STEPS_A_LOOK
        }
    };
    Interrupt::in_slices(more(), more)
}

/// The answer after an interrupt.
pub fn too_long() -> Error {
    Error::Busy {
        detail: "The search of the hosts took too long.".to_owned(),
    }
}
