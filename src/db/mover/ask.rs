//! What the writer and the thread that moves its log tell each other: that there were commits, and that the writer is to
//! finish the log. Neither ever waits for the other without need.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// See the module.
#[derive(Default)]
pub struct Asked {
    state: Mutex<State>,
    changed: Condvar,
    /// There were commits since the thread last looked.
    committed: AtomicBool,
    /// Whether there is a wish, for whoever looks after each batch.
    is_asked: AtomicBool,
}

/// What the thread heard while it waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// There were commits.
    Commits,
    /// There were none all the time.
    Nothing,
}

#[derive(Default)]
struct State {
    stopped: bool,
    wish: Wish,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Wish {
    #[default]
    None,
    Open,
    /// The writer is at it.
    Answered,
}

impl Asked {
    /// The writer's: costs nothing where the thread knows already.
    pub fn tell_of_commit(&self) {
        if !self.committed.swap(true, Ordering::AcqRel) {
            let _state = self.state();
            self.changed.notify_all();
        }
    }

    /// The writer's: does what the thread asked for, if it did.
    pub fn answer<T>(&self, finish: impl FnOnce() -> T) -> Option<T> {
        if !self.is_asked.load(Ordering::Acquire) || !self.change(Wish::Open, Wish::Answered) {
            return None;
        }
        let _done = Done(self);
        Some(finish())
    }

    /// Ends every wait of the thread, for ever.
    pub fn stop(&self) {
        self.state().stopped = true;
        self.changed.notify_all();
    }

    pub fn is_stopped(&self) -> bool {
        self.state().stopped
    }

    /// The thread's: waits for so long until there were commits, and then for more of them to come. `None` where it is to end.
    pub fn wait_for_commit(&self, at_most: Option<Duration>, more: Duration) -> Option<Heard> {
        let quiet = |state: &mut State| !state.stopped && !self.committed.load(Ordering::Acquire);
        let state = self.state();
        let state = match at_most {
            Some(at_most) => self.wait(state, at_most, quiet),
            None => self
                .changed
                .wait_while(state, quiet)
                .unwrap_or_else(PoisonError::into_inner),
        };
        if !self.committed.load(Ordering::Acquire) {
            return (!state.stopped).then_some(Heard::Nothing);
        }
        let state = self.wait(state, more, |state| !state.stopped);
        self.committed.store(false, Ordering::Release);
        (!state.stopped).then_some(Heard::Commits)
    }

    /// The thread's: asks the writer, and waits until it has done it; or takes the wish back where it does not come for so
    /// long.
    pub fn ask(&self, patience: Duration) {
        self.change(Wish::None, Wish::Open);
        let state = self.state();
        let state = self.wait(state, patience, |state| !state.stopped && state.wish == Wish::Open);
        let at_it = |state: &mut State| state.wish == Wish::Answered;
        drop(self.changed.wait_while(state, at_it));
        self.change(Wish::Open, Wish::None);
    }

    /// False where it is not as it `was`.
    fn change(&self, was: Wish, is: Wish) -> bool {
        let mut state = self.state();
        let changes = state.wish == was;
        if changes {
            state.wish = is;
            self.is_asked.store(is == Wish::Open, Ordering::Release);
            self.changed.notify_all();
        }
        changes
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State>,
        at_most: Duration,
        while_: impl FnMut(&mut State) -> bool,
    ) -> MutexGuard<'a, State> {
        let waited = self.changed.wait_timeout_while(state, at_most, while_);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// However the writer's part ends, the thread does not wait for it any more.
struct Done<'a>(&'a Asked);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.change(Wish::Answered, Wish::None);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);
    const SHORT: Duration = Duration::from_millis(20);

    /// Asks on a thread of its own, until somebody has noticed.
    fn asked(asked: &Arc<Asked>, patience: Duration) -> std::thread::JoinHandle<Duration> {
        let it = asked.clone();
        let thread = std::thread::spawn(move || {
            let began = Instant::now();
            it.ask(patience);
            began.elapsed()
        });
        while !asked.is_asked.load(Ordering::Acquire) && !thread.is_finished() {
            std::thread::yield_now();
        }
        thread
    }

    #[test]
    fn who_asks_waits_until_it_is_done_and_is_answered_once() {
        let it = Arc::new(Asked::default());
        assert_eq!(it.answer(|| "nobody asked"), None);
        let thread = asked(&it, SHORT);
        let done = it.answer(|| {
            // Longer than the one who asks would wait for it to begin.
            std::thread::sleep(5 * SHORT);
            assert!(!thread.is_finished());
            "done"
        });
        assert_eq!(done, Some("done"));
        assert!(thread.join().unwrap() >= 5 * SHORT);
        assert_eq!(it.answer(|| "again"), None);
    }

    #[test]
    fn nobody_waits_for_a_writer_that_does_not_come_nor_finds_the_old_wish_later() {
        let it = Arc::new(Asked::default());
        assert!(asked(&it, SHORT).join().unwrap() < LONG);
        assert_eq!(it.answer(|| "late"), None);
    }

    #[test]
    fn a_writer_that_meets_a_defect_leaves_nobody_waiting() {
        let it = Arc::new(Asked::default());
        let thread = asked(&it, LONG);
        let other = it.clone();
        let panicked = std::thread::spawn(move || other.answer(|| panic!("a defect"))).join();
        assert!(panicked.is_err());
        assert!(thread.join().unwrap() < LONG);
    }

    #[test]
    fn a_commit_ends_the_wait_and_so_does_the_end() {
        let it = Asked::default();
        let began = Instant::now();
        assert_eq!(it.wait_for_commit(Some(SHORT), LONG), Some(Heard::Nothing));
        assert!(began.elapsed() < LONG, "more of what did not come is not waited for");
        it.tell_of_commit();
        assert_eq!(it.wait_for_commit(None, Duration::ZERO), Some(Heard::Commits));
        it.stop();
        assert_eq!(it.wait_for_commit(None, LONG), None);
        it.ask(LONG);
    }
}
