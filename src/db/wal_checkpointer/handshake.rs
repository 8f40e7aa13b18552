//! The handshake between the writer and the checkpoint thread, over a condition variable.
//!
//! The writer reports commits; the thread may ask the writer to finish the checkpoint. The writer never waits for the
//! thread. The thread waits until the writer begins, at most for a timeout, and then until the writer is done.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The state that the writer and the thread share.
#[derive(Default)]
pub struct Handshake {
    state: Mutex<HandshakeState>,
    changed: Condvar,
}

/// Why the thread woke up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wakeup {
    /// There were commits.
    Commits,
    /// There was no commit until the timeout.
    Idle,
}

#[derive(Default)]
struct HandshakeState {
    stopped: bool,
    /// There were commits since the thread last woke up.
    committed: bool,
    request: CheckpointRequest,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum CheckpointRequest {
    #[default]
    None,
    Pending,
    /// The writer is serving the request.
    Running,
}

impl Handshake {
    /// For the writer: reports a commit. Wakes the thread unless the thread has yet to notice an earlier commit.
    pub fn notify_commit(&self) {
        if !std::mem::replace(&mut self.state().committed, true) {
            self.changed.notify_all();
        }
    }

    /// For the writer: runs `finish` if a request is pending.
    pub fn serve<T>(&self, finish: impl FnOnce() -> T) -> Option<T> {
        if !self.change(CheckpointRequest::Pending, CheckpointRequest::Running) {
            return None;
        }
        let _guard = ServeGuard(self);
        Some(finish())
    }

    /// Ends all waits of the thread, present and future.
    pub fn stop(&self) {
        self.state().stopped = true;
        self.changed.notify_all();
    }

    pub fn is_stopped(&self) -> bool {
        self.state().stopped
    }

    /// For the thread: waits up to `timeout` for a commit. After a commit the thread also waits for `pause`, to
    /// coalesce more commits. `None` after a stop.
    pub fn wait_for_commit(&self, timeout: Option<Duration>, pause: Duration) -> Option<Wakeup> {
        let is_idle = |state: &mut HandshakeState| !state.stopped && !state.committed;
        let state = self.state();
        let state = match timeout {
            Some(timeout) => self.wait(state, timeout, is_idle),
            None => self
                .changed
                .wait_while(state, is_idle)
                .unwrap_or_else(PoisonError::into_inner),
        };
        if !state.committed {
            return (!state.stopped).then_some(Wakeup::Idle);
        }
        let mut state = self.wait(state, pause, |state| !state.stopped);
        state.committed = false;
        (!state.stopped).then_some(Wakeup::Commits)
    }

    /// For the thread: makes a request, and waits until the writer has served it. Withdraws the request if the writer
    /// has not begun after `timeout`.
    pub fn request(&self, timeout: Duration) {
        self.change(CheckpointRequest::None, CheckpointRequest::Pending);
        let state = self.state();
        let is_pending = |state: &mut HandshakeState| !state.stopped && state.request == CheckpointRequest::Pending;
        let state = self.wait(state, timeout, is_pending);
        let is_running = |state: &mut HandshakeState| state.request == CheckpointRequest::Running;
        drop(self.changed.wait_while(state, is_running));
        self.change(CheckpointRequest::Pending, CheckpointRequest::None);
    }

    /// Changes the request if it is `from`, and returns whether it was.
    fn change(&self, from: CheckpointRequest, to: CheckpointRequest) -> bool {
        let mut state = self.state();
        let matches = state.request == from;
        if matches {
            state.request = to;
            self.changed.notify_all();
        }
        matches
    }

    fn state(&self) -> MutexGuard<'_, HandshakeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, HandshakeState>,
        timeout: Duration,
        condition: impl FnMut(&mut HandshakeState) -> bool,
    ) -> MutexGuard<'a, HandshakeState> {
        let waited = self.changed.wait_timeout_while(state, timeout, condition);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Ends the request when dropped, so the thread does not wait for a writer that panicked.
struct ServeGuard<'a>(&'a Handshake);

impl Drop for ServeGuard<'_> {
    fn drop(&mut self) {
        self.0.change(CheckpointRequest::Running, CheckpointRequest::None);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread::JoinHandle;
    use std::time::Instant;

    use super::*;

    const LONG_TIMEOUT: Duration = Duration::from_secs(20);
    const SHORT_TIMEOUT: Duration = Duration::from_millis(20);

    /// Makes a request on a second thread, which returns the request's duration. Returns once it is pending.
    fn request(handshake: &Arc<Handshake>, timeout: Duration) -> JoinHandle<Duration> {
        let requester = handshake.clone();
        let thread = std::thread::spawn(move || {
            let began = Instant::now();
            requester.request(timeout);
            began.elapsed()
        });
        while handshake.state().request != CheckpointRequest::Pending && !thread.is_finished() {
            std::thread::yield_now();
        }
        thread
    }

    #[test]
    fn a_request_waits_until_it_is_served_once() {
        let handshake = Arc::new(Handshake::default());
        assert_eq!(handshake.serve(|| "without a request"), None);
        // On a busy machine this thread may be late, and the request must not be withdrawn before.
        let timeout = Duration::from_secs(1);
        let thread = request(&handshake, timeout);
        let served = handshake.serve(|| {
            // Longer than the request's timeout for the begin of this work.
            std::thread::sleep(timeout + SHORT_TIMEOUT);
            assert!(!thread.is_finished());
            "served"
        });
        assert_eq!(served, Some("served"));
        assert!(thread.join().unwrap() >= timeout);
        assert_eq!(handshake.serve(|| "again"), None);
    }

    #[test]
    fn a_request_is_withdrawn_after_its_timeout_and_not_served_later() {
        let handshake = Arc::new(Handshake::default());
        assert!(request(&handshake, SHORT_TIMEOUT).join().unwrap() < LONG_TIMEOUT);
        assert_eq!(handshake.serve(|| "late"), None);
    }

    #[test]
    fn a_request_ends_if_the_writer_panics() {
        let handshake = Arc::new(Handshake::default());
        let thread = request(&handshake, LONG_TIMEOUT);
        let writer = handshake.clone();
        let panicked = std::thread::spawn(move || writer.serve(|| panic!("a defect"))).join();
        assert!(panicked.is_err());
        assert!(thread.join().unwrap() < LONG_TIMEOUT);
    }

    #[test]
    fn a_commit_ends_the_wait_and_so_does_a_stop() {
        let handshake = Handshake::default();
        let began = Instant::now();
        assert_eq!(
            handshake.wait_for_commit(Some(SHORT_TIMEOUT), LONG_TIMEOUT),
            Some(Wakeup::Idle)
        );
        assert!(
            began.elapsed() < LONG_TIMEOUT,
            "without a commit there is no pause for more"
        );
        handshake.notify_commit();
        assert_eq!(handshake.wait_for_commit(None, Duration::ZERO), Some(Wakeup::Commits));
        handshake.stop();
        assert_eq!(handshake.wait_for_commit(None, LONG_TIMEOUT), None);
        handshake.request(LONG_TIMEOUT);
    }
}
