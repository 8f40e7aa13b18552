//! The counters of the model: claims, and how the snapshot is kept up to date. `numbers` reads all counters at once.

mod claims;
mod numbers;

pub use claims::ClaimStatistics;
pub use numbers::{ConsumerCount, ModelNumbers, read};

pub use crate::db::writer::write_state::WriteRefusal;
pub use crate::db::{PoolState, WriterStatistics};
use crate::statistics::{Counter, Histogram};

/// Why everything is read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReloadReason {
    /// A new connection leads to a database without some commits of the snapshot.
    Reconnected,
    /// The change feed lacks changes that the snapshot needs.
    Feed,
    /// The writer's row was changed, or a commit could not be shown.
    Writer,
    /// A program other than placet wrote to the database.
    ForeignWriter,
}

impl ReloadReason {
    /// In the order of the variants.
    pub const ALL: [(ReloadReason, &'static str); 4] = [
        (ReloadReason::Reconnected, "reconnected"),
        (ReloadReason::Feed, "change_feed"),
        (ReloadReason::Writer, "writer"),
        (ReloadReason::ForeignWriter, "foreign_writer"),
    ];
}

/// How the snapshot is kept up to date.
#[derive(Debug)]
pub struct SnapshotStatistics {
    /// The times of reading the change feed.
    pub refreshes: Histogram,
    /// The times of reading everything, at start and again.
    pub loads: Histogram,
    /// By reason, in the order of [`ReloadReason::ALL`].
    pub reloads: [Counter; ReloadReason::ALL.len()],
}

impl Default for SnapshotStatistics {
    fn default() -> SnapshotStatistics {
        SnapshotStatistics {
            refreshes: Histogram::of_times(),
            loads: Histogram::of_times(),
            reloads: Default::default(),
        }
    }
}

impl SnapshotStatistics {
    pub fn note_reload(&self, reason: ReloadReason) {
        self.reloads[reason as usize].increment();
    }
}
