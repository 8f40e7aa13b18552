//! A background thread: works until the process stops.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The thread; `None` if it is disabled.
pub struct Background(Option<BackgroundThread>);

struct BackgroundThread {
    stop: Sender<()>,
    thread: JoinHandle<()>,
    interrupt: Box<dyn FnOnce() + Send>,
}

/// Ends when the thread is to stop.
pub struct Stopped(Receiver<()>);

impl Background {
    /// Starts a thread for `work`. An interval of zero starts no thread. `interrupt` is called when the thread is to
    /// stop, to end the present work.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(
        name: &str,
        interval: Duration,
        interrupt: impl FnOnce() + Send + 'static,
        work: impl FnOnce(&Stopped) + Send + 'static,
    ) -> std::io::Result<Background> {
        if interval.is_zero() {
            return Ok(Background(None));
        }
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || work(&Stopped(stopped)))?;
        Ok(Background(Some(BackgroundThread {
            stop,
            thread,
            interrupt: Box::new(interrupt),
        })))
    }

    /// Stops the thread, and waits for its present work: the writer cannot end while the thread holds the model.
    pub fn stop(self) {
        let Some(running) = self.0 else { return };
        drop(running.stop);
        (running.interrupt)();
        let name = running.thread.thread().name().unwrap_or_default().to_owned();
        if running.thread.join().is_err() {
            log::error!("The thread {name} has panicked");
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
        let interrupt = move || interrupted.store(true, Ordering::Relaxed);
        let background = Background::start("test", Duration::from_secs(1), interrupt, work).unwrap();
        std::thread::spawn(move || background.stop());
        assert_eq!(ended.recv_timeout(Duration::from_secs(10)), Ok(true));
    }
}
