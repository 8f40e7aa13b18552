//! The tokens in force, which are read again after a change of their file. The caller provides access to the file.

use std::sync::Arc;

use chrono::Utc;

use super::AuthRequest;
use super::tokens::{self, TokenTable};
use crate::live_value::{Files, LiveValue};
use crate::policy::Caller;

/// The tokens in force.
pub struct LiveTokens {
    /// The name of the file, for messages.
    name: String,
    /// The text of the file.
    file: Box<dyn Files<String>>,
    current: LiveValue<TokenTable>,
}

impl LiveTokens {
    /// Reads the file for the first time.
    ///
    /// # Errors
    /// The file cannot be used. placet refuses to start.
    pub fn start(name: String, file: Box<dyn Files<String>>) -> Result<LiveTokens, String> {
        let current = LiveValue::new(read(&name, file.as_ref())?);
        Ok(LiveTokens { name, file, current })
    }

    /// The caller with the token of the request. Other headers about the caller mean nothing.
    pub fn authenticate(&self, request: &AuthRequest<'_>) -> Option<Arc<Caller>> {
        self.log_failure(self.current.refresh(|| self.file.changed(), || self.read()));
        let token = (request.header)("x-auth-token")?;
        self.current.load().caller(&token, Utc::now())
    }

    /// Reads the file again, whether the file changed or not. If the file cannot be used, the present tokens stay.
    pub fn reload(&self) {
        self.log_failure(self.current.replace(|| self.read()));
    }

    fn read(&self) -> Result<TokenTable, String> {
        let table = read(&self.name, self.file.as_ref())?;
        log::info!("{} was read again: {} tokens", self.name, table.count());
        Ok(table)
    }

    fn log_failure<T>(&self, replaced: Result<T, String>) {
        if let Err(reason) = replaced {
            log::error!(
                "{reason}. The tokens that were read before stay in force, also those that were revoked since. Correct the \
                 file; placet reads it again then"
            );
        }
    }
}

fn read(name: &str, file: &dyn Files<String>) -> Result<TokenTable, String> {
    let entries = tokens::parse(&file.read()?).map_err(|reason| format!("{name}:{reason}"))?;
    Ok(TokenTable::new(&entries))
}
