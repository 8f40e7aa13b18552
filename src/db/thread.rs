//! Starts placet's own threads.

use std::thread::{Builder, JoinHandle};

use rustix::process::{Signal, getpid, kill_process};

use super::SetupError;

/// Starts a thread. `ps -T` and `top -H` show `name`, at most 15 characters on Linux.
///
/// # Errors
/// [`SetupError::Thread`] if the system cannot start a further thread.
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, SetupError> {
    let started = Builder::new().name(name.to_owned()).spawn(work);
    started.map_err(|error| SetupError::Thread {
        detail: error.to_string(),
    })
}

/// Stops the process, as SIGTERM does, if the thread with this value panics. For a thread without which the process is
/// useless: a supervisor starts the process again.
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
