//! The service's login at Keystone, checked: the user, the secret and the scope.

use super::error::{ConfigError, Result};
use super::options::KeystoneAuthtoken;
use super::value::Password;

/// The service's credentials. The secrets are revealed, so the type has no `Debug`.
pub enum KeystoneCredentials<'a> {
    Password {
        user: KeystoneUser<'a>,
        password: &'a str,
    },
    ApplicationCredentialId {
        id: &'a str,
        secret: &'a str,
    },
    ApplicationCredentialName {
        name: &'a str,
        user: KeystoneUser<'a>,
        secret: &'a str,
    },
}

/// A user, by id, or by name and domain.
#[derive(Clone, Copy)]
pub enum KeystoneUser<'a> {
    Id(&'a str),
    Name { name: &'a str, domain: KeystoneDomain<'a> },
}

#[derive(Clone, Copy)]
pub enum KeystoneDomain<'a> {
    Id(&'a str),
    Name(&'a str),
}

/// The scope of the service's own token.
pub enum KeystoneScope<'a> {
    Unscoped,
    ProjectId(&'a str),
    ProjectName { name: &'a str, domain: KeystoneDomain<'a> },
    Domain(KeystoneDomain<'a>),
    System,
    Trust(&'a str),
}

/// All parts of a request for a token.
pub struct KeystoneLogin<'a> {
    pub auth_url: &'a str,
    pub credentials: KeystoneCredentials<'a>,
    pub scope: KeystoneScope<'a>,
}

const NO_AUTH_TYPE: &str = "auth_type is not set: write auth_type = password, with username, user_domain_name, password, \
                            project_name and project_domain_name, or auth_type = v3applicationcredential";
const NO_SCOPE: &str = "[keystone_authtoken] project_name is not set: without a project, or another scope, Keystone gives \
                        placet's user a token for its default project, or one that may validate no tokens";
const NO_PASSWORD: &str = "password is not set: give the password of placet's user";
const NO_SECRET: &str = "application_credential_secret is not set: give the secret of the application credential";
const NO_CREDENTIAL: &str =
    "application_credential_id is not set: give it, or application_credential_name with the user that it belongs to";

impl KeystoneAuthtoken {
    /// # Errors
    /// All missing and contradictory settings.
    pub fn login(&self) -> Result<KeystoneLogin<'_>, Vec<ConfigError>> {
        let mut errors = Vec::new();
        if let Some(section) = text(&self.auth_section) {
            errors.push(error(&format!(
                "auth_section = {section} is not supported: write the options of [{section}] into [keystone_authtoken]"
            )));
        }
        let auth_url = keep(&mut errors, self.checked_url());
        let login = match text(&self.auth_type) {
            Some("password" | "v3password") => {
                let (user, scope) = (self.user(&mut errors), keep_all(&mut errors, self.scope()));
                let password = keep(&mut errors, secret(&self.password, NO_PASSWORD));
                user.zip(password)
                    .map(|(user, password)| KeystoneCredentials::Password { user, password })
                    .zip(scope)
            }
            Some("v3applicationcredential") => self
                .application_credential(&mut errors)
                .map(|credentials| (credentials, KeystoneScope::Unscoped)),
            Some(other) => {
                errors.push(error(&format!(
                    "auth_type = {other} is not supported: use password, v3password or v3applicationcredential"
                )));
                None
            }
            None => {
                errors.push(error(NO_AUTH_TYPE));
                None
            }
        };
        match (auth_url, login) {
            (Some(auth_url), Some((credentials, scope))) if errors.is_empty() => Ok(KeystoneLogin {
                auth_url,
                credentials,
                scope,
            }),
            _ => Err(errors),
        }
    }

    fn checked_url(&self) -> Result<&str> {
        let auth_url = text(&self.auth_url).ok_or_else(|| {
            error("auth_url is not set: give the URL of Keystone, for example https://keystone.example.org:5000")
        })?;
        if auth_url.starts_with("http://") || auth_url.starts_with("https://") {
            return Ok(auth_url);
        }
        Err(error(&format!(
            "auth_url = {auth_url} must begin with http:// or https://"
        )))
    }

    /// Sentences about risky settings.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if text(&self.www_authenticate_uri).is_none() {
            warnings.push(
                "[keystone_authtoken] www_authenticate_uri is not set: clients without a token are sent to auth_url; set it \
                 to the public URL of Keystone"
                    .to_owned(),
            );
        }
        if matches!(text(&self.auth_type), Some("password" | "v3password"))
            && matches!(self.scope(), Ok(KeystoneScope::Unscoped))
        {
            warnings.push(NO_SCOPE.to_owned());
        }
        if self.insecure {
            warnings.push(
                "[keystone_authtoken] insecure = true: Keystone's certificate is not checked, so passwords and tokens may \
                 go to another server; set cafile instead"
                    .to_owned(),
            );
        }
        if !self.service_token_roles_required {
            warnings.push(
                "[keystone_authtoken] service_token_roles_required = false: every valid token counts as a service's, and \
                 lifts the access rules of the user's; set it to true"
                    .to_owned(),
            );
        }
        warnings
    }

    fn application_credential(&self, errors: &mut Vec<ConfigError>) -> Option<KeystoneCredentials<'_>> {
        let secret = keep(errors, secret(&self.application_credential_secret, NO_SECRET));
        if let Some(id) = text(&self.application_credential_id) {
            return secret.map(|secret| KeystoneCredentials::ApplicationCredentialId { id, secret });
        }
        let Some(name) = text(&self.application_credential_name) else {
            errors.push(error(NO_CREDENTIAL));
            return None;
        };
        let user = self.user(errors);
        user.zip(secret)
            .map(|(user, secret)| KeystoneCredentials::ApplicationCredentialName { name, user, secret })
    }

    fn user(&self, errors: &mut Vec<ConfigError>) -> Option<KeystoneUser<'_>> {
        if let Some(id) = text(&self.user_id) {
            return Some(KeystoneUser::Id(id));
        }
        let name = text(&self.username).ok_or_else(|| error("username is not set: give the name of placet's user"));
        let domain = domain(&self.user_domain_id, &self.user_domain_name).or_else(|| self.default_domain());
        let domain = domain.ok_or_else(|| {
            error("user_domain_name is not set: a name is unique only in its domain, which is often Default")
        });
        let (name, domain) = (keep(errors, name), keep(errors, domain));
        name.zip(domain)
            .map(|(name, domain)| KeystoneUser::Name { name, domain })
    }

    fn default_domain(&self) -> Option<KeystoneDomain<'_>> {
        domain(&self.default_domain_id, &self.default_domain_name)
    }

    /// # Errors
    /// A name without a domain, a system that is not `all`, more than one scope.
    fn scope(&self) -> Result<KeystoneScope<'_>, Vec<ConfigError>> {
        let mut errors = Vec::new();
        let scopes = [
            keep(&mut errors, self.project()).flatten(),
            domain(&self.domain_id, &self.domain_name).map(KeystoneScope::Domain),
            text(&self.trust_id).map(KeystoneScope::Trust),
            text(&self.system_scope).map(|_| KeystoneScope::System),
        ];
        if let Some(other) = text(&self.system_scope).filter(|scope| *scope != "all") {
            errors.push(error(&format!("system_scope = {other} must be all")));
        }
        let mut set = scopes.into_iter().flatten();
        let (first, second) = (set.next(), set.next());
        if second.is_some() {
            errors.push(error(
                "sets more than one scope: keep one of project, domain (domain_id), trust_id and system_scope",
            ));
        }
        if errors.is_empty() {
            Ok(first.unwrap_or(KeystoneScope::Unscoped))
        } else {
            Err(errors)
        }
    }

    fn project(&self) -> Result<Option<KeystoneScope<'_>>> {
        if let Some(id) = text(&self.project_id) {
            return Ok(Some(KeystoneScope::ProjectId(id)));
        }
        let Some(name) = text(&self.project_name) else {
            return Ok(None);
        };
        let domain = domain(&self.project_domain_id, &self.project_domain_name).or_else(|| self.default_domain());
        let domain = domain.ok_or_else(|| {
            error("project_domain_name is not set: a name is unique only in its domain, which is often Default")
        })?;
        Ok(Some(KeystoneScope::ProjectName { name, domain }))
    }
}

/// The value. An error is added to the list.
fn keep<T>(errors: &mut Vec<ConfigError>, read: Result<T>) -> Option<T> {
    read.map_err(|error| errors.push(error)).ok()
}

fn keep_all<T>(errors: &mut Vec<ConfigError>, read: Result<T, Vec<ConfigError>>) -> Option<T> {
    read.map_err(|found| errors.extend(found)).ok()
}

fn secret<'a>(option: &'a Option<Password>, missing: &str) -> Result<&'a str> {
    option.as_ref().map(Password::reveal).ok_or_else(|| error(missing))
}

/// The text of an option, unless the text is empty.
pub fn text(option: &Option<String>) -> Option<&str> {
    option.as_deref().filter(|text| !text.is_empty())
}

fn domain<'a>(id: &'a Option<String>, name: &'a Option<String>) -> Option<KeystoneDomain<'a>> {
    let by_name = || text(name).map(KeystoneDomain::Name);
    text(id).map(KeystoneDomain::Id).or_else(by_name)
}

fn error(reason: &str) -> ConfigError {
    ConfigError::Keystone {
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::tests::options;

    const COMPLETE: &str = "auth_url = http://k:5000\nauth_type = password\nusername = placement\nuser_domain_name = Default\n\
                            password = hunter2\nproject_name = service\nproject_domain_name = Default\n";

    fn refusal(text: &str) -> Option<String> {
        let options = options(&format!("[keystone_authtoken]\n{text}"));
        let refusals = options.keystone_authtoken.login().err()?;
        let refusals: Vec<_> = refusals.iter().map(ToString::to_string).collect();
        Some(refusals.join("\n"))
    }

    #[test]
    fn a_complete_section_is_accepted() {
        let without_project = COMPLETE.replace("project_name = service\n", "");
        for text in [
            COMPLETE.to_owned(),
            COMPLETE.replace("= password", "= v3password"),
            COMPLETE.replace("user_domain_name = Default", "user_id = 1"),
            COMPLETE.replace("user_domain_name = Default", "default_domain_id = default"),
            format!("{without_project}system_scope = all\n"),
            "auth_url = https://k\nauth_type = v3applicationcredential\napplication_credential_id = 1\n\
             application_credential_secret = s\n"
                .to_owned(),
        ] {
            assert_eq!(refusal(&text), None, "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        for (change, named) in [
            (("auth_url = http://k:5000\n", ""), "auth_url is not set"),
            (("http://k:5000", "k:5000"), "must begin with http"),
            (("auth_type = password\n", ""), "auth_type is not set"),
            (
                ("auth_type = password", "auth_type = v3kerberos"),
                "v3kerberos is not supported",
            ),
            (("username = placement\n", ""), "username is not set"),
            (("user_domain_name = Default\n", ""), "user_domain_name is not set"),
            (("password = hunter2\n", ""), "password is not set"),
            (("auth_type", "system_scope = all\nauth_type"), "more than one scope"),
            (("auth_type", "auth_section = other\nauth_type"), "options of [other]"),
            (
                ("auth_type = password", "auth_type = v3applicationcredential"),
                "application_credential_secret is not set",
            ),
        ] {
            let refused = refusal(&COMPLETE.replacen(change.0, change.1, 1)).unwrap_or_default();
            assert!(
                refused.contains(named) && !refused.contains("hunter2"),
                "{named}: {refused}"
            );
        }
    }

    #[test]
    fn found_c3_all_mistakes_are_named_at_once() {
        let refused = refusal(
            "auth_url = k:5000\nauth_type = password\nusername = placement\nproject_name = service\nsystem_scope = some\n",
        )
        .expect("five mistakes");
        for word in [
            "auth_url = k:5000 must begin with http",
            "user_domain_name is not set",
            "password is not set",
            "project_domain_name is not set",
            "system_scope = some must be all",
        ] {
            assert!(refused.contains(word), "{word}: {refused}");
        }
        assert_eq!(refused.lines().count(), 5, "{refused}");
        let refused = refusal("auth_type = v3applicationcredential\n").expect("three mistakes");
        assert_eq!(refused.lines().count(), 3, "{refused}");
    }

    #[test]
    fn found_c3_a_missing_project_is_a_warning() {
        let warned = |text: &str| {
            let options = options(&format!(
                "[keystone_authtoken]\nwww_authenticate_uri = http://k\n{text}"
            ));
            options.keystone_authtoken.warnings().join("\n")
        };
        let unscoped = COMPLETE.replace("project_name = service\n", "");
        assert!(
            warned(&unscoped).contains("project_name is not set"),
            "{}",
            warned(&unscoped)
        );
        assert_eq!(warned(COMPLETE), "");
        assert_eq!(warned(&format!("{unscoped}system_scope = all\n")), "");
    }

    #[test]
    fn a_password_is_in_no_debug_text() {
        let options = options(&format!("[keystone_authtoken]\n{COMPLETE}"));
        let text = format!("{options:?}");
        assert!(text.contains("placement") && !text.contains("hunter2"), "{text}");
    }
}
