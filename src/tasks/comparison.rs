//! A background thread that compares the snapshot with the tables. It finds the changes of foreign writers, which leave
//! no record in the change feed.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::rounds::Rounds;
use crate::model::Model;
use crate::model::snapshot::comparison::SLICE_PROVIDERS;

/// The thread, unless the comparison is disabled.
pub struct Comparison {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Comparison {
    /// Starts the thread. `interval` is the duration of one round over all providers; zero disables the comparison.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(model: Model, interval: Duration) -> std::io::Result<Comparison> {
        if interval.is_zero() {
            return Ok(Comparison { running: None });
        }
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new()
            .name("placet-compare".to_owned())
            .spawn(move || work(&model, interval, &stopped))?;
        Ok(Comparison {
            running: Some((stop, thread)),
        })
    }

    /// Stops the thread, and waits for its current slice: the writer cannot end while the thread holds the model.
    pub fn stop(self) {
        if let Some((stop, thread)) = self.running {
            drop(stop);
            if thread.join().is_err() {
                log::error!("The thread that compares the snapshot with the tables has panicked");
            }
        }
    }
}

fn work(model: &Model, interval: Duration, stopped: &Receiver<()>) {
    let mut rounds = Rounds::new(interval);
    while stopped.recv_timeout(rounds.pause(model.provider_count())) == Err(RecvTimeoutError::Timeout) {
        match model.compare(rounds.after, SLICE_PROVIDERS) {
            Ok(result) => {
                for over in rounds.record(&result) {
                    log::warn!(
                        "Provider {} is over capacity: {} of {} are used, of {} that it has",
                        over.provider,
                        over.used,
                        over.class,
                        over.capacity
                    );
                }
            }
            Err(error) => {
                log::warn!("The snapshot could not be compared with the tables; this is tried again: {error}")
            }
        }
    }
}
