//! Validates tokens: from the cache, or on a thread that asks Keystone.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use reqwest::header::HeaderValue;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use super::availability::{Availability, KeystoneState};
use super::cache::{TokenCache, TokenHash};
use super::client::{Client, Failure, SetupError};
use super::identity_service::IdentityService;
use super::outage::{Outage, Probe};
use super::settings::Settings;
use super::single_flight::{SingleFlight, Validation};
use super::slots::Slots;
use super::statistics::{KeystoneStatistics, LookUp, Outcome};
use super::token::ValidToken;

/// Longer tokens are not valid: Keystone's have some hundred bytes, signed ones some thousand.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// The request for which a token is validated.
#[derive(Clone, Copy)]
pub struct Wait<'a> {
    /// The address of its client.
    pub client: &'a str,
    /// Until then it waits for Keystone.
    pub deadline: Instant,
}

pub struct Validator {
    cache: Arc<TokenCache>,
    flights: Arc<SingleFlight>,
    asker: Arc<Asker>,
    runtime: Handle,
    /// Dropped with this, which ends the thread.
    _stop: oneshot::Sender<()>,
}

/// A client's token that Keystone has not answered for.
#[derive(Clone)]
pub(super) struct Unanswered {
    pub hash: TokenHash,
    pub header: HeaderValue,
    pub may_be_expired: bool,
}

/// What the thread works with.
pub(super) struct Asker {
    pub(super) keystone: IdentityService,
    cache: Arc<TokenCache>,
    statistics: Arc<KeystoneStatistics>,
    slots: Slots,
    pub(super) outage: Arc<Outage>,
    limit: Duration,
    pub(super) availability: Availability,
    /// The token whose validation failed last, to be asked about again.
    pub(super) unanswered: Mutex<Option<Unanswered>>,
    /// Notified when a login or a validation failed.
    pub(super) failure: Notify,
    pub(super) recovery_pause: Duration,
}

impl Validator {
    /// # Errors
    /// A certificate that cannot be used, or no thread.
    pub fn start(settings: &Settings) -> Result<Validator, SetupError> {
        let statistics = Arc::<KeystoneStatistics>::default();
        let outage = Arc::new(Outage::new(settings.limit));
        let client = Client::new(settings, Arc::clone(&outage), Arc::clone(&statistics))?;
        let cache = Arc::new(TokenCache::new(settings.cache_time, Arc::clone(&statistics)));
        let asker = Arc::new(Asker {
            keystone: IdentityService::new(settings, client),
            cache: Arc::clone(&cache),
            statistics,
            slots: Slots::new(),
            outage,
            limit: settings.limit,
            availability: Availability::default(),
            unanswered: Mutex::default(),
            failure: Notify::new(),
            recovery_pause: settings.recovery_pause,
        });
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(SetupError::Thread)?;
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
            .map_err(SetupError::Thread)?;
        Ok(Validator {
            cache,
            flights: Arc::new(SingleFlight::new(Arc::clone(&asker.statistics))),
            asker,
            runtime: handle,
            _stop: stop,
        })
    }

    /// As [`Client::reload`].
    pub fn reload(&self) {
        self.asker.keystone.reload();
    }

    pub fn state(&self) -> KeystoneState {
        self.asker.availability.state()
    }

    pub fn statistics(&self) -> &Arc<KeystoneStatistics> {
        &self.asker.statistics
    }

    /// The token, if it is valid; `None` if it is not. If it `may_be_expired`, only its other properties count.
    ///
    /// # Errors
    /// Keystone cannot say whether it is valid, or not in time.
    pub async fn validate(&self, text: &str, may_be_expired: bool, wait: Wait<'_>) -> Validation {
        if text.is_empty() || text.len() > MAX_TOKEN_BYTES || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Ok(None);
        }
        let hash = TokenHash::of(text);
        if let Some(token) = self.cache.get(&hash) {
            let in_time = in_time(token, may_be_expired);
            let look_up = in_time.as_ref().map_or(LookUp::Expired, |_| LookUp::Hit);
            self.statistics().count_look_up(look_up);
            return Ok(in_time);
        }
        let probe = self.asker.outage.admit().inspect_err(|_| {
            self.statistics().count_look_up(LookUp::Refused);
        })?;
        let work = || {
            let asker = Arc::clone(&self.asker);
            let (text, client) = (text.to_owned(), wait.client.to_owned());
            async move { asker.validate(hash, &text, may_be_expired, &client, probe).await }
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

impl Asker {
    /// Gets the own token.
    pub(super) async fn log_in(&self) {
        match self.keystone.log_in().await {
            Ok(own) => {
                log::info!("Tokens are validated by Keystone at {}", own.endpoint);
                self.availability.logged_in();
                self.statistics.set_failing(false);
            }
            Err(failure) => self.note_failure(&failure),
        }
    }

    /// Validates a token when there is a slot for the client. The probe asks at once, although Keystone is down.
    ///
    /// Several requests may wait for this, each until its own deadline. So the work has limits of its own: the first
    /// request's may be over soon.
    async fn validate(
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
            Ok(Some(_)) => Outcome::Accepted,
            Ok(None) => Outcome::Rejected,
            Err(_) => Outcome::Failed,
        };
        self.statistics.count_validation(outcome);
        match &found {
            Ok(_) => self.note_answer(),
            Err(failure) if failure.is_about_one_token() => {
                log::debug!("Keystone did not take a token: {failure}");
                // It is not asked again.
                self.forget(hash);
            }
            Err(failure) => {
                let header = header.clone();
                self.keep(Some(Unanswered {
                    hash,
                    header,
                    may_be_expired,
                }));
                self.note_failure(failure);
            }
        }
        let token = found?.map(Arc::new);
        if let Some(token) = &token {
            self.cache.insert(hash, Arc::clone(token));
        }
        Ok(token)
    }

    /// Keystone has answered for a client's token: writes a line if that failed before.
    fn note_answer(&self) {
        let failed = self.statistics.is_failing();
        self.availability.validated();
        self.statistics.set_failing(false);
        self.keep(None);
        if failed {
            log::info!("Keystone validates tokens again");
        }
    }

    /// Writes a line if Keystone stops to answer.
    fn note_failure(&self, failure: &Failure) {
        self.statistics.set_failing(true);
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

    fn keep(&self, unanswered: Option<Unanswered>) {
        *self.unanswered.lock().unwrap_or_else(PoisonError::into_inner) = unanswered;
    }

    /// Does not ask for this token again.
    fn forget(&self, hash: TokenHash) {
        let mut unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        unanswered.take_if(|kept| kept.hash == hash);
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use serde_json::json;

    use super::*;
    use crate::auth::keystone::tests::server::TestKeystone;
    use crate::auth::keystone::tests::{settings, valid_token};

    #[tokio::test]
    async fn a_cached_token_is_rejected_when_it_expires() {
        let server = TestKeystone::start();
        let validator = Validator::start(&settings(&server)).expect("a thread");
        let wait = Wait {
            client: "192.0.2.1",
            deadline: Instant::now() + Duration::from_secs(600),
        };
        let lasting = valid_token("ann");
        let expired = ValidToken {
            expires: SystemTime::now() - Duration::from_millis(1),
            ..ValidToken::clone(&lasting)
        };
        validator.cache.insert(TokenHash::of("lasting"), lasting);
        validator.cache.insert(TokenHash::of("expired"), Arc::new(expired));
        assert!(
            validator
                .validate("lasting", false, wait)
                .await
                .expect("an answer")
                .is_some()
        );
        assert!(
            validator
                .validate("expired", false, wait)
                .await
                .expect("an answer")
                .is_none()
        );
        // A service may use it all the same.
        assert!(
            validator
                .validate("expired", true, wait)
                .await
                .expect("an answer")
                .is_some()
        );
        assert_eq!(server.validations(), 0);
    }

    fn until(deadline: Instant) -> Wait<'static> {
        Wait {
            client: "192.0.2.1",
            deadline,
        }
    }

    const SOON: Duration = Duration::from_millis(100);
    const LATE: Duration = Duration::from_secs(600);

    #[tokio::test]
    async fn a_request_without_time_does_not_end_the_login_for_which_others_wait() {
        let server = TestKeystone::start();
        server.add("t", json!({"user": {"id": "ann", "domain": {"id": "default"}}}));
        // Each validation needs a new token of the service.
        server.change(|state| state.own_lifetime = Duration::ZERO);
        let validator = Validator::start(&settings(&server)).expect("a thread");
        let first = validator.validate("t", false, until(Instant::now() + LATE)).await;
        assert!(first.is_ok_and(|token| token.is_some()));
        server.change(|state| state.hangs = true);
        let now = Instant::now();
        let hasty = async {
            let found = validator.validate("hasty", false, until(now + SOON)).await;
            server.change(|state| state.hangs = false);
            found
        };
        let patient = validator.validate("garbage", false, until(now + LATE));
        let (hasty, patient) = tokio::join!(hasty, patient);
        assert!(hasty.is_err_and(|failure| failure == Failure::NoTime));
        assert!(patient.is_ok_and(|token| token.is_none()));
    }

    /// Found by a reader: a token that was longer than a header of Keystone's server may be took the process out of
    /// service, and placet asked for no other token.
    #[tokio::test]
    async fn found_n2_a_token_that_keystone_does_not_take_says_nothing_of_keystone() {
        let server = TestKeystone::start();
        let mut settings = settings(&server);
        settings.recovery_pause = Duration::from_millis(20);
        let validator = Validator::start(&settings).expect("a thread");
        let found = validator.validate("garbage", false, until(Instant::now() + LATE)).await;
        assert!(found.is_ok_and(|token| token.is_none()));
        for status in [400, 413, 414, 431] {
            server.change(|state| state.status = Some(status));
            let found = validator.validate("long", false, until(Instant::now() + LATE)).await;
            assert!(found.is_err(), "{status}");
            let availability = &validator.asker.availability;
            assert_eq!(availability.state(), KeystoneState::Available, "{status}");
        }
        server.change(|state| state.status = Some(500));
        let found = validator.validate("other", false, until(Instant::now() + LATE)).await;
        assert!(found.is_err());
        assert_eq!(validator.asker.availability.state(), KeystoneState::Gone);
        // placet repeats the validation of the other token.
        server.change(|state| state.status = Some(400));
        let is_available = async {
            while validator.asker.availability.state() != KeystoneState::Available {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(LATE / 10, is_available)
            .await
            .expect("the login shows that Keystone answers");
    }

    #[tokio::test]
    async fn a_probe_goes_on_if_the_time_of_its_request_is_over() {
        let mut server = TestKeystone::start();
        let validator = Validator::start(&settings(&server)).expect("a thread");
        let found = validator.validate("garbage", false, until(Instant::now() + LATE)).await;
        assert!(found.is_ok_and(|token| token.is_none()));
        server.stop();
        let found = validator.validate("garbage", false, until(Instant::now() + LATE)).await;
        assert!(found.is_err() && validator.asker.outage.is_down());
        server.restart();
        server.change(|state| state.hangs = true);
        let found = validator.validate("probe", false, until(Instant::now() + SOON)).await;
        assert!(found.is_err_and(|failure| failure == Failure::NoTime));
        server.change(|state| state.hangs = false);
        let is_up = async {
            while validator.asker.outage.is_down() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(LATE / 10, is_up).await.expect("Keystone answers the probe");
    }
}
