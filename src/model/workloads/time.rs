//! Searches that end early: for lack of steps, because the client has left, or because the time is up. An incomplete
//! result is never an answer.

use std::future::Future;

use crate::db::boot_instant::BootInstant;
use crate::error::{Error, Result};
use crate::interrupt::OPERATIONS_A_STEP;
use crate::search::{Interrupt, Snapshot};

/// The work for each replica outside of the search, as steps of an [`Interrupt`]: the row, the consumer, the
/// allocations and the place in the answer.
pub const STEPS_A_REPLICA: u64 = 4;

/// Runs a search of all providers of a snapshot. Before the search, the providers count as steps of `interrupt`.
///
/// # Errors
/// [`Error::Busy`] if `interrupt` ended the search, whatever was found by then. Errors of the search.
pub fn whole<T>(snapshot: &Snapshot, interrupt: &Interrupt, search: impl FnOnce() -> Result<T>) -> Result<T> {
    interrupt.spend(snapshot.len() as u64 / OPERATIONS_A_STEP);
    let found = interrupt.whole(|| if interrupt.is_set() { Err(too_long()) } else { search() });
    found.unwrap_or_else(|| Err(too_long()))
}

/// Waits for a search until the deadline, and drops the search then.
pub async fn until<T>(deadline: BootInstant, search: impl Future<Output = Result<T>>) -> Result<T> {
    let left = deadline.saturating_duration_since(BootInstant::now());
    tokio::time::timeout(left, search).await.map_err(|_| too_long())?
}

/// After this many steps a search outside of the pools looks at the clock. The steps take less than a millisecond.
const STEPS_A_LOOK: u64 = 256;

/// An interrupt for a search outside of the pools. The search ends when any of `stops` is set, or at the deadline.
pub fn ended_by<const N: usize>(stops: [&Interrupt; N], deadline: BootInstant) -> Interrupt {
    let stops = stops.map(Clone::clone);
    let more = move || {
        if stops.iter().any(Interrupt::has_ended) || BootInstant::now() >= deadline {
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
        detail: "The answer was not computed in the time of [placet] commit_timeout; ask for less, or later."
            .to_owned(),
    }
}
