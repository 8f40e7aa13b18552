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
use super::single_flight::Validation;
use super::slots::Slots;
use super::statistics::{KeystoneStatistics, TokenCheck};
use crate::auth::tokens::TokenHash;

/// A client's token, for whose validation the user of placet lacks the role.
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
    pub(super) limit: Duration,
    pub(super) availability: Arc<Availability>,
    /// Asked about again, until placet's user may validate the token.
    pub(super) refused_for: Mutex<Option<RefusedFor>>,
    /// Notified when a login or a validation failed.
    pub(super) failure: Notify,
    pub(super) recovery_pause: Duration,
}

impl Asker {
    /// Gets the own token.
    pub(super) async fn log_in(&self) {
        let began = Instant::now();
        match self.keystone.log_in().await {
            Ok(own) => {
                log::info!("Tokens are validated by Keystone at {}", own.endpoint);
                self.availability.logged_in();
            }
            Err(failure) => self.note_failure(&failure, began),
        }
    }

    /// Validates a token when there is a slot for the client.
    ///
    /// Several requests may wait for one validation, each until its own deadline. So the validation has limits of its
    /// own: the first request's deadline may be near.
    pub(super) async fn validate(&self, hash: TokenHash, text: &str, may_be_expired: bool, client: &str) -> Validation {
        let Ok(mut header) = HeaderValue::from_str(text) else {
            return Ok(None);
        };
        header.set_sensitive(true);
        let slot = timeout(self.limit, self.slots.acquire(client)).await;
        let _slot = slot.unwrap_or(Err(Failure::NoTime))?;
        // Keystone may have gone since this request was admitted.
        self.availability.admit()?;
        self.ask(hash, &header, may_be_expired).await
    }

    pub(super) async fn ask(&self, hash: TokenHash, header: &HeaderValue, may_be_expired: bool) -> Validation {
        let began = Instant::now();
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
                self.availability.answered();
                log::debug!("Keystone did not take a token: {failure}");
            }
            Err(failure) => {
                if failure.forbids_validation() {
                    let header = header.clone();
                    self.keep(Some(RefusedFor {
                        hash,
                        header,
                        may_be_expired,
                    }));
                }
                self.note_failure(failure, began);
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
        let began = Instant::now();
        let validated = async {
            let own = self.keystone.log_in().await?;
            self.keystone.validate(&own.token, false).await
        };
        match validated.await {
            Ok(_) => log_end(self.availability.logged_in()),
            Err(failure) => self.note_failure(&failure, began),
        }
    }

    /// Notes the failure of a question that began at this time. Writes a line if Keystone stops to answer.
    fn note_failure(&self, failure: &Failure, began: Instant) {
        if self.availability.failed(failure, began) {
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
