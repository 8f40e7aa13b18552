//! The URLs of MariaDB servers, in diesel's form, which diesel passes on to the client library.

use super::{Host, Server, encoded, host};
use crate::db::SetupError;

/// How long MariaDB's client library waits for each host, unless the URL sets the time.
const CONNECT_TIMEOUT_SECONDS: &str = "10";

/// Where systems keep the certificates of public authorities. MariaDB's client library uses TLS only with such a file.
const AUTHORITIES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];

/// Whether the name of the host must be in the server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameCheck {
    Unchecked,
    /// The default of PyMySQL with an authority, unless the URL sets the check.
    Implied,
    /// The URL, or the option file, asks for the check.
    Asked,
}

impl Server {
    /// Prepares the server of a MySQL URL: adds its option file.
    ///
    /// # Errors
    /// An option file or a parameter that cannot be used, or a host whose name cannot be checked.
    pub fn into_mysql(self) -> Result<Server, SetupError> {
        let mut server = self.with_option_file()?;
        server.check_values()?;
        if let Some(text) = server.option("connect_timeout")
            && !text.parse::<u32>().is_ok_and(|seconds| seconds > 0)
        {
            return Err(SetupError::Parameter {
                name: "connect_timeout".to_owned(),
                reason: format!("'{text}' is no number of seconds"),
            });
        }
        // PyMySQL prefers the socket to any host.
        if server.is_pymysql && server.option("unix_socket").is_some() {
            server.hosts = vec![host("localhost")];
        }
        let has_socket = server.option("unix_socket").is_some();
        if server.name_check() == NameCheck::Asked && (has_socket || server.hosts.iter().any(|host| !host.is_plain())) {
            return Err(SetupError::NoIdentity);
        }
        Ok(server)
    }

    fn name_check(&self) -> NameCheck {
        let asks = self.is_on("ssl_verify_identity")
            || self.is_on("ssl_check_hostname")
            || self
                .option("ssl_mode")
                .is_some_and(|mode| mode.eq_ignore_ascii_case("verify_identity"));
        let says_otherwise = ["ssl_check_hostname", "ssl_verify_cert", "ssl_verify_identity"];
        let says_otherwise = says_otherwise.iter().any(|name| self.option(name).is_some());
        match (
            asks,
            self.is_pymysql && self.option("ssl_ca").is_some() && !says_otherwise,
        ) {
            _ if !self.requires_tls() => NameCheck::Unchecked,
            (true, _) => NameCheck::Asked,
            (false, true) => NameCheck::Implied,
            (false, false) => NameCheck::Unchecked,
        }
    }

    /// The ports of the servers.
    #[cfg(target_os = "linux")]
    pub fn mysql_ports(&self) -> Vec<u16> {
        let port = |host: &Host| host.port.as_deref().unwrap_or("3306").parse().ok();
        if self.hosts.is_empty() {
            vec![3306]
        } else {
            self.hosts.iter().filter_map(port).collect()
        }
    }

    /// The URLs for diesel on MariaDB, a URL for each host.
    pub fn mysql_urls(&self) -> Vec<String> {
        let mut options: Vec<String> = Vec::new();
        for name in ["unix_socket", "ssl_ca", "ssl_cert", "ssl_key"] {
            if let Some(value) = self.option(name) {
                options.push(format!("{name}={}", encoded(value)));
            }
        }
        if self.requires_tls() && self.option("ssl_ca").is_none() {
            let found = AUTHORITIES.iter().find(|path| std::path::Path::new(path).exists());
            options.extend(found.map(|path| format!("ssl_ca={}", encoded(path))));
        }
        let socket = self.option("unix_socket").is_some();
        let hosts = if self.hosts.is_empty() {
            vec![host("localhost")]
        } else {
            self.hosts.clone()
        };
        let timeout = self.option("connect_timeout").unwrap_or(CONNECT_TIMEOUT_SECONDS);
        let checked = match self.name_check() {
            NameCheck::Unchecked => "",
            NameCheck::Implied | NameCheck::Asked => ";ssl-verify-server-cert=1",
        };
        let url = |host: &Host| {
            let Host { name, port } = host;
            // MariaDB's client library takes `localhost` for a socket, Python's drivers take `localhost` for a host.
            // The library accepts options in place of the host, here the `protocol` of a host. By default the library
            // waits minutes for a silent host.
            let host = match name.as_str() {
                "localhost" if !socket => format!("host=localhost;protocol=1;connect-timeout={timeout}{checked}"),
                name if name.contains(':') => format!("[{name}]"),
                name if host.is_plain() && !socket => format!("host={name};connect-timeout={timeout}{checked}"),
                name => name.to_owned(),
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

impl Host {
    /// Whether options can stand beside the name. Beside an IPv6 address options are impossible.
    fn is_plain(&self) -> bool {
        self.name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "-._".contains(letter))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::server;

    #[test]
    fn mariadb_gets_a_url_for_each_host_and_an_authority_if_tls_is_required() {
        assert_eq!(
            server("u:p@localhost,b:2/d?charset=utf8&ssl_ca=/c%20a").mysql_urls(),
            [
                "mysql://u:p@host=localhost;protocol=1;connect-timeout=10/d?ssl_ca=%2Fc%20a",
                "mysql://u:p@host=b;connect-timeout=10:2/d?ssl_ca=%2Fc%20a"
            ]
        );
        assert!(!server("a/d?charset=utf8&ssl_disabled=true&ssl_ca=x").requires_tls());
        for option in ["ssl=true", "ssl_mode=REQUIRED", "ssl_verify_cert=1", "ssl_key=k"] {
            assert!(server(&format!("a/d?{option}")).requires_tls(), "{option}");
        }
    }
}
