//! Whether rows read without a lock may still be published, and whether a search still shows the newest state.

/// Counts the events after which earlier reads may be obsolete. Between two equal stamps the snapshot gained commits of
/// this process, and nothing else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// How often everything was reloaded.
    pub reloads: u64,
    pub invalidations: u64,
    /// How often marked rows were read and published.
    pub(super) row_reads: u64,
    pub(super) foreign_commits: u64,
    /// How often a page of the change feed had commits of peers.
    pub(super) peer_pages: u64,
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
