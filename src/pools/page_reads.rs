//! The threads on which pages of a whole cloud are read from the database.

use tokio::runtime::{Handle, Runtime};

use super::pool::low_priority_runtime;

/// The most threads. A read has a connection first, so fewer connections need fewer threads.
const THREADS: usize = 64;

/// Threads of low priority that wait for the database.
///
/// A pool's threads compute answers. If the database hangs, the threads of page reads wait, and the pools go on.
pub struct PageReadThreads {
    /// `None` in `drop`.
    runtime: Option<Runtime>,
    handle: Handle,
}

impl PageReadThreads {
    /// # Errors
    /// If the process has no file descriptors left.
    pub fn start() -> std::io::Result<PageReadThreads> {
        let runtime = low_priority_runtime(THREADS)?;
        Ok(PageReadThreads {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }

    /// The runtime whose blocking threads read.
    pub fn runtime(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for PageReadThreads {
    fn drop(&mut self) {
        // A read in progress has no client any more.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
