//! Checks at start: what a server is set to, and what lies between it and placet.
//!
//! - Refused is what makes answers wrong, or loses acknowledged writes, while all works: a pooler that gives each
//!   transaction another session, a proxy or a URL by which a standby may answer reads.
//! - A warning says what loses acknowledged writes only when the server crashes, and only the server can change.
//! - What a session can set it sets, and nothing is said here (`dialect`).

#[cfg(feature = "mariadb")]
mod mariadb;
#[cfg(feature = "postgresql")]
mod postgresql;
#[cfg(any(feature = "postgresql", feature = "mariadb"))]
mod settings;

use crate::db::connect::url::Target;
use crate::db::{Database, SetupError};

/// Why a server cannot be served from.
type Refusal = String;

impl Database {
    /// Checks the server and the way to it. Returns warnings, each one line.
    ///
    /// # Errors
    /// [`SetupError::Unsuitable`] if answers would be wrong, or acknowledged writes be lost.
    pub fn check_server(&self) -> Result<Vec<String>, SetupError> {
        let checked: Result<Vec<String>, Refusal> = match self.target() {
            Target::Sqlite(_) => Ok(Vec::new()),
            #[cfg(feature = "postgresql")]
            Target::Postgresql(server) => match postgresql::check_url(server) {
                Ok(()) => postgresql::check(&mut self.connect()?, &mut self.connect()?)?,
                Err(refusal) => Err(refusal),
            },
            #[cfg(feature = "mariadb")]
            Target::Mariadb(server) => mariadb::check(&mut self.connect()?, server.names_several_hosts())?,
        };
        let mut warnings = checked.map_err(|detail| self.unsuitable(detail))?;
        let fitted = self.fit_pool().map_err(|error| self.unsuitable(error.to_string()))?;
        warnings.extend(fitted);
        Ok(warnings)
    }

    fn unsuitable(&self, detail: String) -> SetupError {
        SetupError::Unsuitable {
            place: self.target().to_string(),
            detail,
        }
    }
}
