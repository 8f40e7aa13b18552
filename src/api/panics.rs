//! How often this process has panicked. A panic is a defect of placet: it fails one request, or ends one thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the panics of all threads. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct PanicCount(Arc<AtomicU64>);

impl PanicCount {
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
