//! A background thread for the work that one process does for all: the process that leads.
//!
//! Each duty works in short steps, and says how long the thread waits before the next step of the duty. So a long duty
//! delays no other duty.

mod leases;
mod pending;

use std::sync::Arc;
use std::time::Duration;

use super::background::Background;
use crate::model::Leadership;
use crate::model::hosts::LeaseWatch;
use crate::model::workloads::PendingWorkloads;
use leases::LeaseDuty;
use pending::PendingDuty;

/// How often the thread asks whether this process leads.
const TICK: Duration = Duration::from_secs(1);

/// Starts the thread. `pending_interval` is the pause between two rounds over pending replicas; zero disables the
/// rounds.
///
/// # Errors
/// If the thread cannot be started.
pub fn start(
    leadership: Arc<Leadership>,
    watch: LeaseWatch,
    workloads: PendingWorkloads,
    pending_interval: Duration,
) -> std::io::Result<Background> {
    let interrupt = workloads.interrupt();
    Background::start("placet-leader", TICK, interrupt, move |stopped| {
        let mut leases = LeaseDuty::new(watch);
        let mut pending = PendingDuty::new(workloads, pending_interval);
        let mut leads = false;
        let mut pause = TICK;
        while stopped.sleep(pause) {
            if leadership.is_held() != leads {
                leads = !leads;
                leases.begin_again();
                pending.begin_again();
            }
            pause = TICK;
            if !leads {
                continue;
            }
            if leases.due_in().is_zero() {
                leases.step();
            }
            if pending.due_in().is_zero() {
                pending.step(stopped);
            }
            pause = pause.min(leases.due_in()).min(pending.due_in());
        }
    })
}
