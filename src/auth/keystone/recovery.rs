//! Asks Keystone again after a failure: single questions with growing pauses (`crate::backoff`). In an outage no
//! request asks. A balancer sends no requests to a process that is not ready, so the process has to find the end of
//! every failure itself.
//!
//! Keystone is asked to validate placet's own token. The client's token may be the cause of a failure: a token may be
//! longer than a proxy allows. Only if Keystone forbids placet's user to validate a client's token, the client's token
//! is validated again: Keystone lets a user validate its own token without any role.

use std::sync::PoisonError;

use tokio::time::{Instant, sleep_until};

use super::asker::Asker;
use super::settings::KeystoneSettings;
use crate::backoff::Backoff;

impl Asker {
    /// After each failure asks again until Keystone answers. The first question shows whether a client's token was the
    /// cause, so the first pause is only for an outage. A pause begins with the question before: a question without an
    /// answer may take longer than the pause. Does not end.
    pub(super) async fn recover(&self) {
        loop {
            self.failure.notified().await;
            let mut backoff = Backoff::new(self.recovery_pause, KeystoneSettings::LONGEST_PAUSE);
            let mut asked = Instant::now();
            if !self.availability.is_down() {
                self.ask_again().await;
            }
            while self.availability.has_failed() {
                sleep_until(asked + backoff.next_pause()).await;
                asked = Instant::now();
                self.ask_again().await;
            }
        }
    }

    /// Asks, unless Keystone has answered a request in between.
    async fn ask_again(&self) {
        if !self.availability.has_failed() {
            return;
        }
        let refused_for = self.refused_for.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match refused_for {
            // The failure is noted.
            Some(token) => drop(self.ask(token.hash, &token.header, token.may_be_expired).await),
            None => self.validate_own_token().await,
        }
    }
}
