//! Checks at start: the settings of a server, and the path between the server and placet.
//!
//! - A cause of wrong answers or of lost acknowledged writes during normal work is refused. Such causes are a pooler
//!   that changes sessions between transactions, and a proxy or a URL by which a standby may answer reads.
//! - A warning names a server's setting that loses acknowledged writes only in a crash of the server.
//! - A session's own settings are set without a message (`dialect`).

#[cfg(feature = "mariadb")]
mod mariadb;
#[cfg(feature = "postgresql")]
mod postgresql;

#[cfg(any(feature = "postgresql", feature = "mariadb"))]
use diesel::QueryResult;

use crate::db::connect::url::DbTarget;
use crate::db::{Database, SetupError};

/// Why placet cannot serve from a server.
type UnsuitableReason = String;

/// The result of a check: warnings for the log, or the reason to refuse the server.
#[cfg(any(feature = "postgresql", feature = "mariadb"))]
type Checked = QueryResult<Result<Vec<String>, UnsuitableReason>>;

impl Database {
    /// Checks the server and the path to the server. Returns warnings, each one line.
    ///
    /// # Errors
    /// [`SetupError::Unsuitable`] if answers would be wrong, or acknowledged writes be lost.
    pub fn check_server(&self) -> Result<Vec<String>, SetupError> {
        let checked: Result<Vec<String>, UnsuitableReason> = match self.target() {
            DbTarget::Sqlite(_) => Ok(Vec::new()),
            #[cfg(feature = "postgresql")]
            DbTarget::Postgresql(server) => match postgresql::check_url(server) {
                Ok(()) => postgresql::check(&mut self.connect()?, &mut self.connect()?)?,
                Err(refusal) => Err(refusal),
            },
            #[cfg(feature = "mariadb")]
            DbTarget::Mariadb(server) => mariadb::check(&mut self.connect()?, server.names_several_hosts())?,
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
