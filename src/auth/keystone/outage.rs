//! Circuit breaker for Keystone: says whether Keystone answers, and which request may ask during an outage.
//!
//! After a failure, Keystone is down until the next answer. Naively, each request would ask, and wait for a timeout.
//! Instead a single validation, the probe, asks at a time. All other requests are refused at once. An answer ends the
//! outage. The probe is a task, so it goes on if its request leaves.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::failure::Failure;

/// Whether Keystone answers.
pub struct Outage {
    /// A longer probe is stuck, and does not keep the next probe from asking.
    limit: Duration,
    state: Mutex<OutageState>,
}

#[derive(Default)]
struct OutageState {
    is_down: bool,
    /// When the present probe began, and how many probes there were.
    probe: Option<Instant>,
    probes: u64,
    /// When Keystone last answered any request.
    answered: Option<Instant>,
}

/// The validation that asks while Keystone is down. Dropped when it has ended.
pub struct Probe {
    outage: Arc<Outage>,
    number: u64,
}

impl Outage {
    /// `limit`: how long a probe may last.
    pub fn new(limit: Duration) -> Outage {
        Outage {
            limit,
            state: Mutex::default(),
        }
    }

    pub fn is_down(&self) -> bool {
        self.lock().is_down
    }

    /// Lets a validation ask Keystone: as the probe, if Keystone is down.
    ///
    /// # Errors
    /// [`Failure::Down`]: a probe is running.
    pub fn admit(self: &Arc<Self>) -> Result<Option<Probe>, Failure> {
        let mut state = self.lock();
        if !state.is_down {
            return Ok(None);
        }
        if state.probe.is_some_and(|began| began.elapsed() < self.limit) {
            return Err(Failure::Down);
        }
        state.probe = Some(Instant::now());
        state.probes += 1;
        Ok(Some(Probe {
            outage: Arc::clone(self),
            number: state.probes,
        }))
    }

    /// Keystone has answered a request.
    pub fn answered(&self) {
        let mut state = self.lock();
        state.answered = Some(Instant::now());
        state.is_down = false;
    }

    /// A request that began at this time found no connection, or no answer in time. Keystone is down if no request was
    /// answered since `began`.
    pub fn failed(&self, began: Instant) {
        let mut state = self.lock();
        state.is_down |= state.answered.is_none_or(|answered| answered <= began);
    }

    fn lock(&self) -> MutexGuard<'_, OutageState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let mut state = self.outage.lock();
        if state.probes == self.number {
            state.probe = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn down(limit: Duration) -> Arc<Outage> {
        let outage = Arc::new(Outage::new(limit));
        outage.failed(Instant::now());
        outage
    }

    #[test]
    fn while_keystone_is_down_one_request_asks_at_a_time() {
        let outage = down(Duration::from_secs(3600));
        let probe = outage.admit().expect("the first request asks");
        assert!(probe.is_some() && outage.admit().is_err());
        drop(probe);
        assert!(outage.admit().is_ok_and(|probe| probe.is_some()));
        outage.answered();
        assert!(outage.admit().is_ok_and(|probe| probe.is_none()));
    }

    #[test]
    fn a_probe_that_is_stuck_does_not_keep_others_from_asking() {
        let mut outage = down(Duration::ZERO);
        let stuck = outage.admit().expect("the first request asks");
        let probe = outage.admit().expect("the next request asks too");
        assert!(stuck.is_some() && probe.is_some());
        // The end of the stuck probe does not end the new probe.
        drop(stuck);
        assert!(outage.lock().probe.is_some());
        drop(probe);
        assert!(outage.lock().probe.is_none());
        outage = Arc::new(Outage::new(Duration::ZERO));
        assert!(outage.admit().is_ok_and(|probe| probe.is_none()));
    }

    #[test]
    fn a_request_without_an_answer_proves_nothing_if_another_was_answered_at_that_time() {
        let outage = Outage::new(Duration::ZERO);
        let began = Instant::now();
        std::thread::sleep(Duration::from_millis(2));
        outage.answered();
        outage.failed(began);
        assert!(!outage.is_down());
        std::thread::sleep(Duration::from_millis(2));
        outage.failed(Instant::now());
        assert!(outage.is_down());
    }
}
