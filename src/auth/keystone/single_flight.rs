//! Single flight: simultaneous requests for the validation of one token share the validation.
//!
//! The validation is a task of the runtime, and not of a request. So the validation goes on if its first client leaves.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::watch;

use super::failure::Failure;
use super::statistics::{KeystoneStatistics, LookUp};
use super::token::ValidToken;
use crate::auth::tokens::TokenHash;

/// The end of a validation: `None` for an invalid token.
pub type Validation = Result<Option<Arc<ValidToken>>, Failure>;

/// The token, and whether the token may have expired: two different questions to Keystone.
pub type Key = (TokenHash, bool);

/// More validations at a time are refused, so that a flood of tokens does not fill the memory.
const MAX_RUNNING: usize = 4096;

pub struct SingleFlight {
    running: Mutex<HashMap<Key, watch::Receiver<Option<Validation>>>>,
    statistics: Arc<KeystoneStatistics>,
}

impl SingleFlight {
    pub fn new(statistics: Arc<KeystoneStatistics>) -> SingleFlight {
        SingleFlight {
            running: Mutex::default(),
            statistics,
        }
    }

    /// The end of the validation that runs for `key`, or else of `work`.
    pub async fn run(
        self: &Arc<Self>,
        runtime: &Handle,
        key: Key,
        work: impl Future<Output = Validation> + Send + 'static,
    ) -> Validation {
        let mut receiver = self.join(runtime, key, work)?;
        match receiver.wait_for(Option::is_some).await {
            Ok(validation) => validation.clone().unwrap_or(Err(Failure::Stopped)),
            Err(_) => Err(Failure::Stopped),
        }
    }

    fn join(
        self: &Arc<Self>,
        runtime: &Handle,
        key: Key,
        work: impl Future<Output = Validation> + Send + 'static,
    ) -> Result<watch::Receiver<Option<Validation>>, Failure> {
        let mut running = self.lock();
        if let Some(receiver) = running.get(&key) {
            self.statistics.count_look_up(LookUp::Shared);
            return Ok(receiver.clone());
        }
        if running.len() >= MAX_RUNNING {
            self.statistics.count_look_up(LookUp::Refused);
            return Err(Failure::TooMany);
        }
        self.statistics.count_look_up(LookUp::Miss);
        let (sender, receiver) = watch::channel(None);
        running.insert(key, receiver.clone());
        let registration = Registration {
            flights: Arc::clone(self),
            key,
        };
        runtime.spawn(async move {
            let validation = work.await;
            drop(registration);
            sender.send_replace(Some(validation));
        });
        Ok(receiver)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, watch::Receiver<Option<Validation>>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends with the task, even if the task panics.
struct Registration {
    flights: Arc<SingleFlight>,
    key: Key,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.flights.lock().remove(&self.key);
    }
}
