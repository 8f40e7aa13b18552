//! An embedded database belongs to one serving process: its snapshot follows its own commits alone.

use std::fs::{File, OpenOptions, TryLockError};

use super::url::Target;
use super::{Database, SetupError};

/// Held while a process serves an embedded database; dropped with the process, whatever ends it.
pub struct ServingLock {
    _file: File,
}

impl Database {
    /// Takes the embedded database for this process, or says that another one serves it.
    pub fn lock_for_serving(&self) -> Result<ServingLock, SetupError> {
        let Target::Sqlite(path) = self.target();
        let place = path.display().to_string();
        let connect = |error: std::io::Error| SetupError::Connect {
            place: place.clone(),
            detail: error.to_string(),
        };
        // One file, one lock, whatever links lead to it.
        let mut name = path.canonicalize().map_err(connect)?.into_os_string();
        name.push("-placet-lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&name)
            .map_err(connect)?;
        match file.try_lock() {
            Ok(()) => Ok(ServingLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(SetupError::Served {
                place: path.display().to_string(),
            }),
            Err(TryLockError::Error(error)) => Err(connect(error)),
        }
    }
}
