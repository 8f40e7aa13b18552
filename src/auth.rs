//! Authentication: from the headers of a request to the identity of its caller.

pub mod noauth2;

/// The identity of a request's caller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuthContext {
    pub user_id: Option<String>,
    pub user_domain_id: Option<String>,
    pub project_id: Option<String>,
    pub project_domain_id: Option<String>,
    pub domain_id: Option<String>,
    /// `all` for a token with system scope.
    pub system_scope: Option<String>,
    pub roles: Vec<String>,
    /// Whether the project is Keystone's admin project. Also true if Keystone has none.
    pub is_admin_project: bool,
    /// The service that forwards the request.
    pub service: ServiceAuthContext,
}

/// The identity of a service that forwards a user's request, from its own token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceAuthContext {
    pub user_id: Option<String>,
    pub user_domain_id: Option<String>,
    pub project_id: Option<String>,
    pub project_domain_id: Option<String>,
    pub roles: Vec<String>,
}

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
    /// The caller's identity, or `None` if the request must be refused.
    pub fn authenticate(self, headers: &AuthHeaders<'_>) -> Option<AuthContext> {
        match self {
            AuthStrategy::NoAuth2 => noauth2::authenticate(headers),
        }
    }
}
