//! What a check may look at: who asks, and whose thing is asked for.

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub user_id: Option<String>,
    pub user_domain_id: Option<String>,
    pub project_id: Option<String>,
    pub project_domain_id: Option<String>,
    pub domain_id: Option<String>,
    /// `all` for a token of the whole system.
    pub system_scope: Option<String>,
    pub roles: Vec<String>,
    pub is_admin_project: bool,
    /// The service that passes the caller's request on.
    pub service: Service,
}

/// A service that passes somebody's request on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Service {
    pub user_id: Option<String>,
    pub user_domain_id: Option<String>,
    pub project_id: Option<String>,
    pub project_domain_id: Option<String>,
    pub roles: Vec<String>,
}

impl Default for Caller {
    /// Nobody. Whose token does not say otherwise counts as one of the admin project, as in oslo.context.
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
            service: Service::default(),
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
    /// What stands under `name` on the left side of a check; `None` where no caller has such a thing.
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
            "system" if self.is_of_system() => text(&self.system_scope),
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

    /// Whether the token is one of the whole system.
    pub fn is_of_system(&self) -> bool {
        self.system_scope.as_ref().is_some_and(|scope| !scope.is_empty())
    }

    /// Whether the token is one of a domain.
    pub fn is_of_domain(&self) -> bool {
        self.domain_id.as_ref().is_some_and(|domain| !domain.is_empty())
    }
}

/// What has no value, spelled as checks of OpenStack spell it.
pub const NOTHING: &str = "None";

/// Whose thing is asked for: what `%(project_id)s` and `%(user_id)s` stand for in a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// The caller's own, where a request names nobody.
    Own(&'a Caller),
    /// The project's that a request names, or forgot to name.
    Project(Option<&'a str>),
}

impl Target<'_> {
    /// The value of `%(name)s`; `None` where the target has no such thing.
    pub fn value(&self, name: &str) -> Option<&str> {
        let value = match (self, name) {
            (Target::Own(caller), "project_id") => caller.project_id.as_deref(),
            (Target::Own(caller), "user_id") => caller.user_id.as_deref(),
            (Target::Project(project), "project_id") => *project,
            _ => return None,
        };
        Some(value.unwrap_or(NOTHING))
    }
}
