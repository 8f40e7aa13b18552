//! When the database last answered this process, on any connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::running_clock::RunningClock;

/// The moment of the last answer. Clones share the moment. Each statement notes its answer, without a lock.
#[derive(Debug, Clone)]
pub(super) struct LastAnswer {
    clock: Arc<RunningClock>,
    /// In milliseconds of the clock.
    at: Arc<AtomicU64>,
}

impl LastAnswer {
    /// Counts the present moment as an answer.
    pub fn new() -> LastAnswer {
        LastAnswer {
            clock: Arc::new(RunningClock::new()),
            at: Arc::default(),
        }
    }

    /// Notes an answer.
    pub fn note(&self) {
        self.at.fetch_max(self.clock.now(), Ordering::Relaxed);
    }

    /// The time since the last answer, while this process ran.
    pub fn silence(&self) -> Duration {
        Duration::from_millis(self.clock.now().saturating_sub(self.at.load(Ordering::Relaxed)))
    }

    /// Shows that this process runs. Returns how long the process stood still before.
    pub fn beat(&self) -> Option<Duration> {
        self.clock.beat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::boot_instant::tests::SUSPENDED;

    #[test]
    fn the_silence_lasts_from_the_last_answer_on() {
        let answer = LastAnswer::new();
        std::thread::sleep(Duration::from_millis(30));
        assert!(answer.silence() >= Duration::from_millis(25));
        answer.clone().note();
        assert!(answer.silence() < Duration::from_millis(25));
    }

    #[test]
    fn found_n5_the_time_in_which_this_process_stood_still_is_no_silence() {
        let pass = |seconds: u64| SUSPENDED.set(SUSPENDED.get() + Duration::from_secs(seconds));
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs());
        let answer = LastAnswer::new();
        // In a command no thread beats: all time counts.
        pass(3);
        assert_eq!(answer.silence().as_secs(), 3);
        assert_eq!(answer.beat(), None);
        pass(1);
        assert_eq!((seconds(answer.beat()), answer.silence().as_secs()), (None, 4));
        // Before the thread has run again, too.
        pass(76);
        assert_eq!(answer.silence().as_secs(), 4);
        assert_eq!((seconds(answer.beat()), answer.silence().as_secs()), (Some(76), 4));
        // An answer during the pause counts as an answer at the end of the pause.
        pass(50);
        answer.note();
        assert_eq!((seconds(answer.beat()), answer.silence().as_secs()), (Some(50), 0));
        pass(1);
        assert_eq!((answer.beat(), answer.silence().as_secs()), (None, 1));
    }
}
