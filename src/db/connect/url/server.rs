//! A server's URL: parsed as SQLAlchemy parses it, and written in the form that each engine's client library reads.

#[cfg(feature = "postgresql")]
mod libpq;
#[cfg(feature = "mariadb")]
mod mysql;
#[cfg(any(feature = "postgresql", feature = "mariadb"))]
mod tools;

use std::fmt;

use percent_encoding::percent_decode_str;
#[cfg(any(feature = "postgresql", feature = "mariadb"))]
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// A database on a server.
#[derive(Clone, PartialEq, Eq)]
pub struct Server {
    scheme: &'static str,
    user: String,
    password: Option<String>,
    /// Tried in this order; each of them serves the same database.
    hosts: Vec<Host>,
    database: String,
    options: Vec<UrlOption>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Host {
    /// A name or an address; an IPv6 address without its brackets.
    name: String,
    port: Option<String>,
}

#[derive(Clone, PartialEq, Eq)]
struct UrlOption {
    name: String,
    value: String,
}

impl Server {
    /// Parses what follows `scheme://`: `[user[:password]@]host[:port][,host[:port]…][/database][?options]`. Hosts may
    /// also be options, as `host=a:5432&host=b:5432`.
    pub fn parse(scheme: &'static str, rest: &str) -> Option<Server> {
        // A password may have any character but an `@`, so it is split off first.
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
        let mut options = Vec::new();
        let mut hosts_of_options = Vec::new();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=')?;
            let value = decoded(&value.replace('+', " "))?;
            match name {
                "host" => hosts_of_options.extend(value.split(',').map(host)),
                _ => options.push(UrlOption {
                    name: name.to_owned(),
                    value,
                }),
            }
        }
        let mut hosts: Vec<Host> = hosts.split(',').filter(|it| !it.is_empty()).map(host).collect();
        hosts.extend(hosts_of_options);
        Some(Server {
            scheme,
            user: decoded(user)?,
            password,
            hosts,
            database: decoded(database)?,
            options,
        })
    }
}

#[cfg(any(feature = "postgresql", feature = "mariadb"))]
impl Server {
    /// The value of an option of the URL.
    pub fn option(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().rev().find(|option| option.name == name);
        found.map(|option| option.value.as_str())
    }

    /// Whether the client may connect to one of several hosts.
    pub fn names_several_hosts(&self) -> bool {
        self.hosts.len() > 1
    }

    /// Whether the URL asks for TLS, so that a connection without it is refused.
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
        let given = ["ssl_ca", "ssl_capath", "ssl_cert", "ssl_key"];
        !self.is_on("ssl_disabled")
            && (wanted.contains(&mode.as_str())
                || given.iter().any(|name| self.option(name).is_some())
                || ["ssl", "ssl_verify_cert", "ssl_verify_identity", "ssl_check_hostname"]
                    .iter()
                    .any(|it| self.is_on(it)))
    }

    /// Whether the URL asks to check that the server's certificate is issued for the host.
    #[cfg(feature = "mariadb")]
    pub fn requires_identity(&self) -> bool {
        self.is_on("ssl_verify_identity")
            || self.is_on("ssl_check_hostname")
            || self
                .option("ssl_mode")
                .is_some_and(|mode| mode.eq_ignore_ascii_case("verify_identity"))
    }

    fn is_on(&self, name: &str) -> bool {
        self.option(name)
            .is_some_and(|it| matches!(it.to_lowercase().as_str(), "true" | "1" | "yes"))
    }

    /// The error for a failure that a client library reports as `detail`. The password is left out.
    pub fn connect_error(&self, detail: &str) -> crate::db::SetupError {
        let detail = match self.password.as_deref() {
            Some(password) if !password.is_empty() => detail.replace(password, "***"),
            _ => detail.to_owned(),
        };
        // libpq reports the failure of one host in several lines.
        let lines: Vec<&str> = detail.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        crate::db::SetupError::Connect {
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

#[cfg(any(feature = "postgresql", feature = "mariadb"))]
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
        Server::parse("mysql", rest).expect(rest)
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
