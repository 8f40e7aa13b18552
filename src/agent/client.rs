//! HTTP to placet: a connection that is kept, the processes of placet in turn, and the token.

use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Method, StatusCode};
use serde_json::Value;

use crate::auth::keystone::OwnLogin;
use crate::http_client::{self, ConnectionError, ConnectionSettings, WholeAnswer, chain};

/// The newest form of OpenStack's routes is not needed: the agent asks for the uuid of a name alone.
const VERSION: &str = "placement 1.39";

/// Where the token of the agent comes from.
pub enum AgentCredentials {
    /// The file is read for each request, so that a new token counts at once.
    File(Box<dyn Fn() -> Result<String, String>>),
    Keystone(Box<OwnLogin>),
}

/// An answer of placet.
#[derive(Debug, PartialEq, Eq)]
pub struct PlacetAnswer {
    pub status: u16,
    /// Null for a body that is no JSON.
    pub body: Value,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// There is no token, for this reason.
    Token(String),
    /// No process of placet has answered, or each has failed. The reasons, by URL.
    Placet(String),
}

pub struct PlacetClient {
    urls: Vec<String>,
    /// The URL of the process that answered last.
    current: usize,
    settings: ConnectionSettings,
    http: Client,
    credentials: AgentCredentials,
}

impl PlacetClient {
    /// # Errors
    /// A certificate that cannot be used.
    pub fn new(
        urls: Vec<String>,
        settings: ConnectionSettings,
        credentials: AgentCredentials,
    ) -> Result<PlacetClient, ConnectionError> {
        Ok(PlacetClient {
            urls,
            current: 0,
            http: http_client::connections(&settings)?,
            settings,
            credentials,
        })
    }

    /// Reads the certificates again. If a file cannot be used, the present certificates stay in use.
    pub fn reload(&mut self) {
        match http_client::connections(&self.settings) {
            Ok(http) => self.http = http,
            Err(error) => log::error!(
                "[agent] {error}. The certificates that were read before stay in use. Correct the file and send SIGHUP \
                 again"
            ),
        }
        if let AgentCredentials::Keystone(login) = &self.credentials {
            login.reload();
        }
    }

    /// Sends a request, which may be sent twice, to each process of placet until a process answers. A process that
    /// answers with 5xx has failed.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub async fn send(&mut self, method: &Method, path: &str, body: Option<&Value>) -> Result<PlacetAnswer, NoAnswer> {
        let answer = self.send_in_turn(method, path, body).await?;
        match &mut self.credentials {
            AgentCredentials::Keystone(login) if answer.status == StatusCode::UNAUTHORIZED => login.forget().await,
            _ => return Ok(answer),
        }
        self.send_in_turn(method, path, body).await
    }

    async fn send_in_turn(
        &mut self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<PlacetAnswer, NoAnswer> {
        let token = self.credentials.token().await.map_err(NoAnswer::Token)?;
        let mut failures = Vec::new();
        for _ in 0..self.urls.len() {
            let url = &self.urls[self.current];
            let failure = match self.exchange(method, &format!("{url}{path}"), body, &token).await {
                Ok(answer) if !answer.status.is_server_error() => return Ok(PlacetAnswer::of(&answer)),
                Ok(failed) => format!(
                    "answers {}: {}",
                    failed.status.as_u16(),
                    PlacetAnswer::of(&failed).detail()
                ),
                Err(error) => chain(&error),
            };
            failures.push(format!("{url}: {failure}"));
            self.current = (self.current + 1) % self.urls.len();
        }
        Err(NoAnswer::Placet(failures.join("; ")))
    }

    async fn exchange(
        &self,
        method: &Method,
        url: &str,
        body: Option<&Value>,
        token: &HeaderValue,
    ) -> reqwest::Result<WholeAnswer> {
        let request = || {
            let request = self.http.request(method.clone(), url);
            let request = request
                .header("x-auth-token", token)
                .header("openstack-api-version", VERSION);
            match body {
                Some(body) => request.header(CONTENT_TYPE, "application/json").body(body.to_string()),
                None => request,
            }
        };
        http_client::exchange(request).await
    }
}

impl AgentCredentials {
    async fn token(&mut self) -> Result<HeaderValue, String> {
        match self {
            AgentCredentials::Keystone(login) => login.token().await,
            AgentCredentials::File(read) => {
                let mut token = HeaderValue::try_from(read()?)
                    .map_err(|_| "[agent] token_file: the token has a character that no header may have".to_owned())?;
                token.set_sensitive(true);
                Ok(token)
            }
        }
    }
}

impl PlacetAnswer {
    fn of(answer: &WholeAnswer) -> PlacetAnswer {
        PlacetAnswer {
            status: answer.status.as_u16(),
            body: serde_json::from_slice(&answer.body).unwrap_or_default(),
        }
    }

    /// The sentence about the refusal.
    pub fn detail(&self) -> &str {
        let detail = self.body["errors"][0]["detail"].as_str();
        // The body of a 401 with Keystone is that of keystonemiddleware.
        detail
            .or_else(|| self.body["error"]["message"].as_str())
            .unwrap_or("no reason is given.")
    }

    /// The code of the refusal.
    pub fn code(&self) -> &str {
        self.body["errors"][0]["code"].as_str().unwrap_or_default()
    }
}
