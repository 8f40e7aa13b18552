//! Counts open connections, for a stop that waits for their closing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of open connections. Clones share the number.
#[derive(Debug, Clone, Default)]
pub struct OpenConnections(Arc<AtomicUsize>);

/// An open connection in the count, until dropped.
pub struct OpenConnection(OpenConnections);

impl OpenConnections {
    /// Counts a further connection.
    pub fn add(&self) -> OpenConnection {
        self.0.fetch_add(1, Ordering::AcqRel);
        OpenConnection(self.clone())
    }

    /// The number of open connections.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}
