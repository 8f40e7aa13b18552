//! A background thread that places pending replicas of workloads.
//!
//! Every process tries. If two processes place the same replica, one of them creates the consumer, and the second
//! process plans again.

use std::sync::Weak;
use std::time::{Duration, Instant};

use super::background::{Background, Stopped};
use super::failures::Failures;
use crate::error::{Error, Result};
use crate::model::workloads::PendingWorkloads;

/// The pause after each workload, as a multiple of the time for placing the workload. So the thread works a tenth of
/// the time at most.
const PAUSE_FACTOR: u32 = 9;

/// Starts the thread. `interval` is the pause between two rounds; zero disables the rounds.
///
/// # Errors
/// If the thread cannot be started.
pub fn start(workloads: PendingWorkloads, interval: Duration) -> std::io::Result<Background> {
    let interrupt = workloads.interrupt();
    Background::start("placet-pending", interval, interrupt, move |stopped| {
        let (mut seen, mut failures) = (Weak::new(), Failures::default());
        while stopped.sleep(interval) {
            let newest = workloads.newest_snapshot();
            if seen.ptr_eq(&newest) {
                continue;
            }
            seen = newest;
            match round(&workloads, stopped, &mut failures) {
                Ok(()) => failures.end_round(),
                Err(error) => {
                    let error = error.for_log();
                    if failures.note("", error.clone()) {
                        log::warn!("Pending replicas could not be placed; this is tried again: {error}");
                    }
                    failures.cut_round();
                    seen = Weak::new();
                }
            }
        }
    })
}

/// Tries each workload with pending replicas.
///
/// # Errors
/// Of the database. The error of a workload keeps no further workload from its places.
fn round(workloads: &PendingWorkloads, stopped: &Stopped, failures: &mut Failures) -> Result<()> {
    let mut after = String::new();
    loop {
        let began = Instant::now();
        let (page, next) = workloads.page(after)?;
        if !stopped.sleep(began.elapsed() * PAUSE_FACTOR) {
            return Ok(());
        }
        let Some(next) = next else {
            return Ok(());
        };
        after = next;
        for workload in page {
            let began = Instant::now();
            match workloads.place(&workload) {
                Ok(None) => {}
                Err(_) if stopped.is_set() => return Ok(()),
                Ok(Some(granted)) => log::info!("Pending replicas have a place now: granted: {granted}"),
                Err(error @ (Error::Unavailable { .. } | Error::UnknownOutcome { .. })) => return Err(error),
                // A client has changed or deleted the workload.
                Err(Error::StaleGeneration { .. } | Error::NotFound { .. }) => {}
                Err(error) => {
                    let error = error.for_log();
                    if failures.note(&workload, error.clone()) {
                        log::warn!("Workload {workload}: its pending replicas cannot be placed: {error}");
                    }
                }
            }
            if !stopped.sleep(began.elapsed() * PAUSE_FACTOR) {
                return Ok(());
            }
        }
    }
}
