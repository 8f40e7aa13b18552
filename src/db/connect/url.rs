//! Parses the database's URL, which is spelled as SQLAlchemy spells it. The scheme decides the engine.

mod server;

use std::fmt;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::db::SetupError;
pub use server::Server;

/// The database that a URL names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Sqlite(PathBuf),
    #[cfg(feature = "postgresql")]
    Postgresql(Server),
    #[cfg(feature = "mariadb")]
    Mariadb(Server),
}

impl Target {
    /// An embedded database in this file.
    pub fn of_file(path: &Path) -> Target {
        Target::Sqlite(path.to_owned())
    }

    /// The file of an embedded database; `None` for a database on a server.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Target::Sqlite(path) => Some(path),
            #[cfg(any(feature = "postgresql", feature = "mariadb"))]
            _ => None,
        }
    }

    /// Whether two connections may reach different servers.
    pub fn names_several_hosts(&self) -> bool {
        match self {
            Target::Sqlite(_) => false,
            #[cfg(feature = "postgresql")]
            Target::Postgresql(server) => server.names_several_hosts(),
            #[cfg(feature = "mariadb")]
            Target::Mariadb(server) => server.names_several_hosts(),
        }
    }
}

/// The absolute path of a file, or a server without its user and password.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Messages are read in other directories than that of this process.
            Target::Sqlite(path) => std::path::absolute(path).as_ref().unwrap_or(path).display().fmt(f),
            #[cfg(feature = "postgresql")]
            Target::Postgresql(server) => server.fmt(f),
            #[cfg(feature = "mariadb")]
            Target::Mariadb(server) => server.fmt(f),
        }
    }
}

impl Target {
    /// The command of a server's own tool that writes a backup to a file; `None` for an embedded database.
    pub fn backup_command(&self, _file: &Path) -> Option<String> {
        match self {
            Target::Sqlite(_) => None,
            #[cfg(feature = "postgresql")]
            Target::Postgresql(server) => Some(server.backup_command(_file)),
            #[cfg(feature = "mariadb")]
            Target::Mariadb(server) => Some(server.backup_command(_file)),
        }
    }

    /// The command of a server's own tool that restores a backup; `None` for an embedded database.
    pub fn restore_command(&self, _file: &Path) -> Option<String> {
        match self {
            Target::Sqlite(_) => None,
            #[cfg(feature = "postgresql")]
            Target::Postgresql(server) => Some(server.restore_command(_file)),
            #[cfg(feature = "mariadb")]
            Target::Mariadb(server) => Some(server.restore_command(_file)),
        }
    }
}

/// Parses `dialect+driver://…`. The driver is a Python package and is ignored.
pub fn parse(url: &str) -> Result<Target, SetupError> {
    let unknown = || SetupError::UnknownUrl { url: redacted(url) };
    let (scheme, rest) = url.trim().split_once("://").ok_or_else(unknown)?;
    match scheme.split('+').next().unwrap_or(scheme) {
        "sqlite" => sqlite(rest).ok_or_else(unknown)?,
        "postgresql" | "postgres" => postgresql(Server::parse("postgresql", rest).ok_or_else(unknown)?),
        "mysql" | "mariadb" => mariadb(Server::parse("mysql", rest).ok_or_else(unknown)?),
        _ => Err(unknown()),
    }
}

#[cfg(feature = "postgresql")]
fn postgresql(server: Server) -> Result<Target, SetupError> {
    if server.requires_tls() && !cfg!(feature = "postgresql-tls") {
        return Err(SetupError::NotBuiltIn {
            what: "TLS to PostgreSQL",
            feature: "postgresql-tls",
        });
    }
    Ok(Target::Postgresql(server))
}

#[cfg(not(feature = "postgresql"))]
fn postgresql(_: Server) -> Result<Target, SetupError> {
    Err(SetupError::NotBuiltIn {
        what: "PostgreSQL",
        feature: "postgresql",
    })
}

#[cfg(feature = "mariadb")]
fn mariadb(server: Server) -> Result<Target, SetupError> {
    if server.requires_identity() {
        return Err(SetupError::NoIdentity);
    }
    Ok(Target::Mariadb(server))
}

#[cfg(not(feature = "mariadb"))]
fn mariadb(_: Server) -> Result<Target, SetupError> {
    Err(SetupError::NotBuiltIn {
        what: "MariaDB",
        feature: "mariadb",
    })
}

/// Parses what follows `sqlite://`: nothing, or a slash and a path. The path is absolute if it begins with another
/// slash.
fn sqlite(rest: &str) -> Option<Result<Target, SetupError>> {
    let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
    if !options.is_empty() {
        log::warn!(
            "placet ignores '?{options}' in the URL of the SQLite database: these options are for Python's driver"
        );
    }
    match path.strip_prefix('/') {
        None if path.is_empty() => Some(Err(SetupError::InMemory)),
        None => None,
        Some("" | ":memory:") => Some(Err(SetupError::InMemory)),
        Some(path) => Some(Ok(Target::Sqlite(PathBuf::from(path)))),
    }
}

/// The part of a URL that may be shown. Everything after the first colon is left out, because it may be a password.
fn redacted(url: &str) -> String {
    match url.split_once(':') {
        Some((scheme, _)) => format!("{scheme}:…"),
        None if url.contains('@') => "…".to_owned(),
        None => url.to_owned(),
    }
}

/// Returns a path as a `file:` URI for SQLite.
pub(in crate::db) fn file_uri(path: &std::path::Path, mode: &str) -> std::io::Result<String> {
    const ENCODED_CHARS: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');
    let absolute = std::path::absolute(path)?;
    let encoded = utf8_percent_encode(&absolute.to_string_lossy(), &ENCODED_CHARS).to_string();
    Ok(format!("file://{encoded}?mode={mode}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_paths_are_parsed_as_sqlalchemy_parses_them() {
        let path = |url| match parse(url) {
            Ok(Target::Sqlite(path)) => path,
            other => panic!("{url}: {other:?}"),
        };
        assert_eq!(
            path("sqlite:////var/lib/placet.db"),
            PathBuf::from("/var/lib/placet.db")
        );
        assert_eq!(path("sqlite:///placet.db"), PathBuf::from("placet.db"));
        assert_eq!(path("sqlite+pysqlite:///a b%20c?timeout=5"), PathBuf::from("a b%20c"));
    }

    #[test]
    fn an_unusable_url_is_refused_with_its_reason_and_without_its_password() {
        let refusal = |url| parse(url).expect_err(url).to_string();
        assert!(refusal("sqlite://").contains("memory"));
        assert!(refusal("sqlite:///:memory:").contains("memory"));
        let shown = refusal("oracle://scott:tiger@h/x");
        assert!(shown.contains("'oracle:…'") && !shown.contains("tiger"), "{shown}");
        assert!(refusal("placet.sqlite").contains("placet.sqlite"));
        for mistyped in ["mysql+pymysql//root:hunter2@db/x", "root:hunter2@db", "hunter2@db"] {
            assert!(!refusal(mistyped).contains("hunter2"), "{mistyped}");
        }
    }

    #[test]
    fn special_characters_of_a_path_are_encoded_in_its_uri() {
        assert_eq!(
            file_uri(std::path::Path::new("/a b/c?d#e%f.db"), "rw").expect("uri"),
            "file:///a%20b/c%3Fd%23e%25f.db?mode=rw"
        );
    }
}
