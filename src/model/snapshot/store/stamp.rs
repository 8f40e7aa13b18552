//! Whether rows that were read without a lock may still be published, or are obsolete.

/// Counts the events after which something that was read before may be obsolete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    /// How often everything was reloaded.
    pub reloads: u64,
    pub invalidations: u64,
    /// How often marked rows were read and published.
    pub row_reads: u64,
    pub foreign_commits: u64,
}

impl Stamp {
    /// Whether the snapshot was neither reloaded nor invalidated between the two.
    pub fn is_same_reload(&self, other: &Stamp) -> bool {
        (self.reloads, self.invalidations) == (other.reloads, other.invalidations)
    }

    /// Whether no rows were published either.
    pub fn is_same_read(&self, other: &Stamp) -> bool {
        self.is_same_reload(other) && self.row_reads == other.row_reads
    }
}
