//! The database's URL, spelled as SQLAlchemy does. The scheme decides the engine.

mod server;

use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::db::SetupError;
pub use server::Server;

/// What a URL points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Sqlite(PathBuf),
    #[cfg(feature = "postgresql")]
    Postgresql(Server),
    #[cfg(feature = "mariadb")]
    Mariadb(Server),
}

impl Target {
    /// The file of an embedded database; `None` for a database on a server.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Target::Sqlite(path) => Some(path),
            #[cfg(any(feature = "postgresql", feature = "mariadb"))]
            _ => None,
        }
    }
}

/// Reads `dialect+driver://…`; the driver is Python's affair and is not looked at.
pub fn parse(url: &str) -> Result<Target, SetupError> {
    let unknown = || SetupError::UnknownUrl { url: beginning(url) };
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
    match cfg!(feature = "postgresql-tls") || !server.asks_for_tls() {
        true => Ok(Target::Postgresql(server)),
        false => Err(SetupError::NotBuiltIn {
            what: "TLS to PostgreSQL",
            feature: "postgresql-tls",
        }),
    }
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
    match server.asks_for_identity() {
        false => Ok(Target::Mariadb(server)),
        true => Err(SetupError::NoIdentity),
    }
}

#[cfg(not(feature = "mariadb"))]
fn mariadb(_: Server) -> Result<Target, SetupError> {
    Err(SetupError::NotBuiltIn {
        what: "MariaDB",
        feature: "mariadb",
    })
}

/// What follows `sqlite://`: nothing, or a slash and a path, which is absolute if it begins with another slash.
fn sqlite(rest: &str) -> Option<Result<Target, SetupError>> {
    let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
    if !options.is_empty() {
        log::warn!("the options '?{options}' of the SQLite connection are Python's and are not used");
    }
    match path.strip_prefix('/') {
        None if path.is_empty() => Some(Err(SetupError::InMemory)),
        None => None,
        Some("" | ":memory:") => Some(Err(SetupError::InMemory)),
        Some(path) => Some(Ok(Target::Sqlite(PathBuf::from(path)))),
    }
}

/// The beginning of a URL, which may be shown: whatever follows a colon may be a password.
fn beginning(url: &str) -> String {
    match url.split_once(':') {
        Some((scheme, _)) => format!("{scheme}:…"),
        None if url.contains('@') => "…".to_owned(),
        None => url.to_owned(),
    }
}

/// A path as SQLite reads it in a `file:` URI.
pub(in crate::db) fn file_uri(path: &std::path::Path, mode: &str) -> std::io::Result<String> {
    const KEPT: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');
    let absolute = std::path::absolute(path)?;
    let encoded = utf8_percent_encode(&absolute.to_string_lossy(), &KEPT).to_string();
    Ok(format!("file://{encoded}?mode={mode}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_sqlalchemy_reads_them() {
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
    fn what_cannot_be_opened_is_refused_with_its_reason() {
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
    fn uris_survive_odd_paths() {
        assert_eq!(
            file_uri(std::path::Path::new("/a b/c?d#e%f.db"), "rw").expect("uri"),
            "file:///a%20b/c%3Fd%23e%25f.db?mode=rw"
        );
    }
}
