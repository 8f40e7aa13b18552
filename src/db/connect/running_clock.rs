//! A clock that stops while this process stands still: a signal stopped the process, or the machine was suspended.
//!
//! Naively, the silence of the database is the time since its last answer. After a stop of a minute the process would
//! report a minute of silence. So a thread beats regularly, and the time without a beat does not count.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::db::boot_instant::BootInstant;

/// A pause between two beats is a standstill from this length on.
const STANDSTILL: u64 = 2_000;
/// Before the first beat nothing is known.
const NO_BEAT: u64 = u64::MAX;

/// The clock, in milliseconds.
#[derive(Debug)]
pub(super) struct RunningClock {
    began: BootInstant,
    /// When the last beat came, on the clock that goes on.
    beat: AtomicU64,
    /// How long the process stood still before the last beat, all together.
    stood_still: AtomicU64,
}

impl RunningClock {
    pub fn new() -> RunningClock {
        RunningClock {
            began: BootInstant::now(),
            beat: AtomicU64::new(NO_BEAT),
            stood_still: AtomicU64::new(0),
        }
    }

    /// The milliseconds for which the process has run.
    pub fn now(&self) -> u64 {
        let now = self.elapsed();
        let stood_still = self.stood_still.load(Ordering::Relaxed) + self.without_beat(now);
        now.saturating_sub(stood_still)
    }

    /// Shows that the process runs. Returns how long the process stood still since the last beat.
    pub fn beat(&self) -> Option<Duration> {
        let now = self.elapsed();
        let stood_still = self.without_beat(now);
        self.stood_still.fetch_add(stood_still, Ordering::Relaxed);
        self.beat.store(now, Ordering::Relaxed);
        (stood_still > 0).then(|| Duration::from_millis(stood_still))
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
