//! `auth_strategy = noauth2`: every token is believed, and so is every header that Keystone's middleware would set.
//!
//! A token is `user` or `user:project`; the project is the user's name where it is missing. The user `admin` has the
//! role `admin`; `X-Roles` says otherwise, for anyone. With `OpenStack-System-Scope` the token has no project.

use super::{Context, Presented, ServiceContext};

/// The context of a request; none without a token.
pub fn authenticate(presented: &Presented<'_>) -> Option<Context> {
    let header = presented.header;
    let token = header("x-auth-token")?;
    let (user, project) = token.split_once(':').unwrap_or((&token, ""));
    let project = if project.is_empty() { user } else { project };
    let system_scope = header("openstack-system-scope");
    let of_system = system_scope.as_ref().is_some_and(|scope| !scope.is_empty());
    let of_token = (!of_system).then(|| project.to_owned());
    let roles = match header("x-roles") {
        Some(roles) => list(&roles),
        None if user == "admin" => vec!["admin".to_owned()],
        None => Vec::new(),
    };
    Some(Context {
        user_id: Some(user.to_owned()),
        user_domain_id: header("x-user-domain-id"),
        project_id: header("x-project-id").or(of_token),
        project_domain_id: header("x-project-domain-id"),
        domain_id: header("x-domain-id"),
        system_scope,
        roles,
        is_admin_project: header("x-is-admin-project").is_none_or(|said| said.eq_ignore_ascii_case("true")),
        service: ServiceContext {
            user_id: header("x-service-user-id"),
            user_domain_id: header("x-service-user-domain-id"),
            project_id: header("x-service-project-id"),
            project_domain_id: header("x-service-project-domain-id"),
            roles: header("x-service-roles").map(|roles| list(&roles)).unwrap_or_default(),
        },
    })
}

fn list(roles: &str) -> Vec<String> {
    if roles.is_empty() {
        return Vec::new();
    }
    roles.split(',').map(|role| role.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(headers: &[(&str, &str)]) -> Option<Context> {
        let header = |name: &'static str| {
            let found = headers.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        authenticate(&Presented { header: &header })
    }

    fn of(token: &str, headers: &[(&str, &str)]) -> Context {
        context(&[&[("x-auth-token", token)], headers].concat()).expect("a token is enough")
    }

    #[test]
    fn a_token_names_user_and_project() {
        let it = of("alice:lab", &[]);
        assert_eq!(
            (it.user_id.as_deref(), it.project_id.as_deref()),
            (Some("alice"), Some("lab"))
        );
        assert!(it.roles.is_empty() && it.is_admin_project);
        assert_eq!(of("alice", &[]).project_id.as_deref(), Some("alice"));
        assert_eq!(of("admin", &[]).roles, ["admin"]);
        assert_eq!(context(&[("x-roles", "admin")]), None);
    }

    #[test]
    fn headers_say_roles_and_scope() {
        assert_eq!(
            of("bob", &[("x-roles", "reader, service")]).roles,
            ["reader", "service"]
        );
        assert_eq!(of("admin", &[("x-roles", "reader")]).roles, ["reader"]);
        assert!(of("admin", &[("x-roles", "")]).roles.is_empty());
        let it = of("admin", &[("openstack-system-scope", "all")]);
        assert_eq!((it.project_id, it.system_scope.as_deref()), (None, Some("all")));
    }

    #[test]
    fn headers_say_what_a_token_would() {
        let it = of(
            "user:lab",
            &[
                ("x-project-id", "other"),
                ("x-domain-id", "d"),
                ("x-is-admin-project", "False"),
                ("x-service-roles", "service,admin"),
            ],
        );
        assert_eq!(it.project_id.as_deref(), Some("other"));
        assert_eq!(it.domain_id.as_deref(), Some("d"));
        assert!(!it.is_admin_project);
        assert_eq!(it.service.roles, ["service", "admin"]);
    }
}
