//! A server's URL, read as SQLAlchemy reads it, and written as each engine's client library wants it.

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
    /// Hosts with their ports; any of them will do.
    hosts: Vec<(String, Option<String>)>,
    database: String,
    options: Vec<(String, String)>,
}

/// The options of libpq that stay what they are. Those of Python's drivers alone are not used.
#[cfg(feature = "postgresql")]
const LIBPQ: [&str; 27] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "gssencmode",
    "hostaddr",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbsrvname",
    "load_balance_hosts",
    "options",
    "passfile",
    "password",
    "require_auth",
    "service",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcert",
    "sslcrl",
    "sslkey",
    "sslmode",
    "sslpassword",
    "sslrootcert",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// How long MariaDB's library tries one host.
#[cfg(feature = "mariadb")]
const CONNECT_SECONDS: u32 = 10;

/// What is set where the URL does not say otherwise: a server that went away without a word is noticed.
#[cfg(feature = "postgresql")]
const LIBPQ_DEFAULTS: [(&str, &str); 6] = [
    ("application_name", "placet"),
    ("connect_timeout", "10"),
    ("keepalives_idle", "10"),
    ("keepalives_interval", "5"),
    ("keepalives_count", "3"),
    ("tcp_user_timeout", "25000"),
];

/// Where certificates of public authorities are; for MariaDB's library an authority is the only way to ask for TLS.
#[cfg(feature = "mariadb")]
const AUTHORITIES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];

impl Server {
    /// Reads what follows `scheme://`: `[user[:password]@]host[:port][,host[:port]…][/database][?options]`. A host may
    /// be an option too, as `host=a:5432&host=b:5432`.
    pub fn parse(scheme: &'static str, rest: &str) -> Option<Server> {
        // A password may hold anything but an `@`, so it is taken off first.
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
        let mut named = Vec::new();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=')?;
            let value = decoded(&value.replace('+', " "))?;
            match name {
                "host" => named.extend(value.split(',').map(host)),
                _ => options.push((name.to_owned(), value)),
            }
        }
        let mut hosts: Vec<_> = hosts.split(',').filter(|it| !it.is_empty()).map(host).collect();
        hosts.extend(named);
        Some(Server {
            scheme,
            user: decoded(user)?,
            password,
            hosts,
            database: decoded(database)?,
            options,
        })
    }

    fn option(&self, name: &str) -> Option<&str> {
        let found = self.options.iter().rev().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether a connection without TLS is not what the URL asks for.
    pub fn asks_for_tls(&self) -> bool {
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

    /// Whether the server's name in its certificate is to be the host's.
    #[cfg(feature = "mariadb")]
    pub fn asks_for_identity(&self) -> bool {
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

    /// What a client library said of a failure, without the password.
    pub fn failed(&self, detail: &str) -> crate::db::SetupError {
        let detail = match self.password.as_deref() {
            Some(password) if !password.is_empty() => detail.replace(password, "***"),
            _ => detail.to_owned(),
        };
        // PostgreSQL's library tells of one host in several lines.
        let lines: Vec<&str> = detail.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        crate::db::SetupError::Connect {
            place: self.to_string(),
            detail: lines.join("; "),
        }
    }

    #[cfg(any(feature = "postgresql", feature = "mariadb"))]
    fn account(&self) -> String {
        let user = encoded(&self.user);
        match &self.password {
            Some(password) => format!("{user}:{}@", encoded(password)),
            None if user.is_empty() => String::new(),
            None => format!("{user}@"),
        }
    }

    /// The URI that libpq reads; it tries the hosts in turn.
    #[cfg(feature = "postgresql")]
    pub fn libpq_uri(&self) -> String {
        let hosts: Vec<String> = self
            .hosts
            .iter()
            .map(|(host, port)| {
                let port = port.as_deref().map(|port| format!(":{port}")).unwrap_or_default();
                match host.contains(':') {
                    true => format!("[{host}]{port}"),
                    false => format!("{}{port}", encoded(host)),
                }
            })
            .collect();
        let mut options: Vec<String> = Vec::new();
        for (name, value) in &self.options {
            match LIBPQ.contains(&name.as_str()) {
                true => options.push(format!("{name}={}", encoded(value))),
                false => log::debug!("the option '{name}' of the PostgreSQL connection is Python's and is not used"),
            }
        }
        for (name, value) in LIBPQ_DEFAULTS {
            if self.option(name).is_none() {
                options.push(format!("{name}={value}"));
            }
        }
        let (account, database) = (self.account(), encoded(&self.database));
        format!(
            "postgresql://{account}{}/{database}?{}",
            hosts.join(","),
            options.join("&")
        )
    }

    /// Where the servers listen.
    #[cfg(all(feature = "mariadb", target_os = "linux"))]
    pub fn mysql_ports(&self) -> Vec<u16> {
        let port = |(_, port): &(String, Option<String>)| port.as_deref().unwrap_or("3306").parse().ok();
        match self.hosts.is_empty() {
            true => vec![3306],
            false => self.hosts.iter().filter_map(port).collect(),
        }
    }

    /// The URLs that diesel reads for MariaDB, one a host.
    #[cfg(feature = "mariadb")]
    pub fn mysql_urls(&self) -> Vec<String> {
        let mut options: Vec<String> = Vec::new();
        for name in ["unix_socket", "ssl_ca", "ssl_cert", "ssl_key"] {
            if let Some(value) = self.option(name) {
                options.push(format!("{name}={}", encoded(value)));
            }
        }
        if self.asks_for_tls() && self.option("ssl_ca").is_none() {
            let found = AUTHORITIES.iter().find(|path| std::path::Path::new(path).exists());
            options.extend(found.map(|path| format!("ssl_ca={}", encoded(path))));
        }
        let socket = self.option("unix_socket").is_some();
        let hosts = if self.hosts.is_empty() {
            vec![host("localhost")]
        } else {
            self.hosts.clone()
        };
        let url = |(host, port): &(String, Option<String>)| {
            // To MariaDB's library `localhost` is a socket, to Python's drivers a host like others.
            let host = match host.as_str() {
                "localhost" if !socket => "127.0.0.1".to_owned(),
                host if host.contains(':') => format!("[{host}]"),
                host => host.to_owned(),
            };
            // Its library takes a list of options in the place of a host, and by itself waits minutes for a silent one.
            let host = match host.chars().all(|it| it.is_ascii_alphanumeric() || "-._".contains(it)) {
                true if !socket => format!("host={host};connect-timeout={CONNECT_SECONDS}"),
                _ => host,
            };
            let port = port.as_deref().map(|port| format!(":{port}")).unwrap_or_default();
            format!(
                "mysql://{}{host}{port}/{}?{}",
                self.account(),
                self.database,
                options.join("&")
            )
        };
        hosts.iter().map(url).collect()
    }
}

/// A host with its port; an IPv6 address stands in brackets.
fn host(text: &str) -> (String, Option<String>) {
    if let Some((host, rest)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        return (host.to_owned(), rest.strip_prefix(':').map(str::to_owned));
    }
    match text.rsplit_once(':') {
        Some((host, port)) => (host.to_owned(), Some(port.to_owned())),
        None => (text.to_owned(), None),
    }
}

fn decoded(text: &str) -> Option<String> {
    Some(percent_decode_str(text).decode_utf8().ok()?.into_owned())
}

#[cfg(any(feature = "postgresql", feature = "mariadb"))]
fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// Where it is, without who asks.
impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self
            .hosts
            .iter()
            .map(|(host, port)| port.as_ref().map_or(host.clone(), |port| format!("{host}:{port}")))
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

    fn server(rest: &str) -> Server {
        Server::parse("mysql", rest).expect(rest)
    }

    #[test]
    fn hosts_are_read_where_sqlalchemy_reads_them() {
        let hosts = |rest| server(rest).hosts;
        let at = |host: &str, port: &str| (host.to_owned(), Some(port.to_owned()));
        assert_eq!(hosts("u:p@a:1,b:2/d"), [at("a", "1"), at("b", "2")]);
        assert_eq!(hosts("u:p@/d?host=a:1&host=b:2"), [at("a", "1"), at("b", "2")]);
        assert_eq!(hosts("u@[::1]:5/d"), [at("::1", "5")]);
        assert_eq!(hosts("a/d"), [("a".to_owned(), None)]);
    }

    #[test]
    fn an_account_may_hold_anything() {
        let it = server("u%40x:p%40ss:w/?o@h/d?charset=utf8");
        assert_eq!((it.user.as_str(), it.password.as_deref()), ("u@x", Some("p@ss:w/?o")));
        assert_eq!((it.database.as_str(), it.option("charset")), ("d", Some("utf8")));
        assert_eq!(format!("{it} {it:?}"), "mysql://h/d mysql://h/d");
        assert!(!it.failed("no p@ss:w/?o").to_string().contains("ss:w"));
    }

    #[cfg(feature = "postgresql")]
    #[test]
    fn libpq_is_told_what_it_knows() {
        let uri = server("u:p%2F@a,[::1]:2/d?sslmode=verify-full&client_encoding=utf8&connect_timeout=3").libpq_uri();
        let begins = "postgresql://u:p%2F@a,[::1]:2/d?sslmode=verify%2Dfull&connect_timeout=3&application_name=placet&";
        assert!(uri.starts_with(begins) && !uri.contains("client_encoding"), "{uri}");
    }

    #[cfg(feature = "mariadb")]
    #[test]
    fn mariadb_gets_a_url_a_host_and_an_authority_where_tls_is_asked_for() {
        assert_eq!(
            server("u:p@localhost,b:2/d?charset=utf8&ssl_ca=/c%20a").mysql_urls(),
            [
                "mysql://u:p@host=127.0.0.1;connect-timeout=10/d?ssl_ca=%2Fc%20a",
                "mysql://u:p@host=b;connect-timeout=10:2/d?ssl_ca=%2Fc%20a"
            ]
        );
        assert!(!server("a/d?charset=utf8&ssl_disabled=true&ssl_ca=x").asks_for_tls());
        for option in ["ssl=true", "ssl_mode=REQUIRED", "ssl_verify_cert=1", "ssl_key=k"] {
            assert!(server(&format!("a/d?{option}")).asks_for_tls(), "{option}");
        }
        assert!(server("a/d?ssl_mode=VERIFY_IDENTITY").asks_for_identity());
    }
}
