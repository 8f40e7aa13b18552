//! Asks Keystone again after a failure, although no request asks: a balancer sends no requests to a process that is not
//! ready, so the process has to find the end of an outage itself.
//!
//! The call that failed is repeated: the validation of the client's token, or the login of placet. Another call might
//! succeed, and prove nothing: Keystone lets a user validate its own token without any role.

use std::sync::PoisonError;
use std::time::Duration;

use super::availability::KeystoneState;
use super::settings::Settings;
use super::validation::Asker;

impl Asker {
    /// After each failure asks again until Keystone answers, with growing pauses. Does not end.
    pub(super) async fn recover(&self) {
        loop {
            self.failure.notified().await;
            let mut pause = self.recovery_pause;
            while self.availability.state() != KeystoneState::Available {
                tokio::time::sleep(with_jitter(pause)).await;
                self.ask_again().await;
                pause = (pause * 2).clamp(self.recovery_pause, Settings::LONGEST_PAUSE.max(self.recovery_pause));
            }
        }
    }

    /// Repeats what failed, unless Keystone has answered in between, or another request asks whether it is back.
    async fn ask_again(&self) {
        if self.availability.state() == KeystoneState::Available {
            return;
        }
        let Ok(_probe) = self.outage.admit() else { return };
        let unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match unanswered {
            // The failure is noted.
            Some(token) => drop(self.ask(token.hash, &token.header, token.may_be_expired).await),
            None => self.log_in().await,
        }
    }
}

/// Between half of the pause and all of it, so that the processes of a cloud do not ask in step.
fn with_jitter(pause: Duration) -> Duration {
    pause.mul_f64(rand::random_range(0.5..=1.0))
}
