//! Authentication: from the headers of a request to the identity of its caller.

pub mod noauth2;

use crate::policy::Caller;

/// Access to the headers of a request, by their names in lower case.
#[derive(Clone, Copy)]
pub struct AuthHeaders<'a> {
    pub header: &'a dyn Fn(&'static str) -> Option<String>,
}

/// How requests are authenticated: `[api] auth_strategy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthStrategy {
    /// Every token is accepted without a check. For tests and first steps.
    NoAuth2,
}

impl AuthStrategy {
    /// The caller, or `None` if the request must be refused.
    pub fn authenticate(self, headers: &AuthHeaders<'_>) -> Option<Caller> {
        match self {
            AuthStrategy::NoAuth2 => noauth2::authenticate(headers),
        }
    }
}
