//! How many validations run at a time, in all and for each client.
//!
//! A token says nothing about its caller before the validation. So the address of the client counts: a client with many
//! invalid tokens waits for earlier validations, and all other clients find free slots.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use super::failure::Failure;

/// Validations at a time; more wait.
const MAX_RUNNING: usize = 64;
/// Validations of a client at a time; more wait. The client may be a proxy for many clients.
pub const MAX_RUNNING_OF_CLIENT: usize = MAX_RUNNING / 2;
/// Validations of a client that run or wait; more are refused.
const MAX_OF_CLIENT: usize = 1024;

/// The slots in which validations run.
pub struct Slots {
    all: Semaphore,
    clients: Mutex<HashMap<String, ClientSlots>>,
}

/// The slots of a client.
struct ClientSlots {
    slots: Arc<Semaphore>,
    /// The number of running and waiting validations.
    validations: usize,
}

impl Slots {
    pub fn new() -> Slots {
        Slots {
            all: Semaphore::new(MAX_RUNNING),
            clients: Mutex::default(),
        }
    }

    /// Waits for a slot of a client.
    ///
    /// # Errors
    /// [`Failure::TooMany`] if too many validations of this client wait.
    pub async fn acquire<'a>(&'a self, client: &'a str) -> Result<ValidationPermit<'a>, Failure> {
        let client = self.join(client)?;
        let stopped = |_| Failure::Stopped;
        let of_client = Arc::clone(&client.slots).acquire_owned().await.map_err(stopped)?;
        Ok(ValidationPermit {
            _of_all: self.all.acquire().await.map_err(stopped)?,
            _of_client: of_client,
            _client: client,
        })
    }

    fn join<'a>(&'a self, client: &'a str) -> Result<ClientGuard<'a>, Failure> {
        let mut clients = self.lock();
        let known = clients.entry(client.to_owned()).or_insert_with(|| ClientSlots {
            slots: Arc::new(Semaphore::new(MAX_RUNNING_OF_CLIENT)),
            validations: 0,
        });
        if known.validations == MAX_OF_CLIENT {
            return Err(Failure::TooMany);
        }
        known.validations += 1;
        Ok(ClientGuard {
            all: self,
            client,
            slots: Arc::clone(&known.slots),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, ClientSlots>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The permit for one validation. Dropping frees the slot.
pub struct ValidationPermit<'a> {
    _of_all: SemaphorePermit<'a>,
    _of_client: OwnedSemaphorePermit,
    _client: ClientGuard<'a>,
}

/// The slots of a client, for one validation.
struct ClientGuard<'a> {
    all: &'a Slots,
    client: &'a str,
    slots: Arc<Semaphore>,
}

impl Drop for ClientGuard<'_> {
    fn drop(&mut self) {
        let mut clients = self.all.lock();
        if let Some(known) = clients.get_mut(self.client) {
            known.validations -= 1;
            if known.validations == 0 {
                clients.remove(self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    #[tokio::test]
    async fn a_client_leaves_slots_to_others_and_no_trace() {
        let slots = Arc::new(Slots::new());
        let hang = |client: &'static str| {
            let slots = Arc::clone(&slots);
            tokio::spawn(async move {
                let _slot = slots.acquire(client).await?;
                pending::<Result<(), Failure>>().await
            })
        };
        let running: Vec<_> = (0..MAX_OF_CLIENT).map(|_| hang("busy")).collect();
        tokio::task::yield_now().await;
        assert_eq!(hang("busy").await.expect("no panic"), Err(Failure::TooMany));
        assert!(slots.acquire("other").await.is_ok());
        assert_eq!(slots.all.available_permits(), MAX_RUNNING - MAX_RUNNING_OF_CLIENT);
        running.iter().for_each(|task| task.abort());
        for task in running {
            assert!(task.await.is_err());
        }
        assert!(slots.lock().is_empty() && slots.all.available_permits() == MAX_RUNNING);
    }
}
