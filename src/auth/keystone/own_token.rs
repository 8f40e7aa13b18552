//! The service's own token, which authorizes questions about clients' tokens. The token is renewed before it expires.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use reqwest::StatusCode;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use tokio::sync::Mutex;

use super::client::Client;
use super::failure::Failure;
use super::login;
use super::settings::KeystoneSettings;
use super::statistics::Call;
use super::token::{CatalogService, TokenAnswer};
use crate::backoff::{Backoff, Pause};

/// A token with less time left is renewed, as in keystoneauth.
const MIN_LIFETIME: Duration = Duration::from_secs(120);
/// Between failed renewals of a token that is still valid.
const RENEWALS: Backoff = Backoff::new(KeystoneSettings::RECOVERY_PAUSE, KeystoneSettings::LONGEST_PAUSE);

/// The service's own token, and the endpoint for its use.
#[derive(Clone)]
pub struct OwnToken {
    pub token: HeaderValue,
    /// The URL of Keystone's API, which ends with `/v3`.
    pub endpoint: String,
    expires: SystemTime,
}

/// Gets, keeps and renews the token. The type contains the credentials, so it has no `Debug`.
pub struct TokenSource {
    url: String,
    auth_endpoint: String,
    body: Vec<u8>,
    interface: String,
    region_name: Option<String>,
    client: Arc<Client>,
    state: Mutex<TokenState>,
}

#[derive(Default)]
struct TokenState {
    token: Option<OwnToken>,
    /// `Some` from a failed login until a success.
    pause: Option<Pause<Failure>>,
}

impl TokenState {
    /// The token, if no login is due: the token lasts, or is still valid in the pause after a failed renewal.
    fn in_force(&self) -> Option<&OwnToken> {
        let is_paused = self.pause.as_ref().is_some_and(|pause| !pause.left().is_zero());
        let min_lifetime = if is_paused { Duration::ZERO } else { MIN_LIFETIME };
        self.token.as_ref().filter(|token| token.lasts(min_lifetime))
    }
}

impl OwnToken {
    fn lasts(&self, lifetime: Duration) -> bool {
        self.expires > SystemTime::now() + lifetime
    }
}

impl TokenSource {
    pub fn new(settings: &KeystoneSettings, client: Arc<Client>) -> TokenSource {
        let auth_endpoint = versioned(&settings.auth_url);
        TokenSource {
            url: format!("{auth_endpoint}/auth/tokens"),
            auth_endpoint,
            body: login::body(&settings.credentials, &settings.scope),
            interface: plain_interface(&settings.interface).to_owned(),
            region_name: settings.region_name.clone(),
            client,
            state: Mutex::default(),
        }
    }

    /// The token, from Keystone if the present token expires soon. All tasks that wait at the same time share the token
    /// or the failure.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn get(&self) -> Result<OwnToken, Failure> {
        let asked = Instant::now();
        let mut state = self.state.lock().await;
        if let Some(token) = state.in_force() {
            return Ok(token.clone());
        }
        if let Some(failure) = state.pause.as_ref().and_then(|pause| pause.failed_since(asked)) {
            return Err(failure.clone());
        }
        match self.request().await {
            Ok(token) => {
                *state = TokenState {
                    token: Some(token.clone()),
                    pause: None,
                };
                Ok(token)
            }
            Err(failure) => {
                let failure = Failure::NoOwnToken(Box::new(failure));
                state.pause = Some(Pause::begin(state.pause.take(), &RENEWALS, failure.clone()));
                // The present token is valid for a while, and Keystone may be down only for renewals.
                let usable = state.token.clone().filter(|token| token.lasts(Duration::ZERO));
                usable.ok_or(failure)
            }
        }
    }

    /// Forgets the refused token. If the token was replaced in between, the newer token stays.
    pub async fn forget(&self, refused: &OwnToken) {
        let mut state = self.state.lock().await;
        if state.token.as_ref().is_some_and(|token| token.token == refused.token) {
            state.token = None;
        }
    }

    async fn request(&self) -> Result<OwnToken, Failure> {
        let answer = self
            .client
            .send(Call::Login, &self.url, |http| {
                let request = http.post(&self.url).header(CONTENT_TYPE, "application/json");
                request.body(self.body.clone())
            })
            .await?;
        let (url, status) = (self.url.clone(), answer.status.as_u16());
        if answer.status.is_server_error() || answer.status.is_redirection() {
            let message = answer.message();
            return Err(Failure::Status { url, status, message });
        }
        if answer.status != StatusCode::CREATED {
            let message = answer.message();
            return Err(Failure::Credentials { url, status, message });
        }
        let unreadable = |reason: String| Failure::NotKeystone {
            url: self.url.clone(),
            reason,
        };
        let token = TokenAnswer::read(&answer.body).map_err(unreadable)?.token;
        let mut header = answer
            .subject_token
            .ok_or_else(|| unreadable("it has no X-Subject-Token".to_owned()))?;
        header.set_sensitive(true);
        Ok(OwnToken {
            token: header,
            endpoint: self.endpoint(&token.catalog),
            expires: token.expires().map_err(unreadable)?,
        })
    }

    /// Keystone's URL in the catalogue, or else the URL that gave the token.
    fn endpoint(&self, catalog: &[CatalogService]) -> String {
        let identity = catalog.iter().filter(|service| service.service_type == "identity");
        let found = identity.flat_map(|service| &service.endpoints).find(|endpoint| {
            let region = endpoint.region.as_ref().or(endpoint.region_id.as_ref());
            plain_interface(&endpoint.interface) == self.interface
                && (self.region_name.is_none() || region == self.region_name.as_ref())
        });
        match found {
            Some(endpoint) => versioned(&endpoint.url),
            None => {
                log::warn!(
                    "Keystone's catalogue has no {} endpoint of type identity{}; tokens are validated at auth_url",
                    self.interface,
                    self.region_name
                        .as_ref()
                        .map_or(String::new(), |region| format!(" in region {region}"))
                );
                self.auth_endpoint.clone()
            }
        }
    }
}

/// `internalURL` is an older name of `internal`.
fn plain_interface(name: &str) -> &str {
    name.strip_suffix("URL").unwrap_or(name)
}

/// The URL of version 3 of the API.
fn versioned(url: &str) -> String {
    let url = url.trim_end_matches('/');
    let base = url
        .strip_suffix("/v3")
        .or_else(|| url.strip_suffix("/v2.0"))
        .unwrap_or(url);
    format!("{base}/v3")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_the_url_leads_to_version_3() {
        for (url, expected) in [
            ("http://k:5000", "http://k:5000/v3"),
            ("http://k:5000/", "http://k:5000/v3"),
            ("http://k:5000/v3", "http://k:5000/v3"),
            ("http://k:5000/v3/", "http://k:5000/v3"),
            ("http://k:5000/v2.0", "http://k:5000/v3"),
            ("https://cloud/identity", "https://cloud/identity/v3"),
        ] {
            assert_eq!(versioned(url), expected, "{url}");
        }
    }
}
