//! Counts open connections, so that a stop can wait until all of them are closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of open connections. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct OpenConnections(Arc<AtomicUsize>);

/// Counts as one connection until it is dropped.
pub struct OpenConnection(OpenConnections);

impl OpenConnections {
    /// Counts one more connection.
    pub fn add(&self) -> OpenConnection {
        self.0.fetch_add(1, Ordering::AcqRel);
        OpenConnection(self.clone())
    }

    /// The number of connections that are open now.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}
