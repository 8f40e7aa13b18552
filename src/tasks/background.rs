//! A thread that works until the process stops.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The thread, unless it is disabled.
pub struct Background {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

/// Ends when the thread is to stop.
pub struct Stopped(Receiver<()>);

impl Background {
    /// Starts a thread for `work`. With an interval of zero there is none.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(
        name: &str,
        interval: Duration,
        work: impl FnOnce(&Stopped) + Send + 'static,
    ) -> std::io::Result<Background> {
        if interval.is_zero() {
            return Ok(Background { running: None });
        }
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(&Stopped(stopped)))?;
        Ok(Background {
            running: Some((stop, thread)),
        })
    }

    /// Stops the thread, and waits for what it is doing: the writer cannot end while the thread holds the model.
    pub fn stop(self) {
        if let Some((stop, thread)) = self.running {
            drop(stop);
            let name = thread.thread().name().unwrap_or_default().to_owned();
            if thread.join().is_err() {
                log::error!("The thread {name} has panicked");
            }
        }
    }
}

impl Stopped {
    /// Waits; false if the thread is to stop.
    pub fn sleep(&self, time: Duration) -> bool {
        self.0.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
    }
}
