//! The login of a program that sends requests to services of the cloud, and validates no tokens: an agent of placet.

use std::sync::Arc;

use reqwest::header::HeaderValue;

use super::client::Client;
use super::failure::StartError;
use super::own_token::{OwnToken, TokenSource};
use super::settings::KeystoneSettings;

/// Contains the credentials, so it has no `Debug`.
pub struct OwnLogin {
    client: Arc<Client>,
    source: TokenSource,
    /// The token that was used last.
    used: Option<OwnToken>,
}

impl OwnLogin {
    /// # Errors
    /// A certificate that cannot be used.
    pub fn new(settings: &KeystoneSettings) -> Result<OwnLogin, StartError> {
        let client = Arc::new(Client::new(settings, Arc::default(), Arc::default())?);
        Ok(OwnLogin {
            source: TokenSource::new(settings, Arc::clone(&client)),
            client,
            used: None,
        })
    }

    /// The token, from Keystone if there is none that lasts.
    ///
    /// # Errors
    /// Why Keystone gives no token, as a sentence.
    pub async fn token(&mut self) -> Result<HeaderValue, String> {
        let token = self.source.get().await.map_err(|failure| failure.to_string())?;
        Ok(self.used.insert(token).token.clone())
    }

    /// Forgets the token, which a service has refused. Keystone may have revoked the token before its time.
    pub async fn forget(&mut self) {
        if let Some(refused) = self.used.take() {
            self.source.forget(&refused).await;
        }
    }

    /// Reads the certificates again.
    pub fn reload(&self) {
        self.client.reload();
    }
}
