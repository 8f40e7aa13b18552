//! The log of the changes published while a thread is reading rows.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use crate::db::change_feed::Position;
use crate::model::snapshot::committed::Committed;
use crate::search::ProviderId;

/// A published commit.
pub struct PublishedChange {
    pub writer: String,
    pub position: Position,
    pub committed: Committed,
}

/// The changes applied together.
pub type LogEntry = Arc<Vec<PublishedChange>>;

/// The log keeps this number of entries. A thread in need of an older entry reads rows again.
const LOG_ENTRIES_MAX: usize = 20_000;

/// The changes published while rows are being read.
#[derive(Default)]
pub struct PublishedLog {
    /// How many threads are reading rows.
    readers: usize,
    /// How many entries were dropped. Also the number of the first entry in `entries`.
    dropped: usize,
    entries: VecDeque<LogEntry>,
    /// The providers of which rows were published.
    pub read: BTreeSet<ProviderId>,
}

impl PublishedLog {
    /// A thread begins to read rows. Returns the number of the first entry after the beginning.
    pub fn begin_reader(&mut self) -> usize {
        self.readers += 1;
        self.end()
    }

    pub fn end_reader(&mut self) {
        self.readers -= 1;
        if self.readers == 0 {
            self.dropped = self.end();
            self.entries = VecDeque::new();
            self.read = BTreeSet::new();
        }
    }

    /// Notes the providers of published rows. A second thread may be reading everything.
    pub fn note_read(&mut self, providers: BTreeSet<ProviderId>) {
        // `readers` counts the publishing thread, too.
        if self.readers > 1 {
            self.read.extend(providers);
        }
    }

    /// Adds changes applied together. Costs nothing if no thread is reading rows.
    pub fn push(&mut self, changes: Vec<PublishedChange>) {
        if self.readers == 0 {
            return;
        }
        if self.entries.len() == LOG_ENTRIES_MAX {
            self.entries.pop_front();
            self.dropped += 1;
        }
        self.entries.push_back(Arc::new(changes));
    }

    /// Adds a commit of this process, even if the commit could not be applied.
    pub fn push_own(&mut self, committed: &Committed, writer: &str, position: &Position) {
        if self.readers > 0 {
            self.push(vec![PublishedChange {
                writer: writer.to_owned(),
                position: position.clone(),
                committed: committed.clone(),
            }]);
        }
    }

    /// The number of the next entry.
    pub fn end(&self) -> usize {
        self.dropped + self.entries.len()
    }

    /// The entries from this number on; `None` if some of these entries were dropped.
    pub fn since(&self, number: usize) -> Option<Vec<LogEntry>> {
        let index = number.checked_sub(self.dropped)?;
        Some(self.entries.range(index..).cloned().collect())
    }
}
