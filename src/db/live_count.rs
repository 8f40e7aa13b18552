//! Counts the values that live: open connections, and commands without an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of living values. Clones share the number.
#[derive(Debug, Clone, Default)]
pub struct LiveCount(Arc<AtomicUsize>);

/// A value in the count, until dropped.
pub struct Counted(LiveCount);

impl LiveCount {
    /// Counts a further value.
    pub fn add(&self) -> Counted {
        self.0.fetch_add(1, Ordering::AcqRel);
        Counted(self.clone())
    }

    /// The number now.
    pub fn value(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}
