//! Whether Keystone answers, and which request may ask while it does not.
//!
//! Without an answer, Keystone is down until it answers again. Naively, each request then asks, and waits for its own
//! timeout. Instead a single request asks at a time, and all others are refused at once: a circuit breaker, which the
//! probe closes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::client::Failure;

/// Whether Keystone answers.
pub struct Outage {
    /// A request that was given so little time says nothing about Keystone by itself.
    patience: Duration,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_down: bool,
    is_probed: bool,
    /// When Keystone last answered any request.
    answered: Option<Instant>,
}

/// The request that asks while Keystone is down. Dropped when the request has ended.
pub struct Probe(Arc<Outage>);

impl Outage {
    /// A request that waits this long without an answer to any request finds Keystone down.
    pub fn new(patience: Duration) -> Outage {
        Outage {
            patience,
            state: Mutex::default(),
        }
    }

    pub fn is_down(&self) -> bool {
        self.lock().is_down
    }

    /// Lets a request ask Keystone: as the probe, if Keystone is down.
    ///
    /// # Errors
    /// [`Failure::Down`]: another request is the probe.
    pub fn admit(self: &Arc<Self>) -> Result<Option<Probe>, Failure> {
        let mut state = self.lock();
        match (state.is_down, state.is_probed) {
            (false, _) => Ok(None),
            (true, true) => Err(Failure::Down),
            (true, false) => {
                state.is_probed = true;
                Ok(Some(Probe(Arc::clone(self))))
            }
        }
    }

    /// Keystone has answered a request.
    pub fn answered(&self) {
        let mut state = self.lock();
        state.answered = Some(Instant::now());
        state.is_down = false;
    }

    /// A request that began at this time found no connection, or no answer in time. Keystone is down if no other
    /// request was answered in that time.
    pub fn failed(&self, began: Instant, timed_out: bool) {
        let mut state = self.lock();
        let quiet = state.answered.map(|answered| answered.elapsed());
        let waited = if timed_out {
            began.elapsed().max(self.patience)
        } else {
            began.elapsed()
        };
        state.is_down |= quiet.is_none_or(|quiet| quiet >= waited);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.0.lock().is_probed = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn while_keystone_is_down_one_request_asks_at_a_time() {
        let outage = Arc::new(Outage::new(Duration::ZERO));
        assert!(outage.admit().is_ok_and(|probe| probe.is_none()));
        outage.failed(Instant::now(), true);
        let probe = outage.admit().expect("the first request asks");
        assert!(probe.is_some() && outage.admit().is_err());
        drop(probe);
        assert!(outage.admit().is_ok_and(|probe| probe.is_some()));
        outage.answered();
        assert!(outage.admit().is_ok_and(|probe| probe.is_none()));
    }

    #[test]
    fn a_request_without_an_answer_proves_nothing_if_another_was_answered_at_that_time() {
        let outage = Outage::new(Duration::from_secs(3600));
        let began = Instant::now();
        outage.answered();
        outage.failed(began, false);
        // This request had little time.
        outage.failed(Instant::now(), true);
        assert!(!outage.is_down());
        std::thread::sleep(Duration::from_millis(2));
        outage.failed(Instant::now(), false);
        assert!(outage.is_down());
    }
}
