//! The settings of authentication by Keystone: `[keystone_authtoken]`, checked.

use std::time::Duration;

use super::login::{Credentials, Scope};
use crate::http_client::ConnectionSettings;

/// Contains a password, so it has no `Debug`.
pub struct KeystoneSettings {
    /// The URL at which the service gets its own token.
    pub auth_url: String,
    pub credentials: Credentials,
    pub scope: Scope,
    /// The URL at which clients get a token, for `WWW-Authenticate`.
    pub www_authenticate_uri: String,
    /// Which endpoint of Keystone is taken from the catalogue: `internal`, `public` or `admin`.
    pub interface: String,
    pub region_name: Option<String>,
    /// Refuse a request without a valid token as Placement does, and not as keystonemiddleware does.
    pub delay_auth_decision: bool,
    /// How long a validated token is cached; zero: not at all.
    pub cache_time: Duration,
    pub service_token_roles: Vec<String>,
    pub service_token_roles_required: bool,
    /// The type of this service, for access rules.
    pub service_type: Option<String>,
    pub connection: ConnectionSettings,
    /// How many times a request is repeated if there is no connection or no answer in time.
    pub max_retries: u32,
    /// How long a request may wait for Keystone, in all.
    pub limit: Duration,
    /// After a failure, how long until placet asks Keystone again. Each further failure doubles the pause, up to
    /// [`KeystoneSettings::LONGEST_PAUSE`].
    pub recovery_pause: Duration,
}

impl KeystoneSettings {
    pub const RECOVERY_PAUSE: Duration = Duration::from_millis(500);
    /// Short enough for waiting clients, which are served within 10 s. Long enough for Keystone's lockout of a user
    /// after wrong passwords.
    pub const LONGEST_PAUSE: Duration = Duration::from_secs(8);
}
