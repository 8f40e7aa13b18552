//! The clock of `BootInstant` counts suspended time. The kernel's time namespaces can set a process apart by hours.

use std::cell::Cell;
use std::process::Command;
use std::time::Duration;

use rustix::time::{ClockId, Timespec};

use super::BootInstant;

thread_local! {
    /// The time that this thread adds to the clock, as if the machine had been suspended.
    pub static SUSPENDED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// The kernel's clock, after the suspensions of this thread.
pub fn clock_gettime(clock: ClockId) -> Timespec {
    let suspended = Timespec::try_from(SUSPENDED.get()).expect("a time");
    rustix::time::clock_gettime(clock) + suspended
}

const HOUR: Duration = Duration::from_secs(3600);

/// Set in the process that the test below starts in a time namespace.
const PRINTS_THE_CLOCK: &str = "PLACET_TEST_PRINTS_THE_CLOCK";

/// In the namespace CLOCK_BOOTTIME is ahead by an hour, as after a suspension of an hour, and CLOCK_MONOTONIC is not. A
/// clock that stops during a suspension does not show this hour.
#[test]
fn the_clock_counts_the_time_of_a_suspension() {
    if std::env::var_os(PRINTS_THE_CLOCK).is_some() {
        println!("clock: {}", BootInstant::now().0.as_secs());
        return;
    }
    let namespace = ["--user", "--map-root-user", "--time", "--boottime", "3600", "--fork"];
    let this = std::env::current_exe().expect("the tests' binary");
    let name = "db::boot_instant::tests::the_clock_counts_the_time_of_a_suspension";
    let run = Command::new("unshare")
        .args(namespace)
        .arg(this)
        .args([name, "--exact", "--nocapture"])
        .env(PRINTS_THE_CLOCK, "1")
        .output();
    let printed = match run {
        Ok(run) if run.status.success() => String::from_utf8_lossy(&run.stdout).into_owned(),
        refused => {
            println!("Skipped: this machine allows no time namespace: {refused:?}");
            return;
        }
    };
    let (_, clock) = printed.split_once("clock: ").expect("the clock");
    let clock: u64 = clock.lines().next().and_then(|it| it.parse().ok()).expect("seconds");
    let ahead = Duration::from_secs(clock).saturating_sub(BootInstant::now().0);
    assert!(ahead + Duration::from_secs(60) > HOUR, "{ahead:?}");
}

#[test]
fn a_moment_that_has_not_come_has_no_age() {
    let now = BootInstant::now();
    assert_eq!((now + HOUR).elapsed(), Duration::ZERO);
    assert_eq!((now + HOUR).saturating_duration_since(now), HOUR);
    assert!(now + HOUR > now && BootInstant::now() >= now);
}
