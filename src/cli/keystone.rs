//! From `[keystone_authtoken]` to the settings of authentication by Keystone.

use std::time::Duration;

use super::keystone_login::{self, set};
use super::{CommandError, token_file};
use crate::auth::Authenticator;
use crate::auth::keystone::{Keystone, KeystoneSettings};
use crate::config::{AuthStrategy, Options, Problems, seconds};
use crate::http_client::ConnectionSettings;

/// The authenticator that the configuration asks for.
pub fn authenticator(options: &Options) -> Result<Authenticator, CommandError> {
    match options.api.auth_strategy {
        AuthStrategy::Noauth2 => match &options.placet.token_file {
            Some(path) => token_file::live(path).map(Authenticator::Tokens),
            None => Ok(Authenticator::NoAuth2),
        },
        AuthStrategy::Keystone => {
            let keystone = Keystone::start(settings(options)?)?;
            Ok(Authenticator::Keystone(Box::new(keystone)))
        }
    }
}

/// Checks the files that [`authenticator`] reads. Asks no server.
pub fn check(options: &Options) -> Result<(), CommandError> {
    match options.api.auth_strategy {
        AuthStrategy::Noauth2 => authenticator(options).map(drop),
        AuthStrategy::Keystone => Ok(Keystone::check(&connection(options))?),
    }
}

/// The mistakes in the login of the service, and risky settings. None unless Keystone checks tokens.
pub fn login_problems(options: &Options) -> Problems {
    if options.api.auth_strategy != AuthStrategy::Keystone {
        return Problems::default();
    }
    let options = &options.keystone_authtoken;
    Problems {
        errors: keystone_login::read(options).err().unwrap_or_default(),
        warnings: keystone_login::warnings(options),
        ineffective: Vec::new(),
    }
}

/// Asks Keystone for a token with the configured credentials. Returns the token's roles.
pub fn try_login(options: &Options) -> Result<Vec<String>, CommandError> {
    Ok(Keystone::try_login(&settings(options)?)?)
}

fn connection(options: &Options) -> ConnectionSettings {
    let limit = Duration::from_secs(options.placet.commit_timeout);
    let options = &options.keystone_authtoken;
    ConnectionSettings {
        // 0 means no limit.
        timeout: match options.http_connect_timeout {
            0 => limit,
            number => seconds(number),
        },
        cafile: options.cafile.clone(),
        insecure: options.insecure,
        certfile: options.certfile.clone(),
        keyfile: options.keyfile.clone(),
    }
}

/// The settings of the login and of the validation.
///
/// # Errors
/// The first mistake in the login.
pub fn settings(options: &Options) -> Result<KeystoneSettings, CommandError> {
    let limit = Duration::from_secs(options.placet.commit_timeout);
    let connection = connection(options);
    let options = &options.keystone_authtoken;
    let login = keystone_login::read(options).map_err(|errors| {
        let first = errors.into_iter().next();
        CommandError::Config(first.expect("a login is refused for a reason"))
    })?;
    Ok(KeystoneSettings {
        www_authenticate_uri: set(&options.www_authenticate_uri).unwrap_or_else(|| login.auth_url.clone()),
        auth_url: login.auth_url,
        credentials: login.credentials,
        scope: login.scope,
        interface: options.interface.clone(),
        region_name: set(&options.region_name),
        delay_auth_decision: options.delay_auth_decision,
        // -1 means no cache.
        cache_time: seconds(u64::try_from(options.token_cache_time).unwrap_or(0)),
        service_token_roles: options.service_token_roles.clone(),
        service_token_roles_required: options.service_token_roles_required,
        service_type: set(&options.service_type),
        connection,
        // As in keystoneauth, a negative number means no retry.
        max_retries: u32::try_from(options.http_request_max_retries.max(0)).unwrap_or(u32::MAX),
        limit,
        recovery_pause: KeystoneSettings::RECOVERY_PAUSE,
    })
}
