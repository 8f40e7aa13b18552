//! Counters of the layers, which a scrape of the metrics reads. The counters are atomics: counting takes no lock.
//!
//! To add a metric: count in the layer's own statistics (`src/db/writer/statistics.rs`, `src/model/statistics.rs`,
//! `src/api/http/statistics.rs`), write the metric and a row of `families.rs` in `src/api/metrics/`, show the metric in
//! `contrib/grafana/placet.json`, and add a description to `docs/observing.md`. The labels are bounded.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A number that only increases.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn increment(&self) {
        self.add(1);
    }

    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The last value of a number that rises and falls.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    pub fn set(&self, value: usize) {
        self.0
            .store(u64::try_from(value).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
/// In nanoseconds.
const TIME_BOUNDS: &[u64] = &[
    250 * MICROSECOND,
    500 * MICROSECOND,
    MILLISECOND,
    2_500 * MICROSECOND,
    5 * MILLISECOND,
    10 * MILLISECOND,
    25 * MILLISECOND,
    50 * MILLISECOND,
    100 * MILLISECOND,
    250 * MILLISECOND,
    500 * MILLISECOND,
    1_000 * MILLISECOND,
    2_500 * MILLISECOND,
    5_000 * MILLISECOND,
    10_000 * MILLISECOND,
    30_000 * MILLISECOND,
];
const NANOSECONDS: f64 = 1e9;
const SIZE_BOUNDS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// How often values of each magnitude occurred.
#[derive(Debug)]
pub struct Histogram {
    /// The highest value of each bucket except the last, which has no bound.
    bounds: &'static [u64],
    /// How many units of a recorded value are one unit of a [`Distribution`].
    scale: f64,
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

/// The values of a histogram, as the metrics show the values.
#[derive(Debug, PartialEq)]
pub struct Distribution {
    /// The highest value of each bucket except the last, and the number of values up to this bound.
    pub buckets: Vec<(f64, u64)>,
    pub sum: f64,
    pub count: u64,
}

impl Histogram {
    /// Of durations, shown in seconds.
    pub fn of_times() -> Histogram {
        Histogram::new(TIME_BOUNDS, NANOSECONDS)
    }

    /// Of numbers of things.
    pub fn of_sizes() -> Histogram {
        Histogram::new(SIZE_BOUNDS, 1.0)
    }

    fn new(bounds: &'static [u64], scale: f64) -> Histogram {
        Histogram {
            bounds,
            scale,
            counts: (0..=bounds.len()).map(|_| AtomicU64::default()).collect(),
            sum: AtomicU64::default(),
        }
    }

    pub fn record_time(&self, time: Duration) {
        self.record(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    pub fn record_size(&self, size: usize) {
        self.record(u64::try_from(size).unwrap_or(u64::MAX));
    }

    fn record(&self, value: u64) {
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        self.sum.fetch_add(value, Ordering::Relaxed);
    }

    pub fn read(&self) -> Distribution {
        let mut count = 0;
        let mut cumulative = self.counts.iter().map(|bucket| {
            count += bucket.load(Ordering::Relaxed);
            count
        });
        let bounds = self.bounds.iter().map(|bound| *bound as f64 / self.scale);
        let buckets = bounds.zip(&mut cumulative).collect();
        let count = cumulative.last().unwrap_or_default();
        Distribution {
            buckets,
            sum: self.sum.load(Ordering::Relaxed) as f64 / self.scale,
            count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_counts_all_values_up_to_its_bound() {
        let sizes = Histogram::of_sizes();
        for size in [0, 1, 2, 3, 1024, 1025] {
            sizes.record_size(size);
        }
        let read = sizes.read();
        assert_eq!(read.buckets[..3], [(1.0, 2), (2.0, 3), (4.0, 4)]);
        assert_eq!(read.buckets.last(), Some(&(1024.0, 5)));
        assert_eq!((read.count, read.sum), (6, 2055.0));
    }

    #[test]
    fn times_are_shown_in_seconds() {
        let times = Histogram::of_times();
        times.record_time(Duration::from_millis(1));
        times.record_time(Duration::from_secs(40));
        let read = times.read();
        assert_eq!(read.buckets[1..3], [(0.0005, 0), (0.001, 1)]);
        assert_eq!((read.count, read.sum), (2, 40.001));
    }
}
