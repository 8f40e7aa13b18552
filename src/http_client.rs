//! HTTP to a server of the operator: Keystone, or placet for its agents. TLS is as configured.
//!
//! Redirects and proxies are off. A redirect would take the token to a second host. The configuration alone says where
//! a server is, and the environment does not.

mod tls;

use std::path::PathBuf;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, StatusCode};
use thiserror::Error;

/// How a server is reached.
#[derive(Debug, Clone)]
pub struct ConnectionSettings {
    /// How long a request may take, from the connection to the end of the answer.
    pub timeout: Duration,
    /// The authorities that sign the server's certificate, instead of the system's.
    pub cafile: Option<PathBuf>,
    /// Believe any certificate.
    pub insecure: bool,
    /// The client certificate, and its key if the key has a file of its own.
    pub certfile: Option<PathBuf>,
    pub keyfile: Option<PathBuf>,
}

/// Why no connections can be prepared.
#[derive(Debug, Error)]
pub enum ConnectionError {
    #[error("cannot read {option} = {}: {reason}", path.display())]
    Unreadable {
        option: &'static str,
        path: PathBuf,
        reason: String,
    },
    #[error("cannot prepare connections: {0}")]
    Client(String),
}

/// An answer with its whole body.
pub struct WholeAnswer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// A longer answer is cut off, and is no JSON any more. Keystone's catalogues have some hundred kilobytes at most.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

/// A pool of connections, with the certificates as the files are now.
///
/// # Errors
/// A certificate that cannot be used.
pub fn connections(settings: &ConnectionSettings) -> Result<Client, ConnectionError> {
    let builder = Client::builder()
        .timeout(settings.timeout)
        .connect_timeout(settings.timeout)
        .user_agent(concat!("placet/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .no_proxy();
    let client = tls::configure(builder, settings)?.build();
    client.map_err(|error| ConnectionError::Client(chain(&error)))
}

/// Sends a request. A server, or a proxy before the server, may close a kept connection while a request is sent. If so,
/// the request is repeated at once. The request must be repeatable.
///
/// # Errors
/// No answer. The error has no URL.
pub async fn exchange(request: impl Fn() -> RequestBuilder) -> reqwest::Result<WholeAnswer> {
    let mut exchanged = exchange_once(request()).await;
    if exchanged.as_ref().is_err_and(was_closed) {
        exchanged = exchange_once(request()).await;
    }
    exchanged.map_err(reqwest::Error::without_url)
}

fn was_closed(error: &reqwest::Error) -> bool {
    !error.is_connect() && !error.is_timeout()
}

async fn exchange_once(request: RequestBuilder) -> reqwest::Result<WholeAnswer> {
    let mut response = request.send().await?;
    let mut answer = WholeAnswer {
        status: response.status(),
        headers: response.headers().clone(),
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

/// The error with its causes, which name the address and the system's reason.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
