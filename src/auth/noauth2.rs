//! `auth_strategy = noauth2`: every token is accepted, and every header that Keystone's middleware would set.
//!
//! A token is `user` or `user:project`. A missing project is the user's name. The user `admin` has the role `admin`,
//! and all others have none. `X-Roles` overrides these roles. With `OpenStack-System-Scope` the token has no project.

use super::AuthRequest;
use crate::policy::{Caller, ServiceCredentials};

/// The caller; `None` without a token.
pub fn authenticate(request: &AuthRequest<'_>) -> Option<Caller> {
    let header = request.header;
    let token = header("x-auth-token")?;
    let (user, project) = token.split_once(':').unwrap_or((&token, ""));
    let project = if project.is_empty() { user } else { project };
    let system_scope = header("openstack-system-scope");
    let has_system_scope = system_scope.as_ref().is_some_and(|scope| !scope.is_empty());
    let project_of_token = (!has_system_scope).then(|| project.to_owned());
    let roles = match header("x-roles") {
        Some(roles) => split_roles(&roles),
        None if user == "admin" => vec!["admin".to_owned()],
        None => Vec::new(),
    };
    Some(Caller {
        user_id: Some(user.to_owned()),
        user_domain_id: header("x-user-domain-id"),
        project_id: header("x-project-id").or(project_of_token),
        project_domain_id: header("x-project-domain-id"),
        domain_id: header("x-domain-id"),
        system_scope,
        roles,
        is_admin_project: header("x-is-admin-project").is_none_or(|value| value.eq_ignore_ascii_case("true")),
        service: ServiceCredentials {
            user_id: header("x-service-user-id"),
            user_domain_id: header("x-service-user-domain-id"),
            project_id: header("x-service-project-id"),
            project_domain_id: header("x-service-project-domain-id"),
            roles: header("x-service-roles")
                .map(|roles| split_roles(&roles))
                .unwrap_or_default(),
        },
        host: None,
    })
}

fn split_roles(roles: &str) -> Vec<String> {
    if roles.is_empty() {
        return Vec::new();
    }
    roles.split(',').map(|role| role.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(headers: &[(&str, &str)]) -> Option<Caller> {
        let header = |name: &'static str| {
            let found = headers.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        authenticate(&AuthRequest {
            header: &header,
            method: "GET",
            path: "/",
            client: "192.0.2.1",
        })
    }

    fn authenticated(token: &str, headers: &[(&str, &str)]) -> Caller {
        context(&[&[("x-auth-token", token)], headers].concat()).expect("a token is enough")
    }

    #[test]
    fn a_token_names_user_and_project() {
        let caller = authenticated("alice:lab", &[]);
        assert_eq!(
            (caller.user_id.as_deref(), caller.project_id.as_deref()),
            (Some("alice"), Some("lab"))
        );
        assert!(caller.roles.is_empty() && caller.is_admin_project);
        assert_eq!(authenticated("alice", &[]).project_id.as_deref(), Some("alice"));
        assert_eq!(authenticated("admin", &[]).roles, ["admin"]);
        assert_eq!(context(&[("x-roles", "admin")]), None);
    }

    #[test]
    fn headers_set_roles_and_scope() {
        assert_eq!(
            authenticated("bob", &[("x-roles", "reader, service")]).roles,
            ["reader", "service"]
        );
        assert_eq!(authenticated("admin", &[("x-roles", "reader")]).roles, ["reader"]);
        assert!(authenticated("admin", &[("x-roles", "")]).roles.is_empty());
        let caller = authenticated("admin", &[("openstack-system-scope", "all")]);
        assert_eq!((caller.project_id, caller.system_scope.as_deref()), (None, Some("all")));
    }

    #[test]
    fn headers_override_the_token() {
        let caller = authenticated(
            "user:lab",
            &[
                ("x-project-id", "other"),
                ("x-domain-id", "d"),
                ("x-is-admin-project", "False"),
                ("x-service-roles", "service,admin"),
            ],
        );
        assert_eq!(caller.project_id.as_deref(), Some("other"));
        assert_eq!(caller.domain_id.as_deref(), Some("d"));
        assert!(!caller.is_admin_project);
        assert_eq!(caller.service.roles, ["service", "admin"]);
    }
}
