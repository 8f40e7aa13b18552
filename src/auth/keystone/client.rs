//! HTTP to Keystone: one pool of connections, TLS as configured, and retries if no connection succeeds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::HeaderValue;
use reqwest::{Client as HttpClient, RequestBuilder, StatusCode};

use super::availability::Availability;
use super::failure::{Failure, StartError};
use super::settings::KeystoneSettings;
use super::statistics::{Call, CallOutcome, KeystoneStatistics};
use crate::backoff::Backoff;
use crate::http_client::{self, ConnectionSettings, WholeAnswer, chain};
use crate::live_value::LiveValue;

/// An answer of Keystone.
pub struct KeystoneResponse {
    pub status: StatusCode,
    /// `X-Subject-Token`
    pub subject_token: Option<HeaderValue>,
    pub body: Vec<u8>,
}

/// Between the attempts of one request, as in keystoneauth.
const RETRIES: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(60));

pub struct Client {
    settings: ConnectionSettings,
    max_retries: u32,
    /// How long a request may take with all its attempts.
    limit: Duration,
    http: LiveValue<HttpClient>,
    availability: Arc<Availability>,
    statistics: Arc<KeystoneStatistics>,
}

impl Client {
    /// # Errors
    /// A file with a certificate that cannot be read.
    pub fn new(
        settings: &KeystoneSettings,
        availability: Arc<Availability>,
        statistics: Arc<KeystoneStatistics>,
    ) -> Result<Client, StartError> {
        let KeystoneSettings {
            connection,
            max_retries,
            limit,
            ..
        } = settings;
        Ok(Client {
            http: LiveValue::new(http_client::connections(connection)?),
            settings: connection.clone(),
            max_retries: *max_retries,
            limit: *limit,
            availability,
            statistics,
        })
    }

    /// Reads the certificates again. Requests in flight end on their connections. If a file cannot be used, the present
    /// certificates stay in use.
    pub fn reload(&self) {
        match self
            .http
            .replace(|| http_client::connections(&self.settings).map_err(StartError::from))
        {
            Ok(()) => log::info!("the certificates for connections to Keystone were read again"),
            Err(error) => log::error!(
                "{error}. The certificates that were read before stay in use. Correct the file and send SIGHUP again"
            ),
        }
    }

    /// Sends a request, and repeats the request within the limit if there was no connection or no answer in time. While
    /// Keystone is down, no request is repeated.
    ///
    /// # Errors
    /// [`Failure::Unreachable`].
    pub async fn send(
        &self,
        call: Call,
        url: &str,
        request: impl Fn(&HttpClient) -> RequestBuilder,
    ) -> Result<KeystoneResponse, Failure> {
        let (first, mut backoff, mut retries) = (Instant::now(), RETRIES, self.max_retries);
        loop {
            let began = Instant::now();
            let left = self.limit.saturating_sub(began.duration_since(first));
            let http = self.http.load_full();
            let timeout = self.settings.timeout.min(left);
            // Both kinds of calls may be sent twice.
            let exchanged = http_client::exchange(|| request(&http).timeout(timeout)).await;
            let outcome = outcome(call, exchanged.as_ref().ok().map(|answer| answer.status));
            self.statistics.count_call(call, outcome, began.elapsed());
            let error = match exchanged {
                Ok(answer) => return Ok(answer.into()),
                Err(error) => error,
            };
            let delay = backoff.next_pause();
            if retries == 0 || self.availability.is_down() || first.elapsed() + delay >= self.limit {
                return Err(Failure::Unreachable {
                    url: url.to_owned(),
                    reason: chain(&error),
                });
            }
            log::debug!("{url} cannot be reached, trying again in {delay:?}: {}", chain(&error));
            tokio::time::sleep(delay).await;
            retries -= 1;
        }
    }
}

/// The meaning of an answer with this status; without a status there was no answer.
fn outcome(call: Call, status: Option<StatusCode>) -> CallOutcome {
    match (call, status) {
        (_, None) => CallOutcome::Unreachable,
        (Call::Login, Some(StatusCode::CREATED)) | (Call::Validation, Some(StatusCode::OK)) => CallOutcome::Accepted,
        (Call::Validation, Some(StatusCode::NOT_FOUND)) => CallOutcome::Rejected,
        (_, Some(StatusCode::UNAUTHORIZED)) => CallOutcome::Unauthorized,
        (Call::Login, Some(status)) if status.is_client_error() => CallOutcome::Unauthorized,
        _ => CallOutcome::Error,
    }
}

impl From<WholeAnswer> for KeystoneResponse {
    fn from(answer: WholeAnswer) -> KeystoneResponse {
        KeystoneResponse {
            status: answer.status,
            subject_token: answer.headers.get("x-subject-token").cloned(),
            body: answer.body,
        }
    }
}

impl KeystoneResponse {
    /// Keystone's sentence about an error, or the beginning of another body.
    pub fn message(&self) -> String {
        let error = serde_json::from_slice::<serde_json::Value>(&self.body).ok();
        let message = error.as_ref().and_then(|body| body["error"]["message"].as_str());
        let text = message.map_or_else(|| String::from_utf8_lossy(&self.body).into_owned(), str::to_owned);
        text.chars().take(200).flat_map(char::escape_debug).collect()
    }
}
