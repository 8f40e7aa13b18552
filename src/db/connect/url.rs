//! Parses the database's URL, in SQLAlchemy's spelling. The scheme decides the engine.

mod parameters;
mod server;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::db::SetupError;
use parameters::{MYSQL, POSTGRESQL, Parameters, SQLITE};
pub use server::Server;

/// The database of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DbTarget {
    Sqlite(PathBuf),
    #[cfg(feature = "postgresql")]
    Postgresql(Server),
    #[cfg(feature = "mariadb")]
    Mariadb(Server),
}

impl DbTarget {
    /// An embedded database in this file.
    pub fn of_file(path: &Path) -> DbTarget {
        DbTarget::Sqlite(path.to_owned())
    }

    /// The file of an embedded database; `None` for a database on a server.
    pub fn file(&self) -> Option<&Path> {
        match self {
            DbTarget::Sqlite(path) => Some(path),
            #[cfg(any(feature = "postgresql", feature = "mariadb"))]
            _ => None,
        }
    }

    /// The server of the database; `None` for an embedded database.
    fn server(&self) -> Option<&Server> {
        match self {
            DbTarget::Sqlite(_) => None,
            #[cfg(feature = "postgresql")]
            DbTarget::Postgresql(server) => Some(server),
            #[cfg(feature = "mariadb")]
            DbTarget::Mariadb(server) => Some(server),
        }
    }

    /// Whether two connections may reach different servers.
    pub fn names_several_hosts(&self) -> bool {
        self.server().is_some_and(Server::names_several_hosts)
    }

    /// Checks the files in the URL.
    ///
    /// # Errors
    /// A PEM file that cannot be read, or is not whole.
    pub fn check_files(&self) -> Result<(), SetupError> {
        self.server().map_or(Ok(()), Server::check_tls_files)
    }

    /// The command of a server's own tool for a backup to a file; `None` for an embedded database.
    pub fn backup_command(&self, file: &Path) -> Option<String> {
        Some(self.server()?.backup_command(file))
    }

    /// The command of a server's own tool for restoring a backup; `None` for an embedded database.
    pub fn restore_command(&self, file: &Path) -> Option<String> {
        Some(self.server()?.restore_command(file))
    }
}

/// The absolute path of a file, or a server without its user and password.
impl fmt::Display for DbTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = self.file() {
            // A reader of a message may be in a different directory than this process.
            return std::path::absolute(path).as_deref().unwrap_or(path).display().fmt(f);
        }
        self.server().map_or(Ok(()), |server| server.fmt(f))
    }
}

/// Parses `dialect+driver://…`. The driver is a Python package. For a MySQL URL, the option file is read too.
///
/// # Errors
/// A URL, a parameter or an option file that cannot be used.
pub fn parse(url: &str) -> Result<DbTarget, SetupError> {
    let unknown = || SetupError::UnknownUrl { url: redacted(url) };
    let (scheme, rest) = url.trim().split_once("://").ok_or_else(unknown)?;
    let (dialect, driver) = scheme.split_once('+').unwrap_or((scheme, ""));
    let server = |scheme, known: Parameters| {
        let server = Server::parse(scheme, driver, rest).ok_or_else(unknown)?;
        known.check(server.options())?;
        Ok::<_, SetupError>(server)
    };
    match dialect {
        "sqlite" => sqlite(rest, unknown),
        "postgresql" | "postgres" => postgresql(server("postgresql", POSTGRESQL)?),
        "mysql" | "mariadb" => mariadb(server("mysql", MYSQL)?),
        _ => Err(unknown()),
    }
}

/// A sentence for each ineffective parameter of a URL. No sentences for a URL that cannot be parsed.
pub fn warnings(url: &str) -> Vec<String> {
    let known = match url.trim().split(['+', ':']).next() {
        Some("sqlite") => SQLITE,
        Some("postgresql" | "postgres") => POSTGRESQL,
        _ => MYSQL,
    };
    let query = url.rsplit_once('@').map_or(url, |(_, rest)| rest).split_once('?');
    let options = query.and_then(|(_, query)| server::parameters(query));
    known.warnings(&options.unwrap_or_default())
}

#[cfg(feature = "postgresql")]
fn postgresql(server: Server) -> Result<DbTarget, SetupError> {
    server.check_values()?;
    if server.requires_tls() && !cfg!(feature = "postgresql-tls") {
        return Err(SetupError::NotBuiltIn {
            what: "TLS to PostgreSQL",
            feature: "postgresql-tls",
        });
    }
    Ok(DbTarget::Postgresql(server))
}

#[cfg(not(feature = "postgresql"))]
fn postgresql(_: Server) -> Result<DbTarget, SetupError> {
    Err(SetupError::NotBuiltIn {
        what: "PostgreSQL",
        feature: "postgresql",
    })
}

#[cfg(feature = "mariadb")]
fn mariadb(server: Server) -> Result<DbTarget, SetupError> {
    server.into_mysql().map(DbTarget::Mariadb)
}

#[cfg(not(feature = "mariadb"))]
fn mariadb(_: Server) -> Result<DbTarget, SetupError> {
    Err(SetupError::NotBuiltIn {
        what: "MariaDB",
        feature: "mariadb",
    })
}

/// Parses the text after `sqlite://`: nothing, or a slash and a path. The path is absolute if it begins with a second
/// slash.
fn sqlite(rest: &str, unknown: impl Fn() -> SetupError) -> Result<DbTarget, SetupError> {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    SQLITE.check(&server::parameters(query).ok_or_else(&unknown)?)?;
    match path.strip_prefix('/') {
        None if path.is_empty() => Err(SetupError::InMemory),
        None => Err(unknown()),
        Some("" | ":memory:") => Err(SetupError::InMemory),
        Some(path) => Ok(DbTarget::Sqlite(PathBuf::from(path))),
    }
}

/// The part of a URL that may be shown. The text after the first colon is left out, because the text may be a password.
fn redacted(url: &str) -> String {
    match url.split_once(':') {
        Some((scheme, _)) => format!("{scheme}:…"),
        None if url.contains('@') => "…".to_owned(),
        None => url.to_owned(),
    }
}

/// The error of a system call on the file of an embedded database, or on a file beside the database.
pub(in crate::db) fn connect_error(path: &Path, error: &io::Error) -> SetupError {
    SetupError::Connect {
        place: DbTarget::of_file(path).to_string(),
        detail: error.to_string(),
    }
}

/// Returns a path as a `file:` URI for SQLite.
pub(in crate::db) fn file_uri(path: &Path, mode: &str) -> io::Result<String> {
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
            Ok(DbTarget::Sqlite(path)) => path,
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
    fn found_c2_an_unknown_parameter_is_refused_with_the_nearest_name() {
        for (url, reason) in [
            (
                "postgresql+psycopg2://u@h/d?sslmod=verify-full",
                "did you mean sslmode?",
            ),
            ("postgresql://u@h/d?sslmode=verify-ful", "none of disable, allow"),
            (
                "postgresql://u@h/d?nonsense=1",
                "'nonsense' in the URL of the database is no parameter of PostgreSQL",
            ),
            (
                "mysql+pymysql://u@h/d?ssl_verfy_cert=true",
                "did you mean ssl_verify_cert?",
            ),
            (
                "mysql+pymysql://u@h/d?ssl_verify_identity=ture",
                "'ture' is none of true",
            ),
            ("mysql+pymysql://u@h/d?ssl_mode=REQIRED", "none of disabled"),
            ("mysql+pymysql://u@h/d?ssl_capath=/x", "with ssl_ca"),
            ("mysql+pymysql://u@h/d?connect_timeout=soon", "no number of seconds"),
            ("mysql://u@h/d?collectd_host=x", "no parameter of MySQL"),
            ("sqlite:////x?timout=5", "did you mean timeout?"),
        ] {
            let refused = parse(url).expect_err(url).to_string();
            assert!(refused.contains(reason), "{url}: {refused}");
        }
    }

    #[test]
    fn found_c2_a_parameter_without_effect_is_a_warning() {
        for (url, names) in [
            (
                "sqlite:////x?timeout=5&check_same_thread=false",
                &["timeout", "check_same_thread"][..],
            ),
            (
                "postgresql+psycopg2://u:a?b@h/d?client_encoding=utf8&plugin=dbcounter&sslmode=disable",
                &["client_encoding", "plugin"],
            ),
            (
                "mysql+pymysql://u@h/d?charset=utf8&ssl_ca=/a&ssl_verify_cert&plugin=collectd&collectd_host=h",
                &["charset", "ssl_verify_cert", "plugin", "collectd_host"],
            ),
            ("mysql+pymysql://u@h/d?ssl_ca=/a&connect_timeout=5", &[]),
            ("mysql+pymysql://u@h/d?charset=utf8&charset=utf8mb4", &["charset"]),
        ] {
            assert!(parse(url).is_ok(), "{url}: {:?}", parse(url).err());
            let found = warnings(url);
            assert_eq!(found.len(), names.len(), "{url}: {found:?}");
            for (name, warning) in names.iter().zip(&found) {
                assert!(warning.contains(&format!("'{name}' in the URL has no")), "{warning}");
            }
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
