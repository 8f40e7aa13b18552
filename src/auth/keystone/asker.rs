//! Asks Keystone for placet's own token, and about the tokens of clients.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::header::HeaderValue;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::availability::Availability;
use super::cache::TokenCache;
use super::failure::Failure;
use super::identity_service::IdentityService;
use super::outage::{Outage, Probe};
use super::single_flight::Validation;
use super::slots::Slots;
use super::statistics::{KeystoneStatistics, TokenCheck};
use crate::auth::tokens::TokenHash;

/// A client's token for whose validation Keystone has refused placet's credentials.
#[derive(Clone)]
pub(super) struct RefusedFor {
    pub hash: TokenHash,
    pub header: HeaderValue,
    pub may_be_expired: bool,
}

/// Asks Keystone, on a thread of its own.
pub(super) struct Asker {
    pub(super) keystone: IdentityService,
    pub(super) cache: TokenCache,
    pub(super) statistics: Arc<KeystoneStatistics>,
    pub(super) slots: Slots,
    pub(super) outage: Arc<Outage>,
    pub(super) limit: Duration,
    pub(super) availability: Availability,
    /// Asked about again, until the credentials are good.
    pub(super) refused_for: Mutex<Option<RefusedFor>>,
    /// Notified when a login or a validation failed.
    pub(super) failure: Notify,
    pub(super) recovery_pause: Duration,
}

impl Asker {
    /// Gets the own token.
    pub(super) async fn log_in(&self) {
        match self.keystone.log_in().await {
            Ok(own) => {
                log::info!("Tokens are validated by Keystone at {}", own.endpoint);
                self.availability.logged_in();
            }
            Err(failure) => self.note_failure(&failure),
        }
    }

    /// Validates a token when there is a slot for the client. The probe asks at once, although Keystone is down.
    ///
    /// Several requests may wait for one validation, each until its own deadline. So the validation has limits of its
    /// own: the first request's deadline may be near.
    pub(super) async fn validate(
        &self,
        hash: TokenHash,
        text: &str,
        may_be_expired: bool,
        client: &str,
        probe: Option<Probe>,
    ) -> Validation {
        let Ok(mut header) = HeaderValue::from_str(text) else {
            return Ok(None);
        };
        header.set_sensitive(true);
        if probe.is_some() {
            return self.ask(hash, &header, may_be_expired).await;
        }
        let slot = timeout(self.limit, self.slots.acquire(client)).await;
        let _slot = slot.unwrap_or(Err(Failure::NoTime))?;
        // Keystone may have gone since this request was admitted.
        if self.outage.is_down() {
            return Err(Failure::Down);
        }
        self.ask(hash, &header, may_be_expired).await
    }

    pub(super) async fn ask(&self, hash: TokenHash, header: &HeaderValue, may_be_expired: bool) -> Validation {
        let found = self.keystone.validate(header, may_be_expired).await;
        let outcome = match &found {
            Ok(Some(_)) => TokenCheck::Accepted,
            Ok(None) => TokenCheck::Rejected,
            Err(_) => TokenCheck::Failed,
        };
        self.statistics.count_validation(outcome);
        match &found {
            Ok(_) => {
                self.keep(None);
                log_end(self.availability.validated());
            }
            Err(failure) if failure.is_about_one_token() => {
                log::debug!("Keystone did not take a token: {failure}");
            }
            Err(failure) => {
                if failure.refuses_credentials() {
                    let header = header.clone();
                    self.keep(Some(RefusedFor {
                        hash,
                        header,
                        may_be_expired,
                    }));
                }
                self.note_failure(failure);
            }
        }
        let token = found?.map(Arc::new);
        if let Some(token) = &token {
            self.cache.insert(hash, Arc::clone(token), Instant::now());
        }
        Ok(token)
    }

    /// Has Keystone validate placet's own token.
    pub(super) async fn validate_own_token(&self) {
        let validated = async {
            let own = self.keystone.log_in().await?;
            self.keystone.validate(&own.token, false).await
        };
        match validated.await {
            Ok(_) => log_end(self.availability.logged_in()),
            Err(failure) => self.note_failure(&failure),
        }
    }

    /// Writes a line if Keystone stops to answer.
    fn note_failure(&self, failure: &Failure) {
        if self.availability.failed(failure) {
            log::error!(
                "Keystone cannot validate tokens: {failure}. Requests whose token is not cached are answered with 503 \
                 until it can"
            );
        } else {
            log::debug!("Keystone cannot validate tokens: {failure}");
        }
        self.failure.notify_one();
    }

    fn keep(&self, refused_for: Option<RefusedFor>) {
        *self.refused_for.lock().unwrap_or_else(PoisonError::into_inner) = refused_for;
    }
}

/// Writes a line if Keystone validates tokens again.
fn log_end(had_failed: bool) {
    if had_failed {
        log::info!("Keystone validates tokens again");
    }
}
