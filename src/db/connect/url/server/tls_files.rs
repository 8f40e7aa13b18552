//! The PEM files that a URL names. The client libraries read the files, and do not describe the damage of a file.

use std::fs;
use std::path::Path;

use super::Server;
use crate::db::SetupError;
use crate::pem;

/// The parameters that name files, of both engines.
const FILES: [&str; 7] = [
    "ssl_ca",
    "ssl_cert",
    "ssl_key",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "sslcrl",
];

impl Server {
    /// Checks the files for TLS. libpq connects without a missing file, if TLS does not need the file.
    ///
    /// # Errors
    /// [`SetupError::Parameter`] for a file that is needed and missing, cannot be read, or is not whole.
    pub fn check_tls_files(&self) -> Result<(), SetupError> {
        for name in FILES {
            let Some(path) = self.option(name) else { continue };
            if !self.needs_file(name, path) && !Path::new(path).exists() {
                continue;
            }
            let text = fs::read(path).map_err(|error| error.to_string());
            let checked = text.and_then(|text| pem::check(&text));
            checked.map_err(|reason| SetupError::Parameter {
                name: name.to_owned(),
                reason: format!("{path}: {reason}"),
            })?;
        }
        Ok(())
    }

    /// Whether no connection can be made without the file.
    fn needs_file(&self, name: &str, path: &str) -> bool {
        match name {
            "ssl_ca" | "ssl_cert" | "ssl_key" => true,
            // `system` names the authorities of the system.
            "sslrootcert" => path != "system" && self.option("sslmode").is_some_and(|mode| mode.starts_with("verify-")),
            _ => false,
        }
    }
}

#[cfg(all(test, any(feature = "postgresql-tls", feature = "mariadb")))]
mod tests {
    use crate::db::connect::url;

    /// Whether `config check` finds that the file is missing.
    fn is_refused(url: &str) -> bool {
        let target = url::parse(url).expect("a URL");
        let refused = target.check_files().err().map(|error| error.to_string());
        refused.is_some_and(|error| error.contains("/none.pem: "))
    }

    #[test]
    #[cfg(feature = "postgresql-tls")]
    fn found_c5_a_missing_file_is_refused_if_no_connection_can_be_made_without_it() {
        assert!(is_refused("postgresql://h/d?sslmode=verify-full&sslrootcert=/none.pem"));
        assert!(!is_refused("postgresql://h/d?sslmode=require&sslrootcert=/none.pem"));
        assert!(!is_refused("postgresql://h/d?sslmode=verify-full&sslrootcert=system"));
    }

    #[test]
    #[cfg(feature = "mariadb")]
    fn found_c5_a_missing_authority_of_mariadb_is_refused() {
        assert!(is_refused("mysql+pymysql://u@h/d?ssl_ca=/none.pem"));
        assert!(!is_refused("mysql+pymysql://u@h/d"));
    }
}
