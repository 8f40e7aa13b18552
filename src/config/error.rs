//! Why a configuration is refused, each as one sentence that names the place to mend.

use std::path::PathBuf;

use thiserror::Error;

use super::layers::Origin;

pub type Result<T> = std::result::Result<T, ConfigError>;

/// A configuration that cannot be read or must not be served.
///
/// Values of secret options never appear in these sentences.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// A line that is no INI.
    #[error("{}:{line}: {reason}", file.display())]
    Syntax { file: PathBuf, line: usize, reason: String },
    /// A file or directory that was named but is not there, or cannot be read.
    #[error("cannot read the configuration {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    /// An option whose value does not fit.
    #[error(transparent)]
    BadValue(#[from] Box<BadValue>),
    /// An option of `[placet]` that does not exist; everywhere else such options are ignored, as oslo.config does.
    #[error("[placet] {name} is no option of placet; did you mean {nearest}? ({origin})")]
    UnknownOption {
        name: String,
        nearest: &'static str,
        origin: Origin,
    },
    /// Configured, but without the database that upstream requires too.
    #[error(
        "[placement_database] connection is not set: give the database's URL, for example sqlite:////var/lib/placet/placet.sqlite"
    )]
    NoConnection,
    #[error(
        "keystone authentication is not built yet: set [api] auth_strategy = noauth2 (keystone is the default wherever any configuration exists)"
    )]
    KeystoneNotBuilt,
    #[error(
        "auth_strategy = noauth2 lets everybody in, and {bind} is not a loopback address: bind to 127.0.0.1, or set [placet] allow_noauth2_anywhere = true"
    )]
    Noauth2Anywhere { bind: std::net::SocketAddr },
    #[error(
        "[placet] slave_routes names routes, and [placement_database] slave_connection no database that they could read: give its URL, or name no routes"
    )]
    NoSlave,
}

/// A value that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("[{section}] {name} = {shown}: {reason} ({origin})")]
pub struct BadValue {
    pub section: String,
    pub name: String,
    /// The value, masked where it is secret.
    pub shown: String,
    /// What is wrong or what must hold, as in `must be …`.
    pub reason: String,
    pub origin: Origin,
}
