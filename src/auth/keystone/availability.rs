//! Whether Keystone lets this process validate tokens, for the readiness of the process.
//!
//! What has failed last counts until the next answer. A process that no client has asked yet is available as soon as
//! Keystone has given placet's own token: nothing else had to be validated. Once the validation of a client's token has
//! failed, the process is available when Keystone has answered for such a token.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::client::Failure;

/// What Keystone last did for this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeystoneState {
    /// It validates tokens, or has given placet's own token and was not asked for more.
    Available,
    /// It has not answered for a token since the start: no request that needs a token could be answered.
    NeverAvailable,
    /// It refuses placet's own credentials.
    RefusesCredentials,
    /// It cannot be asked, and validated tokens before: cached ones are still good.
    Gone,
}

/// The answers of Keystone since the start.
#[derive(Debug, Default)]
pub struct Availability(Mutex<Answers>);

#[derive(Debug, Default)]
struct Answers {
    /// Keystone has given placet its own token.
    has_login: bool,
    /// Keystone has said of a client's token whether it is valid.
    has_validated: bool,
    failed: Option<Failed>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Failed {
    Credentials,
    Other,
}

impl Availability {
    pub fn state(&self) -> KeystoneState {
        let answers = self.lock();
        match answers.failed {
            Some(Failed::Credentials) => KeystoneState::RefusesCredentials,
            Some(Failed::Other) if answers.has_validated => KeystoneState::Gone,
            None if answers.has_validated || answers.has_login => KeystoneState::Available,
            None | Some(Failed::Other) => KeystoneState::NeverAvailable,
        }
    }

    /// Keystone has given placet its own token.
    pub fn logged_in(&self) {
        let mut answers = self.lock();
        (answers.has_login, answers.failed) = (true, None);
    }

    /// Keystone has said whether a client's token is valid.
    pub fn validated(&self) {
        let mut answers = self.lock();
        (answers.has_validated, answers.failed) = (true, None);
    }

    /// A login or a validation failed. Returns whether the one before succeeded.
    pub fn failed(&self, failure: &Failure) -> bool {
        let failed = if failure.refuses_credentials() {
            Failed::Credentials
        } else {
            Failed::Other
        };
        self.lock().failed.replace(failed).is_none()
    }

    fn lock(&self) -> MutexGuard<'_, Answers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use KeystoneState::{Available, Gone, NeverAvailable, RefusesCredentials};

    fn status(status: u16) -> Failure {
        Failure::Status {
            url: String::new(),
            status,
            message: String::new(),
        }
    }

    #[test]
    fn found_n2_a_process_is_available_with_its_own_token_until_a_validation_fails() {
        let answers = Availability::default();
        assert_eq!(answers.state(), NeverAvailable, "nothing was answered yet");
        answers.logged_in();
        assert_eq!(answers.state(), Available);
        assert!(answers.failed(&status(500)));
        assert_eq!(answers.state(), NeverAvailable, "no token could be validated");
        assert!(!answers.failed(&status(500)), "the failure goes on");
        answers.validated();
        assert_eq!(answers.state(), Available);
    }

    #[test]
    fn found_n2_after_a_validation_an_outage_leaves_the_cached_tokens() {
        let answers = Availability::default();
        answers.validated();
        answers.failed(&Failure::NotKeystone {
            url: String::new(),
            reason: String::new(),
        });
        assert_eq!(answers.state(), Gone);
        answers.validated();
        assert_eq!(answers.state(), Available);
    }

    #[test]
    fn found_n2_refused_credentials_count_at_any_time() {
        let refused = |status| Failure::Credentials {
            url: String::new(),
            status,
            message: String::new(),
        };
        for failure in [refused(401), refused(403), status(403), Failure::OwnTokenRefused] {
            let answers = Availability::default();
            answers.validated();
            answers.failed(&failure);
            assert_eq!(answers.state(), RefusesCredentials, "{failure}");
        }
        // A proxy's answers say nothing of the credentials.
        for failure in [refused(404), refused(429), status(502)] {
            let answers = Availability::default();
            answers.validated();
            answers.failed(&failure);
            assert_eq!(answers.state(), Gone, "{failure}");
        }
    }
}
