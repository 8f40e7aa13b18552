//! The options of the writer.

use std::time::Duration;

use crate::db::wal_checkpointer::WalLimits;

/// How the writer works.
#[derive(Debug, Clone)]
pub struct WriterSettings {
    /// How many small commands may wait, how many large ones, and how many for held rows. If one more comes, the caller
    /// with the most waiting commands is refused.
    pub queue_size: usize,
    /// How long a command may wait and be retried, both together. An in-doubt COMMIT is asked about for this long
    /// again.
    pub commit_timeout: Duration,
    /// How long SQLite's WAL may get.
    pub wal: WalLimits,
    /// How long the answers to calls with an id are kept.
    pub claim_memory: Duration,
    /// The time between two attempts of the process to take or to renew the lead.
    pub election_interval: Duration,
}
