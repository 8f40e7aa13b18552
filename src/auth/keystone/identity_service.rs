//! Asks Keystone whether a token is valid.

use std::sync::Arc;

use reqwest::StatusCode;
use reqwest::header::HeaderValue;

use super::client::{self, Client};
use super::failure::Failure;
use super::own_token::{OwnToken, TokenSource};
use super::settings::KeystoneSettings;
use super::statistics::Call;
use super::token::{TokenAnswer, ValidToken};

/// Keystone's API, as far as placet uses the API.
pub struct IdentityService {
    client: Arc<Client>,
    own_token: TokenSource,
    /// Whether the catalogue is requested. A catalogue is long, and only access rules need one.
    with_catalog: bool,
}

impl IdentityService {
    pub fn new(settings: &KeystoneSettings, client: Client) -> IdentityService {
        let client = Arc::new(client);
        IdentityService {
            own_token: TokenSource::new(settings, Arc::clone(&client)),
            client,
            with_catalog: settings.service_type.is_some(),
        }
    }

    /// As [`Client::reload`].
    pub fn reload(&self) {
        self.client.reload();
    }

    /// Gets the service's own token.
    ///
    /// # Errors
    /// [`Failure`]
    pub async fn log_in(&self) -> Result<OwnToken, Failure> {
        self.own_token.get().await
    }

    /// Keystone's answer about `token`; `None` if the token is not valid.
    ///
    /// # Errors
    /// Keystone does not say whether the token is valid.
    pub async fn validate(&self, token: &HeaderValue, may_be_expired: bool) -> Result<Option<ValidToken>, Failure> {
        // Placet's own token may be revoked before its time. Keystone then gives a new token, once.
        for _ in 0..2 {
            let own = self.log_in().await?;
            let url = format!("{}/auth/tokens", own.endpoint);
            let answer = self.ask(&url, &own, token, may_be_expired).await?;
            match answer.status {
                StatusCode::OK => return read(&url, &answer),
                StatusCode::NOT_FOUND => return Ok(None),
                StatusCode::UNAUTHORIZED => self.own_token.forget(&own).await,
                status => {
                    return Err(Failure::Status {
                        url,
                        status: status.as_u16(),
                        message: answer.message(),
                    });
                }
            }
        }
        Err(Failure::OwnTokenRefused)
    }

    async fn ask(
        &self,
        url: &str,
        own: &OwnToken,
        token: &HeaderValue,
        may_be_expired: bool,
    ) -> Result<client::KeystoneResponse, Failure> {
        let mut query = Vec::new();
        if !self.with_catalog {
            query.push("nocatalog");
        }
        if may_be_expired {
            query.push("allow_expired=1");
        }
        let full = format!("{url}?{}", query.join("&"));
        let send = |http: &reqwest::Client| {
            let request = http.get(&full).header("x-auth-token", &own.token);
            // Without this header Keystone refuses tokens with access rules. The header promises placet's check.
            request
                .header("x-subject-token", token)
                .header("openstack-identity-access-rules", "1")
        };
        self.client.send(Call::Validation, url, send).await
    }
}

fn read(url: &str, answer: &client::KeystoneResponse) -> Result<Option<ValidToken>, Failure> {
    let answer = TokenAnswer::read(&answer.body).map_err(|reason| Failure::NotKeystone {
        url: url.to_owned(),
        reason,
    })?;
    match answer.token.validate() {
        Ok(token) => Ok(Some(token)),
        Err(reason) => {
            log::warn!("A token is refused: {reason}");
            Ok(None)
        }
    }
}
