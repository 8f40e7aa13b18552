//! The URI of PostgreSQL servers, in libpq's form.

use super::super::parameters::POSTGRESQL;
use super::{Server, UrlOption, encoded};

/// Options for libpq, unless the URL sets the options. The timeouts notice a vanished server, for example after a power
/// cut.
const LIBPQ_DEFAULTS: [(&str, &str); 6] = [
    ("application_name", "placet"),
    ("connect_timeout", "10"),
    ("keepalives_idle", "10"),
    ("keepalives_interval", "5"),
    ("keepalives_count", "3"),
    ("tcp_user_timeout", "25000"),
];

impl Server {
    /// The URI for libpq, which tries the hosts one after the other.
    pub fn libpq_uri(&self) -> String {
        let mut options: Vec<String> = Vec::new();
        for UrlOption { name, value } in &self.options {
            // The hosts have been read from this option.
            let is_passed = name != "host" && POSTGRESQL.uses(name) && !value.is_empty();
            if is_passed {
                options.push(format!("{name}={}", encoded(value)));
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
            self.addresses(encoded),
            options.join("&")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::server;

    #[test]
    fn libpq_gets_the_options_that_it_knows() {
        let uri = server("u:p%2F@a,[::1]:2/d?sslmode=verify-full&client_encoding=utf8&connect_timeout=3").libpq_uri();
        let begins = "postgresql://u:p%2F@a,[::1]:2/d?sslmode=verify%2Dfull&connect_timeout=3&application_name=placet&";
        assert!(uri.starts_with(begins) && !uri.contains("client_encoding"), "{uri}");
    }
}
