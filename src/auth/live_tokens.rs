//! The tokens in force, which are read again when their file changes. The caller provides access to the file:
//! [`TokenFile`].

use std::sync::Arc;

use chrono::Utc;

use super::AuthRequest;
use super::tokens::{self, TokenTable};
use crate::live_value::LiveValue;
use crate::policy::Caller;

/// Access to the token file.
pub trait TokenFile: Send + Sync {
    /// Whether the file changed since the last reading. Called for every request.
    fn changed(&self) -> bool;
    /// Its text.
    ///
    /// # Errors
    /// Why it cannot be used, and what to do.
    fn read(&self) -> Result<String, String>;
    /// Its name, for messages.
    fn name(&self) -> String;
}

/// The tokens in force.
pub struct LiveTokens {
    file: Box<dyn TokenFile>,
    current: LiveValue<TokenTable>,
}

impl LiveTokens {
    /// Reads the file for the first time.
    ///
    /// # Errors
    /// It cannot be used. placet then refuses to start.
    pub fn start(file: Box<dyn TokenFile>) -> Result<LiveTokens, String> {
        let current = LiveValue::new(read(file.as_ref())?);
        Ok(LiveTokens { file, current })
    }

    /// The caller with the token of the request. Other headers about the caller mean nothing.
    pub fn authenticate(&self, request: &AuthRequest<'_>) -> Option<Arc<Caller>> {
        self.log_failure(self.current.refresh(|| self.file.changed(), || self.read()));
        let token = (request.header)("x-auth-token")?;
        self.current.load().caller(&token, Utc::now())
    }

    /// Reads the file again, whether it changed or not. If it cannot be used, the tokens stay as they are.
    pub fn reload(&self) {
        self.log_failure(self.current.replace(|| self.read()));
    }

    fn read(&self) -> Result<TokenTable, String> {
        let table = read(self.file.as_ref())?;
        log::info!("{} was read again: {} tokens", self.file.name(), table.count());
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

fn read(file: &dyn TokenFile) -> Result<TokenTable, String> {
    let entries = tokens::parse(&file.read()?).map_err(|reason| format!("{}:{reason}", file.name()))?;
    Ok(TokenTable::new(&entries))
}
