//! Starts placet's own threads.

use std::thread::{Builder, JoinHandle};

use super::SetupError;

/// Starts a thread. `ps -T` and `top -H` show its `name`, at most 15 characters of it on Linux.
///
/// # Errors
/// [`SetupError::Thread`] if the system cannot start another thread.
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, SetupError> {
    let started = Builder::new().name(name.to_owned()).spawn(work);
    started.map_err(|error| SetupError::Thread {
        detail: error.to_string(),
    })
}
