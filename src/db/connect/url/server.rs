//! A server's URL: parsed as SQLAlchemy parses URLs, and written in the form for each engine's client library.

#[cfg(feature = "postgresql")]
mod libpq;
#[cfg(feature = "mariadb")]
mod mysql;
#[cfg(feature = "mariadb")]
mod option_file;
mod tls_files;
mod tools;

use std::fmt;

#[cfg(any(feature = "postgresql", feature = "mariadb"))]
use crate::db::SetupError;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// A database on a server.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    scheme: &'static str,
    user: String,
    password: Option<String>,
    /// Tried in this order; each host serves the same database.
    hosts: Vec<Host>,
    database: String,
    options: Vec<UrlOption>,
    /// Whether the driver in the URL is PyMySQL, which has rules of its own for option files and certificates.
    #[cfg(feature = "mariadb")]
    is_pymysql: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Host {
    /// A name or an address; an IPv6 address without its brackets.
    name: String,
    port: Option<String>,
}

/// A parameter of a URL. As for SQLAlchemy, an empty value means no parameter.
#[derive(Clone, PartialEq, Eq)]
pub struct UrlOption {
    pub name: String,
    pub value: String,
}

impl Server {
    /// Parses the text after `scheme+driver://`: `[user[:password]@]host[:port][,host[:port]…][/database][?options]`.
    /// Hosts may also be options, as `host=a:5432&host=b:5432`.
    pub fn parse(scheme: &'static str, _driver: &str, rest: &str) -> Option<Server> {
        // A password may have any character but an `@`, so the password is split off first.
        let (account, rest) = match rest.rsplit_once('@') {
            Some((account, rest)) => (account, rest),
            None => ("", rest),
        };
        let (user, password) = match account.split_once(':') {
            Some((user, password)) => (user, Some(decoded(password)?)),
            None => (account, None),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (hosts, database) = rest.split_once('/').unwrap_or((rest, ""));
        let options = parameters(query)?;
        let of_options = options.iter().filter(|option| option.name == "host");
        let of_options = of_options.flat_map(|option| option.value.split(','));
        let hosts = hosts.split(',').chain(of_options).filter(|host| !host.is_empty());
        let hosts = hosts.map(host).collect();
        Some(Server {
            scheme,
            user: decoded(user)?,
            password,
            hosts,
            database: decoded(database)?,
            options,
            #[cfg(feature = "mariadb")]
            is_pymysql: _driver == "pymysql",
        })
    }

    /// The parameters of the URL, and of its option file.
    pub fn options(&self) -> &[UrlOption] {
        &self.options
    }

    /// The value of an option of the URL.
    pub fn option(&self, name: &str) -> Option<&str> {
        let named = self.options.iter().rev().filter(|option| option.name == name);
        named
            .map(|option| option.value.as_str())
            .find(|value| !value.is_empty())
    }

    /// Whether the client may connect to more than one host.
    pub fn names_several_hosts(&self) -> bool {
        self.hosts.len() > 1
    }

    /// The hosts with their ports, as in a URL. An IPv6 address is in brackets, and a name is encoded.
    fn addresses(&self, encode: impl Fn(&str) -> String) -> String {
        let address = |Host { name, port }: &Host| {
            let port = port.as_deref().map(|port| format!(":{port}")).unwrap_or_default();
            if name.contains(':') {
                format!("[{name}]{port}")
            } else {
                format!("{}{port}", encode(name))
            }
        };
        self.hosts.iter().map(address).collect::<Vec<_>>().join(",")
    }
}

/// The parameters of a query, in their order.
pub fn parameters(query: &str) -> Option<Vec<UrlOption>> {
    let parameters = query.split('&').filter(|parameter| !parameter.is_empty());
    let read = parameters.map(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        Some(UrlOption {
            name: decoded(name)?,
            value: decoded(&value.replace('+', " "))?,
        })
    });
    read.collect()
}

#[cfg(any(feature = "postgresql", feature = "mariadb"))]
mod spellings {
    /// PostgreSQL's.
    pub const SSLMODES: &[&str] = &["disable", "allow", "prefer", "require", "verify-ca", "verify-full"];
    /// MySQL's.
    pub const SSL_MODES: &[&str] = &["disabled", "preferred", "required", "verify_ca", "verify_identity"];
    pub const TRUE: &[&str] = &["true", "1", "yes", "on"];
    pub const BOOLEANS: &[&str] = &["true", "false", "1", "0", "yes", "no", "on", "off"];
}

#[cfg(any(feature = "postgresql", feature = "mariadb"))]
impl Server {
    /// Refuses a value that would turn off TLS by a typing mistake.
    ///
    /// # Errors
    /// [`SetupError::Parameter`].
    pub fn check_values(&self) -> Result<(), SetupError> {
        for option in self.options.iter().filter(|option| !option.value.is_empty()) {
            let (allowed, value) = match option.name.as_str() {
                "sslmode" => (spellings::SSLMODES, option.value.clone()),
                "ssl_mode" => (spellings::SSL_MODES, option.value.to_lowercase()),
                "ssl" | "ssl_disabled" | "ssl_verify_cert" | "ssl_verify_identity" | "ssl_check_hostname" => {
                    (spellings::BOOLEANS, option.value.to_lowercase())
                }
                _ => continue,
            };
            if !allowed.contains(&value.as_str()) {
                return Err(SetupError::Parameter {
                    name: option.name.clone(),
                    reason: format!("'{}' is none of {}", option.value, allowed.join(", ")),
                });
            }
        }
        Ok(())
    }

    /// Whether the URL asks for TLS, so a connection without TLS is refused.
    pub fn requires_tls(&self) -> bool {
        let mode = self
            .option("sslmode")
            .or(self.option("ssl_mode"))
            .unwrap_or_default()
            .to_lowercase();
        let wanted = [
            "require",
            "required",
            "verify-ca",
            "verify-full",
            "verify_ca",
            "verify_identity",
        ];
        let given = ["ssl_ca", "ssl_cert", "ssl_key"];
        !self.is_on("ssl_disabled")
            && (wanted.contains(&mode.as_str())
                || given.iter().any(|name| self.option(name).is_some())
                || ["ssl", "ssl_verify_cert", "ssl_verify_identity", "ssl_check_hostname"]
                    .iter()
                    .any(|it| self.is_on(it)))
    }

    fn is_on(&self, name: &str) -> bool {
        self.option(name)
            .is_some_and(|it| spellings::TRUE.contains(&it.to_lowercase().as_str()))
    }

    /// The error for a client library's report `detail`. The password is left out.
    pub fn connect_error(&self, detail: &str) -> SetupError {
        let detail = match self.password.as_deref() {
            Some(password) if !password.is_empty() => detail.replace(password, "***"),
            _ => detail.to_owned(),
        };
        // libpq reports the failure of a host in several lines.
        let lines: Vec<&str> = detail.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        SetupError::Connect {
            place: self.to_string(),
            detail: lines.join("; "),
        }
    }

    fn account(&self) -> String {
        let user = encoded(&self.user);
        match &self.password {
            Some(password) => format!("{user}:{}@", encoded(password)),
            None if user.is_empty() => String::new(),
            None => format!("{user}@"),
        }
    }
}

/// Parses a host and its port. An IPv6 address is in brackets.
fn host(text: &str) -> Host {
    let (name, port) = if let Some((name, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        (name, rest.strip_prefix(':'))
    } else if let Some((name, port)) = text.rsplit_once(':') {
        (name, Some(port))
    } else {
        (text, None)
    };
    Host {
        name: name.to_owned(),
        port: port.map(str::to_owned),
    }
}

fn decoded(text: &str) -> Option<String> {
    Some(percent_decode_str(text).decode_utf8().ok()?.into_owned())
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// The hosts and the database, without the user and the password.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self
            .hosts
            .iter()
            .map(|Host { name, port }| port.as_ref().map_or(name.clone(), |port| format!("{name}:{port}")))
            .collect();
        write!(f, "{}://{}/{}", self.scheme, hosts.join(","), self.database)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn server(rest: &str) -> Server {
        Server::parse("mysql", "", rest).expect(rest)
    }

    #[test]
    fn hosts_are_found_where_sqlalchemy_finds_them() {
        let hosts = |rest| server(rest).hosts;
        let at = |name: &str, port: &str| Host {
            name: name.to_owned(),
            port: Some(port.to_owned()),
        };
        assert_eq!(hosts("u:p@a:1,b:2/d"), [at("a", "1"), at("b", "2")]);
        assert_eq!(hosts("u:p@/d?host=a:1&host=b:2"), [at("a", "1"), at("b", "2")]);
        assert_eq!(hosts("u@[::1]:5/d"), [at("::1", "5")]);
        let without_port = Host {
            name: "a".to_owned(),
            port: None,
        };
        assert_eq!(hosts("a/d"), [without_port]);
    }

    #[cfg(any(feature = "postgresql", feature = "mariadb"))]
    #[test]
    fn user_and_password_may_have_any_character_and_are_never_shown() {
        let it = server("u%40x:p%40ss:w/?o@h/d?charset=utf8");
        assert_eq!((it.user.as_str(), it.password.as_deref()), ("u@x", Some("p@ss:w/?o")));
        assert_eq!((it.database.as_str(), it.option("charset")), ("d", Some("utf8")));
        assert_eq!(format!("{it} {it:?}"), "mysql://h/d mysql://h/d");
        assert!(!it.connect_error("no p@ss:w/?o").to_string().contains("ss:w"));
    }
}
