//! The inputs of a check: the caller's credentials and the target of the request.

/// The credentials of a request's caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub user_id: Option<String>,
    pub user_domain_id: Option<String>,
    pub project_id: Option<String>,
    pub project_domain_id: Option<String>,
    pub domain_id: Option<String>,
    /// `all` for a token with system scope.
    pub system_scope: Option<String>,
    pub roles: Vec<String>,
    pub is_admin_project: bool,
    /// The service that forwards the request.
    pub service: ServiceCredentials,
    /// The uuid of the host whose agent has the token. The token reports for the host, and for nothing else.
    pub host: Option<String>,
}

/// The credentials of a service that forwards a user's request, from its own token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceCredentials {
    pub user_id: Option<String>,
    pub user_domain_id: Option<String>,
    pub project_id: Option<String>,
    pub project_domain_id: Option<String>,
    pub roles: Vec<String>,
}

impl Default for Caller {
    /// A caller without any credentials. As in oslo.context, `is_admin_project` is true unless the token denies it.
    fn default() -> Caller {
        Caller {
            user_id: None,
            user_domain_id: None,
            project_id: None,
            project_domain_id: None,
            domain_id: None,
            system_scope: None,
            roles: Vec::new(),
            is_admin_project: true,
            service: ServiceCredentials::default(),
            host: None,
        }
    }
}

/// One credential of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential<'a> {
    Text(Option<&'a str>),
    Flag(bool),
    List(&'a [String]),
}

impl Caller {
    /// The credential on the left side of a check; `None` if callers have no such credential.
    pub fn credential(&self, name: &str) -> Option<Credential<'_>> {
        fn text(value: &Option<String>) -> Option<Credential<'_>> {
            Some(Credential::Text(value.as_deref()))
        }
        match name {
            "user_id" => text(&self.user_id),
            "user_domain_id" => text(&self.user_domain_id),
            "project_id" => text(&self.project_id),
            "project_domain_id" => text(&self.project_domain_id),
            "domain_id" => text(&self.domain_id),
            "system_scope" => text(&self.system_scope),
            "system" if self.has_system_scope() => text(&self.system_scope),
            "roles" => Some(Credential::List(&self.roles)),
            "is_admin_project" => Some(Credential::Flag(self.is_admin_project)),
            "service_user_id" => text(&self.service.user_id),
            "service_user_domain_id" => text(&self.service.user_domain_id),
            "service_project_id" => text(&self.service.project_id),
            "service_project_domain_id" => text(&self.service.project_domain_id),
            "service_roles" => Some(Credential::List(&self.service.roles)),
            _ => None,
        }
    }

    /// Whether a token can have the credential of this name.
    pub fn may_have(name: &str) -> bool {
        // Only a token with system scope has `system`.
        name == "system" || Caller::default().credential(name).is_some()
    }

    /// Whether the token has system scope.
    pub fn has_system_scope(&self) -> bool {
        self.system_scope.as_ref().is_some_and(|scope| !scope.is_empty())
    }

    /// Whether the token has domain scope.
    pub fn has_domain_scope(&self) -> bool {
        self.domain_id.as_ref().is_some_and(|domain| !domain.is_empty())
    }
}

/// The spelling of a missing value in OpenStack's checks.
pub const MISSING_VALUE: &str = "None";

/// The owner of the requested resource: the values of `%(project_id)s` and `%(user_id)s` in a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// The caller, for routes without an owner.
    Own(&'a Caller),
    /// The project in the request; `None` without a project.
    Project(Option<&'a str>),
}

impl Target<'_> {
    /// The value of `%(name)s`; `None` if targets have no such attribute.
    pub fn value(&self, name: &str) -> Option<&str> {
        let value = match (self, name) {
            (Target::Own(caller), "project_id") => caller.project_id.as_deref(),
            (Target::Own(caller), "user_id") => caller.user_id.as_deref(),
            (Target::Project(project), "project_id") => *project,
            _ => return None,
        };
        Some(value.unwrap_or(MISSING_VALUE))
    }
}
