//! Starts placet's own threads.

use std::thread::{Builder, JoinHandle};

use rustix::process::{Signal, getpid, kill_process};

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

/// Stops the process, as SIGTERM does, if the thread that holds this panics. For a thread without which the process is
/// of no use: its supervisor starts it again.
pub struct StopOnPanic;

impl Drop for StopOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            log::error!("The process stops, because it cannot go on without this thread: start it again");
            if let Err(error) = kill_process(getpid(), Signal::TERM) {
                log::error!("Cannot stop the process: {error}");
            }
        }
    }
}
