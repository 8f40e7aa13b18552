//! A background thread: works until the process stops.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The thread, unless it is disabled.
pub struct Background {
    running: Option<(Sender<()>, JoinHandle<()>)>,
    interrupt: Box<dyn FnOnce() + Send>,
}

/// Ends when the thread is to stop.
pub struct Stopped(Receiver<()>);

impl Background {
    /// Starts a thread for `work`. An interval of zero starts no thread.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(
        name: &str,
        interval: Duration,
        work: impl FnOnce(&Stopped) + Send + 'static,
    ) -> std::io::Result<Background> {
        let interrupt = Box::new(|| {});
        if interval.is_zero() {
            return Ok(Background {
                running: None,
                interrupt,
            });
        }
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(&Stopped(stopped)))?;
        Ok(Background {
            running: Some((stop, thread)),
            interrupt,
        })
    }

    /// Calls `interrupt` when the thread is to stop, to end the present work.
    pub fn interrupted_by(self, interrupt: impl FnOnce() + Send + 'static) -> Background {
        Background {
            interrupt: Box::new(interrupt),
            ..self
        }
    }

    /// Stops the thread, and waits for its present work: the writer cannot end while the thread holds the model.
    pub fn stop(self) {
        if let Some((stop, thread)) = self.running {
            drop(stop);
            (self.interrupt)();
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

    /// Whether the thread is to stop.
    pub fn is_set(&self) -> bool {
        self.0.try_recv() == Err(TryRecvError::Disconnected)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn what_a_thread_does_is_interrupted_when_it_is_to_stop() {
        let interrupted = Arc::new(AtomicBool::new(false));
        let (end, ended) = channel();
        let its_interrupted = Arc::clone(&interrupted);
        let work = move |stopped: &Stopped| {
            while !its_interrupted.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            let _ = end.send(stopped.is_set());
        };
        let background = Background::start("test", Duration::from_secs(1), work).unwrap();
        let background = background.interrupted_by(move || interrupted.store(true, Ordering::Relaxed));
        std::thread::spawn(move || background.stop());
        assert_eq!(ended.recv_timeout(Duration::from_secs(10)), Ok(true));
    }
}
