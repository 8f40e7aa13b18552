//! The background comparison of what is in memory with the tables, on a thread of its own.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::rounds::{Rounds, SLICE};
use crate::model::Model;

/// The comparison, until it is stopped.
pub struct Comparison {
    running: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Comparison {
    /// Starts it; `interval` is how long a round over all providers takes, and zero is never.
    ///
    /// # Errors
    /// The thread could not be started.
    pub fn start(model: Model, interval: Duration) -> std::io::Result<Comparison> {
        if interval.is_zero() {
            return Ok(Comparison { running: None });
        }
        let (stop, stopped) = channel();
        let thread = std::thread::Builder::new()
            .name("placet-comparison".to_owned())
            .spawn(move || work(&model, interval, &stopped))?;
        Ok(Comparison {
            running: Some((stop, thread)),
        })
    }

    /// Ends it, and waits for the slice that it is at: while it runs, the writer cannot end.
    pub fn stop(self) {
        if let Some((stop, thread)) = self.running {
            drop(stop);
            if thread.join().is_err() {
                log::error!("The comparison with the tables had ended in a panic");
            }
        }
    }
}

fn work(model: &Model, interval: Duration, stopped: &Receiver<()>) {
    let mut rounds = Rounds::new(interval);
    while stopped.recv_timeout(rounds.pause(model.providers())) == Err(RecvTimeoutError::Timeout) {
        match model.compare(rounds.after, SLICE) {
            Ok(compared) => {
                for provider in &compared.mended {
                    log::info!("Another program than placet changed provider {provider}: it was read again");
                }
                for over in rounds.take(&compared) {
                    log::warn!(
                        "Provider {} is over capacity: {} of {} are used, of {} that it has",
                        over.provider,
                        over.used,
                        over.class,
                        over.capacity
                    );
                }
            }
            Err(error) => log::warn!("What is in memory could not be compared with the tables: {error}"),
        }
    }
}
