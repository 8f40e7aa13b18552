//! The writer's counters.

use crate::statistics::{Counter, Gauge, Histogram};

use super::write_state::WriteState;

/// The counters of a process's writer.
#[derive(Debug)]
pub struct WriterStatistics {
    /// The number of commands in each batch that was committed.
    pub batch_sizes: Histogram,
    /// How long each batch took until COMMIT or refusal, with all attempts.
    pub batch_times: Histogram,
    /// Attempts that failed because of a peer's commit.
    pub conflicts: Counter,
    /// Attempts after the first attempt, by their strategy.
    pub optimistic_retries: Counter,
    pub locked_retries: Counter,
    pub database_retries: Counter,
    /// Rows that a concurrent transaction held for longer than a batch waits.
    pub held_rows: Counter,
    /// Commands that wait for held rows.
    pub parked: Gauge,
    /// Whether the database accepts writes.
    pub writes: WriteState,
}

impl Default for WriterStatistics {
    fn default() -> WriterStatistics {
        WriterStatistics {
            batch_sizes: Histogram::of_sizes(),
            batch_times: Histogram::of_times(),
            conflicts: Counter::default(),
            optimistic_retries: Counter::default(),
            locked_retries: Counter::default(),
            database_retries: Counter::default(),
            held_rows: Counter::default(),
            parked: Gauge::default(),
            writes: WriteState::default(),
        }
    }
}
