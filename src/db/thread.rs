//! The threads that placet has of its own.

use std::thread::{Builder, JoinHandle};

use super::SetupError;

/// Starts a thread, which the system's tools show under the name.
///
/// # Errors
/// [`SetupError::Thread`] where the system gives no more threads.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, SetupError> {
    let started = Builder::new().name(name.to_owned()).spawn(work);
    started.map_err(|error| SetupError::Thread {
        detail: error.to_string(),
    })
}
