//! HTTP to Keystone: one pool of connections, TLS as configured, and retries if no connection succeeds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::HeaderValue;
use reqwest::redirect::Policy;
use reqwest::{Client as HttpClient, RequestBuilder, StatusCode};

use super::availability::Availability;
use super::failure::{Failure, StartError, chain};
use super::settings::{ConnectionSettings, KeystoneSettings};
use super::statistics::{Call, CallOutcome, KeystoneStatistics};
use super::tls;
use crate::backoff::Backoff;
use crate::live_value::LiveValue;

/// An answer of Keystone.
pub struct KeystoneResponse {
    pub status: StatusCode,
    /// `X-Subject-Token`
    pub subject_token: Option<HeaderValue>,
    pub body: Vec<u8>,
}

/// A longer answer is cut off, and is no JSON any more. Catalogues have some hundred kilobytes at most.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Between the attempts of one request, as in keystoneauth.
const RETRIES: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(60));

pub struct Client {
    settings: ConnectionSettings,
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
        let KeystoneSettings { connection, limit, .. } = settings;
        Ok(Client {
            http: LiveValue::new(connections(connection)?),
            settings: connection.clone(),
            limit: *limit,
            availability,
            statistics,
        })
    }

    /// Reads the certificates again. Requests in flight end on their connections. If a file cannot be used, the present
    /// certificates stay in use.
    pub fn reload(&self) {
        match self.http.replace(|| connections(&self.settings)) {
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
        let (first, mut backoff, mut retries) = (Instant::now(), RETRIES, self.settings.max_retries);
        loop {
            let began = Instant::now();
            let left = self.limit.saturating_sub(began.duration_since(first));
            let http = self.http.load_full();
            let timeout = self.settings.timeout.min(left);
            let timed = || request(&http).timeout(timeout);
            let mut exchanged = exchange(timed()).await;
            if exchanged.as_ref().is_err_and(was_closed) {
                exchanged = exchange(timed()).await;
            }
            let outcome = outcome(call, exchanged.as_ref().ok().map(|answer| answer.status));
            self.statistics.count_call(call, outcome, began.elapsed());
            let error = match exchanged {
                Ok(answer) => return Ok(answer),
                Err(error) => error.without_url(),
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

/// A pool of connections, with the certificates as the files are now.
///
/// # Errors
/// A certificate that cannot be used.
pub fn connections(settings: &ConnectionSettings) -> Result<HttpClient, StartError> {
    let builder = HttpClient::builder()
        .timeout(settings.timeout)
        .connect_timeout(settings.timeout)
        .user_agent(concat!("placet/", env!("CARGO_PKG_VERSION")))
        // A redirect would take the tokens to another host.
        .redirect(Policy::none())
        // Only the configuration says where Keystone is, not the environment.
        .no_proxy();
    let http = tls::configure(builder, settings)?.build();
    http.map_err(|error| StartError::Client(chain(&error)))
}

/// Whether the connection was closed before the answer. Keystone, or a proxy before Keystone, may close a kept
/// connection while a request is sent. The request is repeated at once: both kinds of calls may be sent twice.
fn was_closed(error: &reqwest::Error) -> bool {
    !error.is_connect() && !error.is_timeout()
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

async fn exchange(request: RequestBuilder) -> reqwest::Result<KeystoneResponse> {
    let mut response = request.send().await?;
    let mut answer = KeystoneResponse {
        status: response.status(),
        subject_token: response.headers().get("x-subject-token").cloned(),
        body: Vec::new(),
    };
    while let Some(chunk) = response.chunk().await? {
        answer.body.extend_from_slice(&chunk);
        if answer.body.len() > MAX_ANSWER_BYTES {
            break;
        }
    }
    Ok(answer)
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
