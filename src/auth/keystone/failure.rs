//! Why Keystone cannot be asked, or has not answered.

use std::path::PathBuf;

use thiserror::Error;

use crate::http_client::ConnectionError;

/// Why authentication by Keystone cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    #[error("cannot read [keystone_authtoken] {option} = {}: {reason}", path.display())]
    Unreadable {
        option: &'static str,
        path: PathBuf,
        reason: String,
    },
    #[error("cannot prepare connections to Keystone: {0}")]
    Client(String),
    #[error("cannot start the thread that asks Keystone: {0}")]
    Thread(std::io::Error),
    #[error("[keystone_authtoken] does not suffice to validate tokens: {0}")]
    Login(Failure),
}

impl From<ConnectionError> for StartError {
    fn from(error: ConnectionError) -> StartError {
        match error {
            ConnectionError::Unreadable { option, path, reason } => StartError::Unreadable { option, path, reason },
            ConnectionError::Client(reason) => StartError::Client(reason),
        }
    }
}

/// Why Keystone did not say whether a token is valid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Failure {
    #[error("{url} cannot be reached: {reason}")]
    Unreachable { url: String, reason: String },
    #[error("{url} answers {status}: {message}")]
    Status { url: String, status: u16, message: String },
    #[error("{url} answers with what is not Keystone's API: {reason}")]
    NotKeystone { url: String, reason: String },
    #[error("{url} gives the service no token ({status}: {message}); check the credentials in [keystone_authtoken]")]
    Credentials { url: String, status: u16, message: String },
    /// The failure of a login.
    #[error("{0}")]
    NoOwnToken(Box<Failure>),
    #[error("Keystone refuses the service's own token, even a new one; check the roles of its user")]
    OwnTokenRefused,
    #[error("too many tokens wait for Keystone")]
    TooMany,
    #[error("no time was left to ask Keystone")]
    NoTime,
    #[error("Keystone is down, and placet asks again after a pause")]
    Down,
    #[error("placet stops")]
    Stopped,
}

impl Failure {
    /// Whether Keystone refuses the service's credentials, or their rights: waiting does not help.
    pub fn refuses_credentials(&self) -> bool {
        match self {
            Failure::NoOwnToken(login) => login.refuses_credentials(),
            Failure::Credentials { status, .. } => matches!(status, 400 | 401 | 403),
            Failure::OwnTokenRefused => true,
            _ => self.forbids_validation(),
        }
    }

    /// Whether placet's user may not validate the client's token: Keystone lets a user validate
    /// the user's own token alone.
    pub fn forbids_validation(&self) -> bool {
        matches!(self, Failure::Status { status: 403, .. })
    }

    /// Whether every further question would fail as well: placet has no token of its own, or Keystone does not answer.
    /// A proxy answers 502, 503 or 504 in place of Keystone.
    pub fn is_outage(&self) -> bool {
        match self {
            Failure::Unreachable { .. } | Failure::NoOwnToken(_) | Failure::OwnTokenRefused => true,
            Failure::Status { status, .. } => matches!(status, 502..=504),
            _ => false,
        }
    }

    /// Whether placet has no token of its own: no client's token is the cause.
    pub fn is_about_own_token(&self) -> bool {
        matches!(self, Failure::NoOwnToken(_) | Failure::OwnTokenRefused)
    }

    /// Whether the answer to a validation concerns the client's token alone: for example, a server limits the length of
    /// a header. Keystone may well answer for the next token.
    pub fn is_about_one_token(&self) -> bool {
        matches!(self, Failure::Status { status, .. } if matches!(status, 400 | 413 | 414 | 431))
    }
}
