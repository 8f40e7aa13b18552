//! The URLs of MariaDB servers, as diesel reads them and passes them on to the client library.

use super::{Host, Server, encoded, host};

/// How long MariaDB's client library waits for one host.
const CONNECT_TIMEOUT_SECONDS: u32 = 10;

/// Where systems keep the certificates of public authorities. MariaDB's client library uses TLS only if it gets one.
const AUTHORITIES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
];

impl Server {
    /// The ports on which the servers listen.
    #[cfg(target_os = "linux")]
    pub fn mysql_ports(&self) -> Vec<u16> {
        let port = |host: &Host| host.port.as_deref().unwrap_or("3306").parse().ok();
        if self.hosts.is_empty() {
            vec![3306]
        } else {
            self.hosts.iter().filter_map(port).collect()
        }
    }

    /// The URLs that diesel reads for MariaDB, one for each host.
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
        let url = |Host { name, port }: &Host| {
            // MariaDB's client library takes `localhost` for a socket, Python's drivers take it for a host.
            let name = match name.as_str() {
                "localhost" if !socket => "127.0.0.1".to_owned(),
                name if name.contains(':') => format!("[{name}]"),
                name => name.to_owned(),
            };
            // By default the client library waits minutes for a silent host. It accepts options in place of the host.
            let is_plain = name.chars().all(|it| it.is_ascii_alphanumeric() || "-._".contains(it));
            let host = if is_plain && !socket {
                format!("host={name};connect-timeout={CONNECT_TIMEOUT_SECONDS}")
            } else {
                name
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

#[cfg(test)]
mod tests {
    use super::super::tests::server;

    #[test]
    fn mariadb_gets_a_url_for_each_host_and_an_authority_if_tls_is_required() {
        assert_eq!(
            server("u:p@localhost,b:2/d?charset=utf8&ssl_ca=/c%20a").mysql_urls(),
            [
                "mysql://u:p@host=127.0.0.1;connect-timeout=10/d?ssl_ca=%2Fc%20a",
                "mysql://u:p@host=b;connect-timeout=10:2/d?ssl_ca=%2Fc%20a"
            ]
        );
        assert!(!server("a/d?charset=utf8&ssl_disabled=true&ssl_ca=x").requires_tls());
        for option in ["ssl=true", "ssl_mode=REQUIRED", "ssl_verify_cert=1", "ssl_key=k"] {
            assert!(server(&format!("a/d?{option}")).requires_tls(), "{option}");
        }
        assert!(server("a/d?ssl_mode=VERIFY_IDENTITY").requires_identity());
    }
}
