//! The reasons to refuse a configuration. Each reason is a sentence with the place to correct.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

use super::option_spec::OptionSpec;

pub type Result<T, E = ConfigError> = std::result::Result<T, E>;

/// A configuration that cannot be read, or with which placet must not serve.
///
/// Values of secret options never appear in these sentences.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// A line that is not INI.
    #[error("{}:{line}: {reason}", file.display())]
    Syntax { file: PathBuf, line: usize, reason: String },
    /// A named file or directory that does not exist, or that cannot be read.
    #[error("cannot read the configuration {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    /// An option whose value does not fit.
    #[error(transparent)]
    BadValue(Box<BadValue>),
    /// An unknown option of `[placet]`. In all further sections unknown options are ignored, as in oslo.config.
    #[error("{0}")]
    UnknownOption(String),
    /// Without any configuration placet would begin with an empty database and without authentication.
    #[error(
        "{0}. Nothing else is configured, and placet does not start with an empty database because of a typing mistake: correct the name, or unset the variable if it is not meant for placet, or name a file with --config-file"
    )]
    MistypedVariable(String),
    /// A mistyped variable may have been meant to set the database or the authentication.
    #[error(
        "{0}. No token would be checked, and placet does not serve like that because of a typing mistake: correct the name, or unset the variable if it is not meant for placet, or set [placet] token_file (see `placet token create --help`)"
    )]
    OpenByMistake(String),
    /// There is a configuration without a database. OpenStack Placement requires a database too.
    #[error(
        "[placement_database] connection is not set: give the database's URL, for example sqlite:////var/lib/placet/placet.sqlite"
    )]
    NoConnection,
    /// `auth_strategy = keystone` with incomplete options. Any configuration makes this strategy the default.
    #[error(
        "auth_strategy = keystone: [keystone_authtoken] {reason}. Without Keystone set [api] auth_strategy = noauth2"
    )]
    Keystone { reason: String },
    #[error(
        "auth_strategy = noauth2 checks no token, and {bind} is not a loopback address: set [placet] token_file (see `placet token create --help`), bind to 127.0.0.1, or set [placet] allow_noauth2_anywhere = true"
    )]
    Noauth2Anywhere { bind: std::net::SocketAddr },
    #[error(
        "[placet] slave_routes names routes, but [placement_database] slave_connection is not set: give the URL of the replica that they read, or name no routes"
    )]
    NoReplica,
    #[error("[placet] bind = {bind} and metrics_bind = {metrics_bind} are the same: give the metrics another port")]
    SamePort {
        bind: std::net::SocketAddr,
        metrics_bind: std::net::SocketAddr,
    },
    /// An option of `placet agent` that does not fit the rest.
    #[error("[agent] {reason}")]
    Agent { reason: String },
    #[error("[placet] {set} is set, but {missing} is not: TLS needs tls_certificate and tls_key")]
    IncompleteTls { set: &'static str, missing: &'static str },
}

impl ConfigError {
    /// The error about a value of an option.
    pub fn of_value(spec: &OptionSpec, value: &str, reason: String, origin: Origin) -> ConfigError {
        ConfigError::BadValue(Box::new(BadValue {
            section: spec.section,
            name: spec.name,
            shown: spec.shown(value),
            reason,
            origin,
        }))
    }
}

/// A value that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("[{section}] {name} = {shown}: {reason} ({origin})")]
pub struct BadValue {
    pub section: &'static str,
    pub name: &'static str,
    /// The value, masked if it is secret.
    pub shown: String,
    /// The reason, or the requirement, as in `must be …`.
    pub reason: String,
    pub origin: Origin,
}

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    File {
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// The name of the variable.
    Environment(String),
    CommandLine,
    Default,
    /// The default of a process without any configuration.
    Unconfigured,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(f, "from {}:{line}", path.display()),
            Self::Environment(variable) => write!(f, "from environment {variable}"),
            Self::CommandLine => f.write_str("from command line"),
            Self::Default => f.write_str("default"),
            Self::Unconfigured => f.write_str("default if nothing is configured"),
        }
    }
}
