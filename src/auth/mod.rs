//! Who asks: what a request presents, and the context that it earns.

pub mod noauth2;

/// Who a request comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    pub user_id: Option<String>,
    pub project_id: Option<String>,
    pub domain_id: Option<String>,
    /// `all` where the token is one of the whole system.
    pub system_scope: Option<String>,
    pub roles: Vec<String>,
}

/// The headers of a request that may say who it comes from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Presented<'a> {
    /// `X-Auth-Token`.
    pub token: Option<&'a str>,
    /// `X-Roles`, believed by noauth2 alone.
    pub roles: Option<&'a str>,
    /// `X-Project-Id`, believed by noauth2 alone.
    pub project: Option<&'a str>,
    /// `OpenStack-System-Scope`, believed by noauth2 alone.
    pub system_scope: Option<&'a str>,
}

/// How requests are told apart: `[api] auth_strategy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Every token is believed. For tests and first steps.
    NoAuth2,
}

impl Strategy {
    /// The context of a request, or `None` where it must be turned away.
    pub fn authenticate(self, presented: &Presented<'_>) -> Option<Context> {
        match self {
            Strategy::NoAuth2 => noauth2::authenticate(presented),
        }
    }
}
