//! When the database last answered this process, on any connection, by a clock that stops while the process stands
//! still: a signal stopped the process, or the machine was suspended.
//!
//! Naively, the silence of the database is the time since its last answer. After a stop of a minute the process would
//! report a minute of silence. So a thread beats regularly, and the time without a beat does not count.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::db::boot_instant::BootInstant;

/// A pause between two beats is a standstill from this length on, in milliseconds.
const STANDSTILL: u64 = 2_000;
/// Before the first beat nothing is known.
const NO_BEAT: u64 = u64::MAX;

/// The moment of the last answer. Clones share the moment. Each statement notes its answer, without a lock.
#[derive(Clone)]
pub(super) struct LastAnswer(Arc<Moments>);

/// In milliseconds since `began`.
struct Moments {
    began: BootInstant,
    /// When the last beat came.
    beat: AtomicU64,
    /// How long the process stood still before the last beat, all together.
    stood_still: AtomicU64,
    /// When the last answer came, without the time in which the process stood still.
    answer: AtomicU64,
}

impl LastAnswer {
    /// Counts the present moment as an answer.
    pub fn new() -> LastAnswer {
        LastAnswer(Arc::new(Moments {
            began: BootInstant::now(),
            beat: AtomicU64::new(NO_BEAT),
            stood_still: AtomicU64::new(0),
            answer: AtomicU64::new(0),
        }))
    }

    /// Notes an answer.
    pub fn note(&self) {
        self.0.answer.fetch_max(self.0.running_time(), Ordering::Relaxed);
    }

    /// The time since the last answer, while this process ran.
    pub fn silence(&self) -> Duration {
        let answer = self.0.answer.load(Ordering::Relaxed);
        Duration::from_millis(self.0.running_time().saturating_sub(answer))
    }

    /// Shows that this process runs. Returns how long the process stood still since the last beat.
    pub fn beat(&self) -> Option<Duration> {
        let now = self.0.elapsed();
        let stood_still = self.0.without_beat(now);
        self.0.stood_still.fetch_add(stood_still, Ordering::Relaxed);
        self.0.beat.store(now, Ordering::Relaxed);
        (stood_still > 0).then(|| Duration::from_millis(stood_still))
    }
}

impl Moments {
    /// For how long the process has run.
    fn running_time(&self) -> u64 {
        let now = self.elapsed();
        let stood_still = self.stood_still.load(Ordering::Relaxed) + self.without_beat(now);
        now.saturating_sub(stood_still)
    }

    /// The time since the last beat, if the time is a standstill.
    fn without_beat(&self, now: u64) -> u64 {
        let pause = now.saturating_sub(self.beat.load(Ordering::Relaxed));
        if pause >= STANDSTILL { pause } else { 0 }
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
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
