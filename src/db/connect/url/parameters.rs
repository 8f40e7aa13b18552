//! The parameters of a database's URL, by name: placet's, and the parameters of Python's drivers without effect here.
//! An unknown name is a typing mistake, which could turn off TLS.

use std::collections::BTreeSet;

use super::server::UrlOption;
use crate::db::SetupError;
use crate::spelling;

/// The parameters of one engine.
pub struct Parameters {
    engine: &'static str,
    used: &'static [&'static str],
    /// Parameters of Python's drivers and of SQLAlchemy, with no effect on the stored rows or on the trust in a server.
    ignored: &'static [&'static str],
    /// Parameters about the trust in a server that placet cannot keep, each with the advice.
    refused: &'static [(&'static str, &'static str)],
}

pub const SQLITE: Parameters = Parameters {
    engine: "SQLite",
    used: &[],
    ignored: &[
        "cache",
        "cached_statements",
        "check_same_thread",
        "detect_types",
        "immutable",
        "isolation_level",
        "mode",
        "modeof",
        "nolock",
        "plugin",
        "psow",
        "timeout",
        "uri",
        "vfs",
    ],
    refused: &[],
};

/// libpq itself refuses parameters of later versions.
pub const POSTGRESQL: Parameters = Parameters {
    engine: "PostgreSQL",
    used: &[
        "application_name",
        "channel_binding",
        "connect_timeout",
        "dbname",
        "fallback_application_name",
        "gssdelegation",
        "gssencmode",
        "gsslib",
        "host",
        "hostaddr",
        "keepalives",
        "keepalives_count",
        "keepalives_idle",
        "keepalives_interval",
        "krbsrvname",
        "load_balance_hosts",
        "max_protocol_version",
        "min_protocol_version",
        "options",
        "passfile",
        "password",
        "port",
        "require_auth",
        "requirepeer",
        "scram_client_key",
        "scram_server_key",
        "service",
        "ssl_max_protocol_version",
        "ssl_min_protocol_version",
        "sslcert",
        "sslcertmode",
        "sslcompression",
        "sslcrl",
        "sslcrldir",
        "sslkey",
        "sslkeylogfile",
        "sslmode",
        "sslnegotiation",
        "sslpassword",
        "sslrootcert",
        "sslsni",
        "target_session_attrs",
        "tcp_user_timeout",
        "user",
    ],
    ignored: &["client_encoding", "plugin", "replication"],
    refused: &[],
};

const BEFORE_HOST: &str = "write it before the host, as in mysql://user:password@host/database";
const BEHIND_HOST: &str = "write it behind the host, as in mysql://user:password@host/database";

pub const MYSQL: Parameters = Parameters {
    engine: "MySQL",
    used: &[
        "connect_timeout",
        "host",
        "read_default_file",
        "read_default_group",
        "ssl",
        "ssl_ca",
        "ssl_cert",
        "ssl_check_hostname",
        "ssl_disabled",
        "ssl_key",
        "ssl_mode",
        "ssl_verify_cert",
        "ssl_verify_identity",
        "unix_socket",
    ],
    ignored: &[
        "allow_local_infile",
        "auth_plugin",
        "autocommit",
        "bind_address",
        "binary_prefix",
        "buffered",
        "charset",
        "client_flag",
        "collation",
        "compress",
        "consume_results",
        "defer_connect",
        "get_warnings",
        "init_command",
        "local_infile",
        "max_allowed_packet",
        "plugin",
        "program_name",
        "raise_on_warnings",
        "read_timeout",
        "sql_mode",
        "use_pure",
        "use_unicode",
        "write_timeout",
    ],
    refused: &[
        ("database", BEHIND_HOST),
        ("db", BEHIND_HOST),
        ("named_pipe", "name a socket with unix_socket"),
        ("passwd", BEFORE_HOST),
        ("password", BEFORE_HOST),
        (
            "port",
            "write it behind the host, as in mysql://user:password@host:3307/database",
        ),
        ("server_public_key", "use TLS, with ssl_ca"),
        ("ssl_capath", "name one file of certificates with ssl_ca"),
        ("ssl_cipher", "choose the ciphers in the server's settings"),
        (
            "ssl_key_password",
            "give a key without a password, which only placet's user can read",
        ),
        ("user", BEFORE_HOST),
    ],
};

impl Parameters {
    /// Refuses names that neither placet nor Python's drivers know.
    ///
    /// # Errors
    /// [`SetupError::UnknownParameter`] with the nearest name, [`SetupError::Parameter`].
    pub fn check(&self, options: &[UrlOption]) -> Result<(), SetupError> {
        for UrlOption { name, .. } in options {
            if let Some((_, instead)) = self.refused.iter().find(|(refused, _)| refused == name) {
                return Err(SetupError::Parameter {
                    name: name.clone(),
                    reason: format!("placet has no such parameter: {instead}"),
                });
            }
            if !self.known().any(|known| known == name) && !is_of_plugin(name, options) {
                return Err(SetupError::UnknownParameter {
                    engine: self.engine,
                    name: name.clone(),
                    nearest: spelling::nearest(name, self.known()),
                });
            }
        }
        Ok(())
    }

    /// A sentence for each ineffective parameter. [`Self::check`] refuses unknown parameters.
    pub fn warnings(&self, options: &[UrlOption]) -> Vec<String> {
        let without = options.iter().filter_map(|UrlOption { name, value }| {
            if value.is_empty() {
                return Some(format!("'{name}' in the URL has no value, and so no effect"));
            }
            let is_ignored = self.ignored.contains(&name.as_str()) || is_of_plugin(name, options);
            is_ignored.then(|| format!("'{name}' in the URL has no effect: it is for Python's drivers"))
        });
        // A parameter may be repeated.
        let mut seen = BTreeSet::new();
        without.filter(|warning| seen.insert(warning.clone())).collect()
    }

    /// Whether a parameter has an effect.
    #[cfg(feature = "postgresql")]
    pub fn uses(&self, name: &str) -> bool {
        self.used.contains(&name)
    }

    fn known(&self) -> impl Iterator<Item = &'static str> {
        self.used.iter().chain(self.ignored).copied()
    }
}

/// Whether a plugin of SQLAlchemy in the URL reads this parameter: `plugin=collectd&collectd_host=h`.
fn is_of_plugin(name: &str, options: &[UrlOption]) -> bool {
    let mut plugins = options.iter().filter(|option| option.name == "plugin");
    plugins.any(|plugin| {
        name.strip_prefix(&plugin.value)
            .is_some_and(|rest| rest.starts_with('_'))
    })
}
