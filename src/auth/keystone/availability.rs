//! Whether Keystone lets this process validate tokens, for the readiness of the process.
//!
//! A process that no client has asked yet is available as soon as Keystone has given placet's own token: nothing else
//! had to be validated. After a failure placet asks Keystone itself (`recovery.rs`), and a second failure in a row
//! counts: a client's token, a slow answer or a standstill of the process may be the cause of a single one. If Keystone
//! refuses placet's credentials, the first failure counts.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::failure::Failure;

/// The state of Keystone for this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeystoneState {
    /// Keystone validates tokens, or has given placet's own token and had no more to do.
    Available,
    /// Keystone has not answered for a token since the start: no request with a token could be answered.
    NeverAvailable,
    /// Keystone refuses placet's credentials.
    RefusesCredentials,
    /// Keystone cannot be asked, and validated tokens before. Cached tokens are still good.
    Gone,
}

/// The answers of Keystone since the start.
#[derive(Debug, Default)]
pub struct Availability(Mutex<Answers>);

#[derive(Debug, Default)]
struct Answers {
    /// Keystone has given placet its own token.
    has_login: bool,
    /// Keystone has answered for a client's token.
    has_validated: bool,
    /// Failures in a row.
    failures: u32,
    /// The last failure was Keystone's refusal of placet's credentials.
    refuses_credentials: bool,
}

impl Answers {
    /// Keystone has answered. Returns whether the call before failed.
    fn end_failures(&mut self) -> bool {
        self.refuses_credentials = false;
        std::mem::take(&mut self.failures) > 0
    }
}

/// This many failures in a row show that Keystone cannot be asked.
const SURE_FAILURES: u32 = 2;

impl Availability {
    pub fn state(&self) -> KeystoneState {
        let answers = self.lock();
        let has_answered = answers.has_validated || answers.has_login;
        if answers.refuses_credentials {
            KeystoneState::RefusesCredentials
        } else if has_answered && answers.failures < SURE_FAILURES {
            KeystoneState::Available
        } else if answers.has_validated {
            KeystoneState::Gone
        } else {
            KeystoneState::NeverAvailable
        }
    }

    /// Whether the last call failed.
    pub fn has_failed(&self) -> bool {
        self.lock().failures > 0
    }

    /// Keystone has given placet its own token. Returns whether the call before failed.
    pub fn logged_in(&self) -> bool {
        let mut answers = self.lock();
        answers.has_login = true;
        answers.end_failures()
    }

    /// Keystone has answered for a client's token. Returns whether the call before failed.
    pub fn validated(&self) -> bool {
        let mut answers = self.lock();
        answers.has_validated = true;
        answers.end_failures()
    }

    /// A login or a validation failed. Returns whether the call before succeeded.
    pub fn failed(&self, failure: &Failure) -> bool {
        let mut answers = self.lock();
        answers.refuses_credentials = failure.refuses_credentials();
        answers.failures = answers.failures.saturating_add(1);
        answers.failures == 1
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
        assert_eq!(answers.state(), Available, "the token may be the cause");
        assert!(answers.has_failed());
        assert!(!answers.failed(&status(500)), "the failure goes on");
        assert_eq!(answers.state(), NeverAvailable, "no token could be validated");
        answers.validated();
        assert_eq!(answers.state(), Available);
    }

    #[test]
    fn found_n2_after_a_validation_an_outage_leaves_the_cached_tokens() {
        let answers = Availability::default();
        answers.validated();
        let failure = Failure::NotKeystone {
            url: String::new(),
            reason: String::new(),
        };
        for expected in [Available, Gone, Gone] {
            answers.failed(&failure);
            assert_eq!(answers.state(), expected);
        }
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
            answers.failed(&failure);
            assert_eq!(answers.state(), Gone, "{failure}");
        }
    }
}
