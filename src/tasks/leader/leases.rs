//! The duty to end leases of hosts that are over.

use std::time::{Duration, Instant};

use crate::model::hosts::LeaseWatch;
use crate::tasks::failures::Failures;

/// The pause between two looks at the leases.
const INTERVAL: Duration = Duration::from_secs(1);

pub struct LeaseDuty {
    watch: LeaseWatch,
    due: Instant,
    failures: Failures,
}

impl LeaseDuty {
    pub fn new(watch: LeaseWatch) -> LeaseDuty {
        LeaseDuty {
            watch,
            due: Instant::now(),
            failures: Failures::default(),
        }
    }

    /// The time until the next step.
    pub fn due_in(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Begins to watch, after a different process has led.
    pub fn begin_again(&mut self) {
        self.watch.begin_again();
    }

    /// Looks at the leases once.
    pub fn step(&mut self) {
        match self.watch.check() {
            Ok(()) => self.failures.end_round(),
            Err(error) => {
                let error = error.for_log();
                if self.failures.note("", error.clone()) {
                    log::warn!("The leases of hosts could not be read; this is tried again: {error}");
                }
                self.failures.cut_round();
            }
        }
        self.due = Instant::now() + INTERVAL;
    }
}
