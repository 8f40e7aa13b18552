//! Who asks: what a request presents, and the context that it earns.

pub mod noauth2;

/// Who a request comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    pub user_id: Option<String>,
    pub user_domain_id: Option<String>,
    pub project_id: Option<String>,
    pub project_domain_id: Option<String>,
    pub domain_id: Option<String>,
    /// `all` where the token is one of the whole system.
    pub system_scope: Option<String>,
    pub roles: Vec<String>,
    /// Whether the project is the one that Keystone calls its admin project, or Keystone has none.
    pub is_admin_project: bool,
    /// The service that passes somebody's request on.
    pub service: ServiceContext,
}

/// A service that passes somebody's request on: what its own token says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceContext {
    pub user_id: Option<String>,
    pub user_domain_id: Option<String>,
    pub project_id: Option<String>,
    pub project_domain_id: Option<String>,
    pub roles: Vec<String>,
}

/// What a request presents: its headers, by their names in lower case.
#[derive(Clone, Copy)]
pub struct Presented<'a> {
    pub header: &'a dyn Fn(&'static str) -> Option<String>,
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
