//! Asks Keystone again after a failure, although no request asks: a balancer sends no requests to a process that is not
//! ready, so the process has to find the end of an outage itself.
//!
//! Keystone is asked to validate placet's own token. The client's token may be the cause of a failure: a token may be
//! longer than a proxy allows. Only if Keystone refuses placet's credentials, the client's token is validated again:
//! Keystone lets a user validate its own token without any role.

use std::sync::PoisonError;
use std::time::Duration;

use super::asker::Asker;
use super::settings::KeystoneSettings;

impl Asker {
    /// After each failure asks again until Keystone answers, with growing pauses. Does not end.
    pub(super) async fn recover(&self) {
        loop {
            self.failure.notified().await;
            let mut pause = self.recovery_pause;
            while self.availability.has_failed() {
                tokio::time::sleep(with_jitter(pause)).await;
                self.ask_again().await;
                pause = KeystoneSettings::LONGEST_PAUSE.min(pause * 2).max(self.recovery_pause);
            }
        }
    }

    /// Asks, unless Keystone has answered in between, or a request asks Keystone as the probe.
    async fn ask_again(&self) {
        if !self.availability.has_failed() {
            return;
        }
        let Ok(_probe) = self.outage.admit() else { return };
        let refused_for = self.refused_for.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match refused_for {
            // The failure is noted.
            Some(token) => drop(self.ask(token.hash, &token.header, token.may_be_expired).await),
            None => self.validate_own_token().await,
        }
    }
}

/// Between half of the pause and the whole pause, so that the processes of a cloud do not ask in step.
fn with_jitter(pause: Duration) -> Duration {
    pause.mul_f64(rand::random_range(0.5..=1.0))
}
