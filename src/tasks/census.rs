//! A background thread that counts pending replicas and broken rules, for the metrics.

use std::time::{Duration, Instant};

use super::background::Background;
use super::failures::Failures;
use crate::model::census::Census;

/// The pause after a count, as a multiple of the count's duration. So the thread works 1% of the time at most.
const PAUSE_FACTOR: u32 = 100;
/// The time from the start of the process to the first count.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// Starts the thread. `interval` is the least pause between two counts; zero disables the census.
///
/// # Errors
/// If the thread cannot be started.
pub fn start(census: Census, interval: Duration) -> std::io::Result<Background> {
    let interrupt = census.interrupt();
    Background::start("placet-census", interval, interrupt, move |stopped| {
        census.begin();
        let (mut failures, mut pause) = (Failures::default(), interval.min(FIRST_PAUSE));
        while stopped.sleep(pause) {
            let began = Instant::now();
            let failed = census.count().err().map(|error| error.for_log());
            if let Some(error) = failed
                && !stopped.is_set()
                && failures.note("", error.clone())
            {
                log::warn!("Pending replicas and broken rules could not be counted; this is tried again: {error}");
            }
            failures.end_round();
            pause = pause_after(interval, began.elapsed());
        }
    })
}

fn pause_after(interval: Duration, took: Duration) -> Duration {
    interval.max(took * PAUSE_FACTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_u7_the_census_works_at_most_one_percent_of_the_time() {
        let (minute, second) = (Duration::from_secs(60), Duration::from_secs(1));
        assert_eq!(pause_after(minute, second / 10), minute);
        for took in [second, 30 * second] {
            let pause = pause_after(minute, took);
            assert!(took.as_secs_f64() / (took + pause).as_secs_f64() < 0.01, "{pause:?}");
        }
    }
}
