//! Whether Keystone lets this process validate tokens, for the readiness of the process, and whether requests may ask.
//!
//! Naively, each request in an outage would ask Keystone, and wait for a timeout. Instead a failure of
//! every further question refuses all requests at once (a circuit breaker). placet alone asks again (`recovery.rs`),
//! and the first answer ends the outage.
//!
//! A process that no client has asked yet is available as soon as Keystone has given placet's own token: nothing else
//! had to be validated. After a failure placet asks Keystone itself, and a second failure in a row
//! counts: a client's token, a slow answer or a standstill of the process may be the cause of a single one. If Keystone
//! refuses placet's credentials, the first failure counts.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

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
    /// When Keystone last answered a question.
    answered: Option<Instant>,
    /// No request may ask.
    is_down: bool,
}

impl Answers {
    fn answered(&mut self) {
        self.answered = Some(Instant::now());
        self.is_down = false;
    }

    /// Keystone has answered as it should. Returns whether the call before failed.
    fn end_failures(&mut self) -> bool {
        self.answered();
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

    /// Whether an outage keeps requests from asking.
    pub fn is_down(&self) -> bool {
        self.lock().is_down
    }

    /// Lets a request ask Keystone.
    ///
    /// # Errors
    /// [`Failure::Down`] in an outage.
    pub fn admit(&self) -> Result<(), Failure> {
        if self.is_down() { Err(Failure::Down) } else { Ok(()) }
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

    /// Keystone has answered about a single token.
    pub fn answered(&self) {
        self.lock().answered();
    }

    /// A login or a validation failed. Returns whether the call before succeeded. An outage begins only if Keystone has
    /// answered no question since `began`, the begin of the failed call. A client's token may be the cause of a single
    /// failure: a proxy may answer 502 to a long header.
    pub fn failed(&self, failure: &Failure, began: Instant) -> bool {
        let mut answers = self.lock();
        if failure.is_outage() {
            let is_sure = failure.is_about_own_token() || answers.failures + 1 >= SURE_FAILURES;
            answers.is_down |= is_sure && answers.answered.is_none_or(|answered| answered <= began);
        } else {
            answers.answered();
        }
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
        assert!(answers.failed(&status(500), Instant::now()));
        assert_eq!(answers.state(), Available, "the token may be the cause");
        assert!(answers.has_failed());
        assert!(!answers.failed(&status(500), Instant::now()), "the failure goes on");
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
            answers.failed(&failure, Instant::now());
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
            answers.failed(&failure, Instant::now());
            assert_eq!(answers.state(), RefusesCredentials, "{failure}");
        }
        // A proxy's answers say nothing of the credentials.
        for failure in [refused(404), refused(429), status(502)] {
            let answers = Availability::default();
            answers.validated();
            answers.failed(&failure, Instant::now());
            answers.failed(&failure, Instant::now());
            assert_eq!(answers.state(), Gone, "{failure}");
        }
    }

    fn unreachable() -> Failure {
        Failure::Unreachable {
            url: String::new(),
            reason: String::new(),
        }
    }

    #[test]
    fn found_n1_only_a_failure_of_every_question_keeps_requests_from_asking() {
        let without_token = Failure::NoOwnToken(Box::new(status(500)));
        let of_any_token = [(without_token, 1), (Failure::OwnTokenRefused, 1)];
        let of_one_token = [(unreachable(), SURE_FAILURES), (status(503), SURE_FAILURES)];
        for (failure, needed) in of_any_token.into_iter().chain(of_one_token) {
            let answers = Availability::default();
            for _ in 1..needed {
                answers.failed(&failure, Instant::now());
                assert_eq!(answers.admit(), Ok(()), "the token may be the cause: {failure}");
            }
            answers.failed(&failure, Instant::now());
            assert_eq!(answers.admit(), Err(Failure::Down), "{failure}");
            answers.answered();
            assert_eq!(answers.admit(), Ok(()), "{failure}");
        }
        for failure in [status(403), status(500)] {
            let answers = Availability::default();
            answers.failed(&unreachable(), Instant::now());
            answers.failed(&failure, Instant::now());
            assert_eq!(answers.admit(), Ok(()), "Keystone has answered: {failure}");
        }
    }

    #[test]
    fn a_question_without_an_answer_proves_nothing_if_another_was_answered_at_that_time() {
        let answers = Availability::default();
        let began = Instant::now();
        std::thread::sleep(std::time::Duration::from_millis(2));
        answers.validated();
        answers.failed(&unreachable(), began);
        answers.failed(&unreachable(), began);
        assert!(!answers.is_down());
        std::thread::sleep(std::time::Duration::from_millis(2));
        answers.failed(&unreachable(), Instant::now());
        assert!(answers.is_down());
    }
}
