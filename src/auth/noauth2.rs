//! `auth_strategy = noauth2`: every token is believed.
//!
//! A token is `user` or `user:project`; the project is the user's name where it is missing. The user `admin` has the
//! role `admin`; `X-Roles` says otherwise, for anyone. With `OpenStack-System-Scope` the token has no project. What
//! `X-Project-Id` says goes before both.

use super::{Context, Presented};

/// The context of a request; none without a token.
pub fn authenticate(presented: &Presented<'_>) -> Option<Context> {
    let token = presented.token?;
    let (user, project) = token.split_once(':').unwrap_or((token, ""));
    let project = if project.is_empty() { user } else { project };
    let system_scope = presented.system_scope.filter(|scope| !scope.is_empty());
    let of_token = system_scope.is_none().then_some(project);
    let roles = match presented.roles {
        Some(roles) => roles.split(',').map(|role| role.trim().to_owned()).collect(),
        None if user == "admin" => vec!["admin".to_owned()],
        None => Vec::new(),
    };
    Some(Context {
        user_id: Some(user.to_owned()),
        project_id: presented.project.or(of_token).map(ToOwned::to_owned),
        domain_id: None,
        system_scope: system_scope.map(ToOwned::to_owned),
        roles,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(token: &str, roles: Option<&str>, system_scope: Option<&str>) -> Context {
        let presented = Presented {
            token: Some(token),
            roles,
            project: None,
            system_scope,
        };
        authenticate(&presented).expect("a token is enough")
    }

    #[test]
    fn a_token_names_user_and_project() {
        let it = context("alice:lab", None, None);
        assert_eq!(
            (it.user_id.as_deref(), it.project_id.as_deref()),
            (Some("alice"), Some("lab"))
        );
        assert!(it.roles.is_empty());
        let it = context("alice", None, None);
        assert_eq!(it.project_id.as_deref(), Some("alice"));
        assert_eq!(context("admin", None, None).roles, ["admin"]);
        assert_eq!(authenticate(&Presented::default()), None);
    }

    #[test]
    fn a_project_of_its_own_goes_before_the_tokens() {
        for system_scope in [None, Some("all")] {
            let presented = Presented {
                token: Some("alice:lab"),
                project: Some("garage"),
                system_scope,
                ..Presented::default()
            };
            assert_eq!(
                authenticate(&presented).and_then(|it| it.project_id).as_deref(),
                Some("garage")
            );
        }
    }

    #[test]
    fn headers_say_roles_and_scope() {
        assert_eq!(
            context("bob", Some("reader, service"), None).roles,
            ["reader", "service"]
        );
        assert_eq!(context("admin", Some("reader"), None).roles, ["reader"]);
        let it = context("admin", None, Some("all"));
        assert_eq!((it.project_id, it.system_scope.as_deref()), (None, Some("all")));
    }
}
