//! A moment on a clock that goes on while the machine is suspended. On Linux `std::time::Instant` stops: after an hour
//! of suspension a deadline would still have all of its time, and an old snapshot would look fresh.
//!
//! The clock measures ages and deadlines that clients rely on, and not placet's own pauses and timeouts.

use std::ops::Add;
use std::time::Duration;

#[cfg(not(test))]
use rustix::time::clock_gettime;
use rustix::time::{ClockId, Timespec};
/// As the function of the kernel, but tests can suspend the machine.
#[cfg(test)]
use tests::clock_gettime;

/// Outside of Linux the monotonic clock of the C library counts suspended time.
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;
#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;

/// A moment, as the time since the machine was booted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BootInstant(Duration);

impl BootInstant {
    /// The current moment.
    pub fn now() -> BootInstant {
        let Timespec { tv_sec, tv_nsec } = clock_gettime(CLOCK);
        let seconds = Duration::from_secs(tv_sec.unsigned_abs());
        BootInstant(seconds + Duration::from_nanos(tv_nsec.unsigned_abs()))
    }

    /// The time since this moment; zero for a future moment.
    pub fn elapsed(self) -> Duration {
        BootInstant::now().saturating_duration_since(self)
    }

    /// The time from `earlier` to this moment; zero if `earlier` is later than this moment.
    pub fn saturating_duration_since(self, earlier: BootInstant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for BootInstant {
    type Output = BootInstant;

    fn add(self, time: Duration) -> BootInstant {
        BootInstant(self.0 + time)
    }
}

#[cfg(test)]
pub mod tests;
