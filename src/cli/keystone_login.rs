//! The service's login at Keystone, checked: the user, the secret and the scope of `[keystone_authtoken]`.

use crate::auth::keystone::{Credentials, LoginDomain, Scope, User};
use crate::config::{ConfigError, KeystoneAuthtoken, Password};

/// All parts of a request for a token. Contains a secret, so it has no `Debug`.
pub struct Login {
    pub auth_url: String,
    pub credentials: Credentials,
    pub scope: Scope,
}

const NO_AUTH_TYPE: &str = "auth_type is not set: write auth_type = password, with username, user_domain_name, password, \
                            project_name and project_domain_name, or auth_type = v3applicationcredential";
const NO_PASSWORD: &str = "password is not set: give the password of placet's user";
const NO_SECRET: &str = "application_credential_secret is not set: give the secret of the application credential";
const NO_CREDENTIAL: &str =
    "application_credential_id is not set: give it, or application_credential_name with the user that it belongs to";

/// The login that the options describe.
///
/// # Errors
/// All missing and contradictory settings.
pub fn read(options: &KeystoneAuthtoken) -> Result<Login, Vec<ConfigError>> {
    let mut reader = LoginReader::new(options);
    match reader.login() {
        Some(login) if reader.errors.is_empty() => Ok(login),
        _ => Err(reader.errors),
    }
}

/// Sentences about risky settings.
pub fn warnings(options: &KeystoneAuthtoken) -> Vec<String> {
    let mut reader = LoginReader::new(options);
    let is_unscoped = matches!(reader.scope(), Scope::Unscoped) && reader.errors.is_empty();
    let has_password = matches!(options.auth_type.as_deref(), Some("password" | "v3password"));
    let risks = [
        (
            set(&options.www_authenticate_uri).is_none(),
            "[keystone_authtoken] www_authenticate_uri is not set: clients without a token are sent to auth_url; set it \
             to the public URL of Keystone",
        ),
        (
            has_password && is_unscoped,
            "[keystone_authtoken] project_name is not set: without a project, or another scope, Keystone gives placet's \
             user a token for its default project, or one that may validate no tokens",
        ),
        (
            options.insecure,
            "[keystone_authtoken] insecure = true: Keystone's certificate is not checked, so passwords and tokens may \
             go to another server; set cafile instead",
        ),
        (
            !options.service_token_roles_required,
            "[keystone_authtoken] service_token_roles_required = false: every valid token counts as a service's, and \
             lifts the access rules of the user's; set it to true",
        ),
    ];
    let taken = risks.into_iter().filter(|(is_taken, _)| *is_taken);
    taken.map(|(_, sentence)| sentence.to_owned()).collect()
}

/// Reads the parts of the login, and keeps an error for each mistake.
struct LoginReader<'a> {
    options: &'a KeystoneAuthtoken,
    errors: Vec<ConfigError>,
}

impl<'a> LoginReader<'a> {
    fn new(options: &'a KeystoneAuthtoken) -> LoginReader<'a> {
        LoginReader {
            options,
            errors: Vec::new(),
        }
    }

    fn refuse<T>(&mut self, reason: impl Into<String>) -> Option<T> {
        let reason = reason.into();
        self.errors.push(ConfigError::Keystone { reason });
        None
    }

    /// The text of an option. Without a text, `missing` is the error.
    fn required(&mut self, option: &Option<String>, missing: &str) -> Option<String> {
        set(option).or_else(|| self.refuse(missing))
    }

    fn secret(&mut self, option: &Option<Password>, missing: &str) -> Option<String> {
        let secret = option.as_ref().map(|password| password.reveal().to_owned());
        secret.or_else(|| self.refuse(missing))
    }

    fn login(&mut self) -> Option<Login> {
        if let Some(section) = set(&self.options.auth_section) {
            self.refuse::<()>(format!(
                "auth_section = {section} is not supported: write the options of [{section}] into [keystone_authtoken]"
            ));
        }
        let auth_url = self.auth_url();
        let auth_type = self.required(&self.options.auth_type, NO_AUTH_TYPE)?;
        let (credentials, scope) = match auth_type.as_str() {
            "password" | "v3password" => {
                let (user, scope) = (self.user(), self.scope());
                let password = self.secret(&self.options.password, NO_PASSWORD);
                let user = user.zip(password);
                let credentials = user.map(|(user, password)| Credentials::Password { user, password });
                (credentials, scope)
            }
            "v3applicationcredential" => (self.application_credential(), Scope::Unscoped),
            other => {
                return self.refuse(format!(
                    "auth_type = {other} is not supported: use password, v3password or v3applicationcredential"
                ));
            }
        };
        Some(Login {
            auth_url: auth_url?,
            credentials: credentials?,
            scope,
        })
    }

    fn auth_url(&mut self) -> Option<String> {
        let missing = "auth_url is not set: give the URL of Keystone, for example https://keystone.example.org:5000";
        let auth_url = self.required(&self.options.auth_url, missing)?;
        if auth_url.starts_with("http://") || auth_url.starts_with("https://") {
            return Some(auth_url);
        }
        self.refuse(format!("auth_url = {auth_url} must begin with http:// or https://"))
    }

    fn application_credential(&mut self) -> Option<Credentials> {
        let secret = self.secret(&self.options.application_credential_secret, NO_SECRET);
        if let Some(id) = set(&self.options.application_credential_id) {
            return secret.map(|secret| Credentials::ApplicationCredentialId { id, secret });
        }
        let name = self.required(&self.options.application_credential_name, NO_CREDENTIAL)?;
        let user = self.user();
        user.zip(secret)
            .map(|(user, secret)| Credentials::ApplicationCredentialName { name, user, secret })
    }

    fn user(&mut self) -> Option<User> {
        let options = self.options;
        if let Some(id) = set(&options.user_id) {
            return Some(User::Id(id));
        }
        let name = self.required(&options.username, "username is not set: give the name of placet's user");
        let own = domain(&options.user_domain_id, &options.user_domain_name);
        let domain = self.domain_of_name(own, "user_domain_name");
        name.zip(domain).map(|(name, domain)| User::Name { name, domain })
    }

    /// The domain of a name, or the default domain. The `option` is for the error if there is neither.
    fn domain_of_name(&mut self, own: Option<LoginDomain>, option: &str) -> Option<LoginDomain> {
        let default = || domain(&self.options.default_domain_id, &self.options.default_domain_name);
        own.or_else(default).or_else(|| {
            self.refuse(format!(
                "{option} is not set: a name is unique only in its domain, which is often Default"
            ))
        })
    }

    /// The scope. The errors: a name without a domain, a system that is not `all`, more than one scope.
    fn scope(&mut self) -> Scope {
        let options = self.options;
        let scopes = [
            self.project(),
            domain(&options.domain_id, &options.domain_name).map(Scope::Domain),
            set(&options.trust_id).map(Scope::Trust),
            set(&options.system_scope).map(|_| Scope::System),
        ];
        if let Some(other) = set(&options.system_scope).filter(|scope| scope != "all") {
            self.refuse::<()>(format!("system_scope = {other} must be all"));
        }
        let mut given = scopes.into_iter().flatten();
        let (first, second) = (given.next(), given.next());
        if second.is_some() {
            self.refuse::<()>(
                "sets more than one scope: keep one of project, domain (domain_id), trust_id and system_scope",
            );
        }
        first.unwrap_or(Scope::Unscoped)
    }

    fn project(&mut self) -> Option<Scope> {
        let options = self.options;
        if let Some(id) = set(&options.project_id) {
            return Some(Scope::ProjectId(id));
        }
        let name = set(&options.project_name)?;
        let own = domain(&options.project_domain_id, &options.project_domain_name);
        let domain = self.domain_of_name(own, "project_domain_name")?;
        Some(Scope::ProjectName { name, domain })
    }
}

/// The text of an option, unless the text is empty.
pub fn set(option: &Option<String>) -> Option<String> {
    option.clone().filter(|text| !text.is_empty())
}

fn domain(id: &Option<String>, name: &Option<String>) -> Option<LoginDomain> {
    let by_name = || set(name).map(LoginDomain::Name);
    set(id).map(LoginDomain::Id).or_else(by_name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::{self, ConfigSources};

    const COMPLETE: &str = "auth_url = http://k:5000\nauth_type = password\nusername = placement\nuser_domain_name = Default\n\
                            password = hunter2\nproject_name = service\nproject_domain_name = Default\n";

    fn options(text: &str) -> KeystoneAuthtoken {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.conf");
        fs::write(&path, format!("[keystone_authtoken]\n{text}")).unwrap();
        let sources = ConfigSources {
            files: vec![path],
            ..ConfigSources::default()
        };
        config::load(&sources).unwrap().options.keystone_authtoken
    }

    fn refusal(text: &str) -> Option<String> {
        let refusals = read(&options(text)).err()?;
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
        let warned = |text: &str| warnings(&options(&format!("www_authenticate_uri = http://k\n{text}"))).join("\n");
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
        let options = options(COMPLETE);
        let text = format!("{options:?}");
        assert!(text.contains("placement") && !text.contains("hunter2"), "{text}");
    }
}
