//! The body with which placet gets a token: the user's credentials and the scope.

use serde_json::{Value, json};

/// The type contains a secret, so it has no `Debug`.
pub enum Credentials {
    /// `auth_type = password`
    Password { user: User, password: String },
    /// `auth_type = v3applicationcredential`, by id. The credential has its own scope.
    ApplicationCredentialId { id: String, secret: String },
    /// The same, by the name that the user gave the credential.
    ApplicationCredentialName { name: String, user: User, secret: String },
}

/// A user, by id or by name.
pub enum User {
    Id(String),
    Name { name: String, domain: LoginDomain },
}

/// A domain, by id or by name.
pub enum LoginDomain {
    Id(String),
    Name(String),
}

/// The scope of the token.
pub enum Scope {
    /// The default scope of the user, or the scope of the application credential.
    Unscoped,
    ProjectId(String),
    ProjectName {
        name: String,
        domain: LoginDomain,
    },
    Domain(LoginDomain),
    System,
    Trust(String),
}

/// The body of `POST /v3/auth/tokens`, with the secret.
pub fn body(credentials: &Credentials, scope: &Scope) -> Vec<u8> {
    let mut auth = match credentials {
        Credentials::Password { user: of, password } => {
            let mut user = user(of);
            user["password"] = json!(password);
            json!({"identity": {"methods": ["password"], "password": {"user": user}}})
        }
        Credentials::ApplicationCredentialId { id, secret } => {
            application_credential(json!({"id": id, "secret": secret}))
        }
        Credentials::ApplicationCredentialName { name, user: of, secret } => {
            application_credential(json!({"name": name, "user": user(of), "secret": secret}))
        }
    };
    if let Some(scope) = scope_body(scope) {
        auth["scope"] = scope;
    }
    json!({"auth": auth}).to_string().into_bytes()
}

fn application_credential(credential: Value) -> Value {
    json!({"identity": {"methods": ["application_credential"], "application_credential": credential}})
}

fn user(user: &User) -> Value {
    match user {
        User::Id(id) => json!({"id": id}),
        User::Name { name, domain: of } => json!({"name": name, "domain": domain(of)}),
    }
}

fn domain(domain: &LoginDomain) -> Value {
    match domain {
        LoginDomain::Id(id) => json!({"id": id}),
        LoginDomain::Name(name) => json!({"name": name}),
    }
}

fn scope_body(scope: &Scope) -> Option<Value> {
    Some(match scope {
        Scope::Unscoped => return None,
        Scope::ProjectId(id) => json!({"project": {"id": id}}),
        Scope::ProjectName { name, domain: of } => json!({"project": {"name": name, "domain": domain(of)}}),
        Scope::Domain(of) => json!({"domain": domain(of)}),
        Scope::System => json!({"system": {"all": true}}),
        Scope::Trust(id) => json!({"OS-TRUST:trust": {"id": id}}),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(credentials: &Credentials, scope: &Scope) -> String {
        String::from_utf8(body(credentials, scope)).expect("a text")
    }

    #[test]
    fn a_password_comes_with_its_user_and_a_scope() {
        let credentials = Credentials::Password {
            user: User::Name {
                name: "placement".into(),
                domain: LoginDomain::Name("Default".into()),
            },
            password: "p".into(),
        };
        let identity = r#"{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":"placement","domain":{"name":"Default"},"password":"p"}}}"#;
        for (scope, expected) in [
            (Scope::Unscoped, "}}".to_owned()),
            (
                Scope::ProjectName {
                    name: "service".into(),
                    domain: LoginDomain::Id("default".into()),
                },
                r#","scope":{"project":{"name":"service","domain":{"id":"default"}}}}}"#.to_owned(),
            ),
            (Scope::System, r#","scope":{"system":{"all":true}}}}"#.to_owned()),
        ] {
            assert_eq!(written(&credentials, &scope), format!("{identity}{expected}"));
        }
    }

    #[test]
    fn an_application_credential_has_a_scope_of_its_own() {
        let by_id = Credentials::ApplicationCredentialId {
            id: "i".into(),
            secret: "s".into(),
        };
        assert_eq!(
            written(&by_id, &Scope::Unscoped),
            r#"{"auth":{"identity":{"methods":["application_credential"],"application_credential":{"id":"i","secret":"s"}}}}"#
        );
        let by_name = Credentials::ApplicationCredentialName {
            name: "n".into(),
            user: User::Id("u".into()),
            secret: "s".into(),
        };
        assert!(written(&by_name, &Scope::Unscoped).contains(r#"{"name":"n","user":{"id":"u"},"secret":"s"}"#));
    }
}
