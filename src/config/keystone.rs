//! How the service authenticates itself to Keystone, checked: who it is, with which secret, for which scope.

use super::error::{ConfigError, Result};
use super::options::KeystoneAuthtoken;

/// The service's credentials. The secrets are revealed, so it has no `Debug`.
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

/// A user: its id, or its name and domain.
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

/// What the service's own token is for.
pub enum KeystoneScope<'a> {
    Unscoped,
    ProjectId(&'a str),
    ProjectName {
        name: &'a str,
        domain: Option<KeystoneDomain<'a>>,
    },
    Domain(KeystoneDomain<'a>),
    System,
    Trust(&'a str),
}

/// All that is needed to get a token.
pub struct KeystoneLogin<'a> {
    pub auth_url: &'a str,
    pub credentials: KeystoneCredentials<'a>,
    pub scope: KeystoneScope<'a>,
}

const NO_AUTH_TYPE: &str = "auth_type is not set: write auth_type = password, with username, user_domain_name, password, \
                            project_name and project_domain_name, or auth_type = v3applicationcredential";
const NO_PASSWORD: &str = "password is not set: give the password of placet's user";
const NO_SECRET: &str = "application_credential_secret is not set: give the secret of the application credential";
const NO_CREDENTIAL: &str =
    "application_credential_id is not set: give it, or application_credential_name with the user that it belongs to";

impl KeystoneAuthtoken {
    /// # Errors
    /// What is missing, or contradicts itself.
    pub fn login(&self) -> Result<KeystoneLogin<'_>> {
        if let Some(section) = text(&self.auth_section) {
            return refuse(&format!(
                "auth_section = {section} is not supported: write the options of [{section}] into [keystone_authtoken]"
            ));
        }
        let auth_url = text(&self.auth_url).ok_or_else(|| {
            error("auth_url is not set: give the URL of Keystone, for example https://keystone.example.org:5000")
        })?;
        if !(auth_url.starts_with("http://") || auth_url.starts_with("https://")) {
            return refuse(&format!("auth_url = {auth_url} must begin with http:// or https://"));
        }
        let (credentials, scope) = match text(&self.auth_type) {
            Some("password" | "v3password") => (self.password_login()?, self.scope()?),
            Some("v3applicationcredential") => (self.application_credential()?, KeystoneScope::Unscoped),
            Some(other) => {
                return refuse(&format!(
                    "auth_type = {other} is not supported: use password, v3password or v3applicationcredential"
                ));
            }
            None => return refuse(NO_AUTH_TYPE),
        };
        Ok(KeystoneLogin {
            auth_url,
            credentials,
            scope,
        })
    }

    /// Sentences about settings that are risky.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if text(&self.www_authenticate_uri).is_none() {
            warnings.push(
                "[keystone_authtoken] www_authenticate_uri is not set: clients without a token are sent to auth_url; set it \
                 to the public URL of Keystone"
                    .to_owned(),
            );
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

    fn password_login(&self) -> Result<KeystoneCredentials<'_>> {
        Ok(KeystoneCredentials::Password {
            user: self.user()?,
            password: self.password.as_ref().ok_or_else(|| error(NO_PASSWORD))?.reveal(),
        })
    }

    fn application_credential(&self) -> Result<KeystoneCredentials<'_>> {
        let secret = self.application_credential_secret.as_ref();
        let secret = secret.ok_or_else(|| error(NO_SECRET))?.reveal();
        if let Some(id) = text(&self.application_credential_id) {
            return Ok(KeystoneCredentials::ApplicationCredentialId { id, secret });
        }
        Ok(KeystoneCredentials::ApplicationCredentialName {
            name: text(&self.application_credential_name).ok_or_else(|| error(NO_CREDENTIAL))?,
            user: self.user()?,
            secret,
        })
    }

    fn user(&self) -> Result<KeystoneUser<'_>> {
        if let Some(id) = text(&self.user_id) {
            return Ok(KeystoneUser::Id(id));
        }
        let name = text(&self.username).ok_or_else(|| error("username is not set: give the name of placet's user"))?;
        let domain = domain(&self.user_domain_id, &self.user_domain_name).or_else(|| self.default_domain());
        let domain = domain.ok_or_else(|| {
            error("user_domain_name is not set: a name is unique only in its domain, which is often Default")
        })?;
        Ok(KeystoneUser::Name { name, domain })
    }

    fn default_domain(&self) -> Option<KeystoneDomain<'_>> {
        domain(&self.default_domain_id, &self.default_domain_name)
    }

    fn scope(&self) -> Result<KeystoneScope<'_>> {
        let project = match (text(&self.project_id), text(&self.project_name)) {
            (Some(id), _) => Some(KeystoneScope::ProjectId(id)),
            (None, Some(name)) => Some(KeystoneScope::ProjectName {
                name,
                domain: domain(&self.project_domain_id, &self.project_domain_name).or_else(|| self.default_domain()),
            }),
            (None, None) => None,
        };
        let system = match text(&self.system_scope) {
            Some("all") => Some(KeystoneScope::System),
            Some(other) => return refuse(&format!("system_scope = {other} must be all")),
            None => None,
        };
        let scopes = [
            project,
            domain(&self.domain_id, &self.domain_name).map(KeystoneScope::Domain),
            text(&self.trust_id).map(KeystoneScope::Trust),
            system,
        ];
        let mut set = scopes.into_iter().flatten();
        match (set.next(), set.next()) {
            (_, Some(_)) => {
                refuse("sets more than one scope: keep one of project, domain (domain_id), trust_id and system_scope")
            }
            (Some(scope), None) => Ok(scope),
            (None, None) => Ok(KeystoneScope::Unscoped),
        }
    }
}

/// The text of an option, if it is set to something.
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

fn refuse<T>(reason: &str) -> Result<T> {
    Err(error(reason))
}

#[cfg(test)]
mod tests {
    use crate::config::tests::options;

    const COMPLETE: &str = "auth_url = http://k:5000\nauth_type = password\nusername = placement\nuser_domain_name = Default\n\
                            password = hunter2\nproject_name = service\nproject_domain_name = Default\n";

    fn refusal(text: &str) -> Option<String> {
        let options = options(&format!("[keystone_authtoken]\n{text}"));
        let refusal = options.keystone_authtoken.login().err();
        refusal.map(|error| error.to_string())
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
    fn a_password_is_in_no_debug_text() {
        let options = options(&format!("[keystone_authtoken]\n{COMPLETE}"));
        let text = format!("{options:?}");
        assert!(text.contains("placement") && !text.contains("hunter2"), "{text}");
    }
}
