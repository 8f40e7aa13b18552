//! What the writer counts.

use crate::statistics::{Counter, Gauge, Histogram};

use super::strategy::CommitStrategy;
use super::write_state::WriteState;

/// What the writer of a process counts.
#[derive(Debug)]
pub struct WriterStatistics {
    /// The number of commands in each batch that was committed.
    pub batch_sizes: Histogram,
    /// How long it took to commit a batch or to give up, with all attempts.
    pub batch_times: Histogram,
    /// Attempts that a commit of another process made fail.
    pub conflicts: Counter,
    /// Attempts after the first one, by their strategy.
    pub optimistic_retries: Counter,
    pub locked_retries: Counter,
    pub database_retries: Counter,
    /// Rows that another transaction held for longer than a batch waits. A claim avoids such a row if it can.
    pub held_rows: Counter,
    /// Commands that wait for rows which other transactions have locked.
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

impl WriterStatistics {
    /// Counts another attempt.
    pub(super) fn note_retry(&self, strategy: CommitStrategy) {
        let retries = match strategy {
            CommitStrategy::Optimistic => &self.optimistic_retries,
            CommitStrategy::Locked => &self.locked_retries,
            CommitStrategy::FromDatabase => &self.database_retries,
        };
        retries.increment();
    }
}
