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
    /// Checks the files for TLS that exist. libpq connects without a missing file, if TLS does not need the file.
    ///
    /// # Errors
    /// [`SetupError::Parameter`] for a file that cannot be read, or is not whole.
    pub fn check_tls_files(&self) -> Result<(), SetupError> {
        for name in FILES {
            let Some(path) = self.option(name).filter(|path| Path::new(path).exists()) else {
                continue;
            };
            let text = fs::read(path).map_err(|error| error.to_string());
            let checked = text.and_then(|text| pem::check(&text));
            checked.map_err(|reason| SetupError::Parameter {
                name: name.to_owned(),
                reason: format!("{path}: {reason}"),
            })?;
        }
        Ok(())
    }
}
