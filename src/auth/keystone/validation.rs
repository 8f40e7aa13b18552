//! Validates tokens: from the cache, or on a thread that asks Keystone.

use std::sync::{Arc, Mutex};
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, timeout_at};

use super::asker::Asker;
use super::availability::Availability;
use super::cache::TokenCache;
use super::client::Client;
use super::failure::{Failure, StartError};
use super::identity_service::IdentityService;
use super::settings::KeystoneSettings;
use super::single_flight::{SingleFlight, Validation};
use super::slots::Slots;
use super::statistics::{KeystoneStatistics, LookUp};
use super::token::ValidToken;
use crate::auth::tokens;

/// Longer tokens are not valid. A token of Keystone has some hundred bytes, and a signed token some thousand.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// The request for which a token is validated.
#[derive(Clone, Copy)]
pub struct Waiter<'a> {
    /// The address of the request's client.
    pub client: &'a str,
    /// How long the request waits for Keystone.
    pub deadline: Instant,
}

pub struct Validator {
    flights: Arc<SingleFlight>,
    pub(super) asker: Arc<Asker>,
    runtime: Handle,
    /// Dropped with the validator, which ends the thread.
    _stop: oneshot::Sender<()>,
}

impl Validator {
    /// # Errors
    /// A certificate that cannot be used, or no thread.
    pub fn start(settings: &KeystoneSettings) -> Result<Validator, StartError> {
        let statistics = Arc::<KeystoneStatistics>::default();
        let availability = Arc::<Availability>::default();
        let client = Client::new(settings, Arc::clone(&availability), Arc::clone(&statistics))?;
        let asker = Arc::new(Asker {
            keystone: IdentityService::new(settings, client),
            cache: TokenCache::new(settings.cache_time, Arc::clone(&statistics)),
            statistics,
            slots: Slots::new(),
            limit: settings.limit,
            availability,
            refused_for: Mutex::default(),
            failure: Notify::new(),
            recovery_pause: settings.recovery_pause,
        });
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(StartError::Thread)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let handle = runtime.handle().clone();
        handle.spawn({
            let asker = Arc::clone(&asker);
            async move {
                asker.log_in().await;
                asker.recover().await;
            }
        });
        thread::Builder::new()
            .name("placet-keystone".to_owned())
            .spawn(move || {
                // Ends with an error when the sender is dropped.
                let _ = runtime.block_on(stopped);
                runtime.shutdown_background();
            })
            .map_err(StartError::Thread)?;
        Ok(Validator {
            flights: Arc::new(SingleFlight::new(Arc::clone(&asker.statistics))),
            asker,
            runtime: handle,
            _stop: stop,
        })
    }

    /// The token; `None` if the token is not valid. If the token `may_be_expired`, its expiry is not checked.
    ///
    /// # Errors
    /// Keystone does not say in time whether the token is valid.
    pub async fn validate(&self, text: &str, may_be_expired: bool, wait: Waiter<'_>) -> Validation {
        if text.is_empty() || text.len() > MAX_TOKEN_BYTES || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Ok(None);
        }
        let hash = tokens::hash(text);
        if let Some(token) = self.asker.cache.get(&hash, Instant::now().into_std()) {
            let in_time = in_time(token, may_be_expired);
            let look_up = in_time.as_ref().map_or(LookUp::Expired, |_| LookUp::Hit);
            self.asker.statistics.count_look_up(look_up);
            return Ok(in_time);
        }
        self.asker.availability.admit().inspect_err(|_| {
            self.asker.statistics.count_look_up(LookUp::Refused);
        })?;
        let work = {
            let asker = Arc::clone(&self.asker);
            let (text, client) = (text.to_owned(), wait.client.to_owned());
            async move { asker.validate(hash, &text, may_be_expired, &client).await }
        };
        let validation = self.flights.run(&self.runtime, (hash, may_be_expired), work);
        let token = timeout_at(wait.deadline, validation)
            .await
            .unwrap_or(Err(Failure::NoTime))?;
        Ok(token.and_then(|token| in_time(token, may_be_expired)))
    }
}

fn in_time(token: Arc<ValidToken>, may_be_expired: bool) -> Option<Arc<ValidToken>> {
    (may_be_expired || !token.has_expired()).then_some(token)
}

#[cfg(test)]
mod tests;
