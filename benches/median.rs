//! The median time of a call.

use std::time::{Duration, Instant};

/// The median of `rounds` calls. `measured` returns a number, so that the compiler keeps the work.
pub fn median(rounds: i32, mut measured: impl FnMut() -> usize) -> Duration {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(measured());
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}
