//! Authentication: from the headers of a request to the identity of its caller.

pub mod keystone;
mod live_tokens;
pub mod noauth2;
pub mod tokens;

use std::sync::Arc;

pub use live_tokens::LiveTokens;

use crate::policy::Caller;

/// The parts of a request that authentication reads.
#[derive(Clone, Copy)]
pub struct AuthRequest<'a> {
    /// The value of the header with this name, in lower case; one character for each byte.
    pub header: &'a dyn Fn(&'static str) -> Option<String>,
    pub method: &'a str,
    /// The path as the client sent it, encoded.
    pub path: &'a str,
    /// The address of the client.
    pub client: &'a str,
}

/// Why a request has no caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denied {
    /// The request has no valid token.
    Unauthenticated {
        /// The header `WWW-Authenticate`, if it says where clients get a token.
        www_authenticate: Option<String>,
        body: UnauthenticatedBody,
    },
    /// The token cannot be checked now. `detail` is a sentence for the client.
    Unavailable { detail: String },
}

/// The body of a 401, which depends on the part of OpenStack Placement that refuses the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnauthenticatedBody {
    /// The body of Placement itself.
    Placement,
    /// The body of keystonemiddleware, which stands before Placement.
    Middleware,
}

/// How requests are authenticated.
pub enum Authenticator {
    /// `auth_strategy = noauth2`: every token is accepted without a check. For tests and first steps.
    NoAuth2,
    /// `auth_strategy = keystone`: an OpenStack Keystone validates tokens.
    Keystone(Box<keystone::Keystone>),
    /// `auth_strategy = noauth2` with `[placet] token_file`: tokens are looked up.
    Tokens(LiveTokens),
}

impl Authenticator {
    /// The caller of a request.
    ///
    /// # Errors
    /// [`Denied`].
    pub async fn authenticate(&self, request: &AuthRequest<'_>) -> Result<Arc<Caller>, Denied> {
        let unauthenticated = || Denied::Unauthenticated {
            www_authenticate: None,
            body: UnauthenticatedBody::Placement,
        };
        match self {
            Authenticator::NoAuth2 => noauth2::authenticate(request).map(Arc::new).ok_or_else(unauthenticated),
            Authenticator::Keystone(keystone) => keystone.authenticate(request).await,
            Authenticator::Tokens(tokens) => tokens.authenticate(request).ok_or_else(unauthenticated),
        }
    }

    /// Reads the files of tokens and certificates again: at SIGHUP.
    pub fn reload(&self) {
        match self {
            Authenticator::NoAuth2 => {}
            Authenticator::Keystone(keystone) => keystone.reload(),
            Authenticator::Tokens(tokens) => tokens.reload(),
        }
    }

    /// Keystone, if the strategy is Keystone.
    pub fn keystone(&self) -> Option<&keystone::Keystone> {
        match self {
            Authenticator::NoAuth2 | Authenticator::Tokens(_) => None,
            Authenticator::Keystone(keystone) => Some(keystone),
        }
    }
}
